"""MNIST's files as published, and the SHA-256 that each must have."""

from typing import NamedTuple


class File(NamedTuple):
    """A published file; `sha256` is of the decompressed content, `sha256_gz` of the download."""

    name: str
    dimensions: int
    sha256: str
    sha256_gz: str


SPLITS = {
    "train": (
        File(
            "train-images-idx3-ubyte",
            3,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        File(
            "train-labels-idx1-ubyte",
            1,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    ),
    "test": (
        File(
            "t10k-images-idx3-ubyte",
            3,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        File(
            "t10k-labels-idx1-ubyte",
            1,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
}
SIZES = {"train": 60_000, "test": 10_000}
