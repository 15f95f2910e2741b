"""MNIST: from a folder, the cache or a mirror; else, if the study allows it, the stand-in.

MNIST's files are in the IDX format: a magic number of four bytes, the dimensions as big-endian
32-bit integers, then the pixels or labels as bytes (LeCun, Cortes and Burges,
http://yann.lecun.com/exdb/mnist/). A file is read only if its SHA-256 is the published one.
"""

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from frameworks.workloads.datasets import mirrors, standin
from frameworks.workloads.datasets.batches import DataError

FOLDER = "SAMESTEP_MNIST"  # environment variable
TEST_SPLIT = "config/mnist-test.yaml"
Source = Literal["auto", "mnist", "stand-in"]
Split = Literal["train", "test"]


class File(NamedTuple):
    """A published file; `sha256` is of the decompressed content, `sha256_gz` of the download."""

    name: str
    shape: tuple[int, ...]
    sha256: str
    sha256_gz: str


SPLITS = {
    "train": (
        File(
            "train-images-idx3-ubyte",
            (60_000, 28, 28),
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        File(
            "train-labels-idx1-ubyte",
            (60_000,),
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    ),
    "test": (
        File(
            "t10k-images-idx3-ubyte",
            (10_000, 28, 28),
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        File(
            "t10k-labels-idx1-ubyte",
            (10_000,),
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
}


@dataclass(frozen=True)
class MnistSettings:
    """Where MNIST may come from.

    `auto` falls back on the stand-in, `mnist` does not, and `stand-in` searches for nothing else.
    `folder` holds the published files of the split, gzipped or not. The environment variable
    SAMESTEP_MNIST names the folder if the configuration does not.
    """

    source: Source = "auto"
    folder: str | None = None
    split: Split = "train"

    def __post_init__(self) -> None:
        for what, value, known in (
            ("source", self.source, get_args(Source)),
            ("split", self.split, get_args(Split)),
        ):
            if value not in known:
                raise DataError(f"mnist {what}: {value!r} is not one of {', '.join(known)}")


class Images(NamedTuple):
    """`images` uint8 (n, 28, 28), `labels` uint8 (n,), `source` a sentence for people."""

    images: np.ndarray
    labels: np.ndarray
    source: str
    kind: Literal["mnist", "stand-in"]


def load(settings: MnistSettings, samples: int | None = None) -> Images:
    """The first `samples` images of the split, or all of them.

    Raises:
        DataError: the given folder lacks a file or has a damaged one (there is no fallback from
            a folder), or `source: mnist` and MNIST cannot be had.
    """
    if settings.source == "stand-in":
        return stand_in(settings, samples, "asked for")
    files = SPLITS[settings.split]
    folder = given(settings)
    if folder:
        place = "the configuration" if settings.folder else FOLDER
        where = f"from the folder given in {place}"
    else:
        try:
            folder, where = mirrors.fetch({f"{file.name}.gz": file.sha256_gz for file in files})
        except DataError as error:
            if settings.source == "mnist":
                raise DataError(how_to_mend(settings, str(error))) from None
            return stand_in(settings, samples, "MNIST was neither in the cache nor on a mirror")
    images, labels = (read(locate(folder, file.name, settings), file) for file in files)
    sentence = f"MNIST, {settings.split} split, {where}, SHA-256 as published"
    return Images(images[:samples], labels[:samples], sentence, "mnist")


def given(settings: MnistSettings) -> Path | None:
    """The folder that the configuration or the environment names."""
    named = settings.folder or os.environ.get(FOLDER)
    return mirrors.folder(named) if named else None


def expected(settings: MnistSettings) -> str:
    """Where the images will come from, for people. A download fills the cache.

    Raises:
        DataError: as `load`, but for damaged files in a folder.
    """
    if settings.source == "stand-in":
        return "the built-in stand-in for MNIST (`source: stand-in`)"
    files = SPLITS[settings.split]
    named = f"MNIST's {settings.split} split"
    if folder := given(settings):
        for file in files:
            locate(folder, file.name, settings)
        return f"{named} in {folder} ({'mnist.folder' if settings.folder else FOLDER})"
    try:
        return f"{named}, {mirrors.fetch({f'{file.name}.gz': file.sha256_gz for file in files})[1]}"
    except DataError as error:
        if settings.source == "mnist":
            raise DataError(how_to_mend(settings, str(error))) from None
        return f"the built-in stand-in ({error}); to use MNIST, set {FOLDER} to its folder"


def read(path: Path, file: File) -> np.ndarray:
    """The values of a published file, uint8 and read-only; gzipped or not, whatever its name.

    Raises:
        DataError: the file is unreadable, damaged, or not the published one.
    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise DataError(
            f"{path}: truncated or altered: its SHA-256 is not the published {file.sha256[:12]}..."
        )
    header = 4 + 4 * len(file.shape)
    return np.frombuffer(content, np.uint8, offset=header).reshape(file.shape)


def locate(folder: Path, name: str, settings: MnistSettings) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    key = "mnist.folder" if settings.folder else FOLDER
    without = f"`{key}: null`" if settings.folder else f"unset {key}"
    elsewhere = "MNIST then comes from the cache or a mirror" + (
        ", else from the built-in stand-in" if settings.source == "auto" else ""
    )
    if not folder.is_dir():
        why = "is no folder" if folder.exists() else "does not exist"
        raise DataError(
            f"{key}: {folder}: this folder should hold MNIST, but it {why}. Do one of "
            f"these: name the folder that holds it, or {without}: {elsewhere}."
        )
    ways = [f"put {name} there"]
    other: Split = "test" if settings.split == "train" else "train"
    if any(folder.glob(f"{SPLITS[other][0].name}*")):
        add = f": add {TEST_SPLIT} to --configfile" if other == "test" else ""
        ways.append(f"set `split: {other}`, which is there{add}")
    ways.append(f"{without}: {elsewhere}")
    raise DataError(
        f"{key}: {folder}: {name} is missing, gzipped or not (MNIST's {settings.split} split). "
        f"Do one of these: {'; or '.join(ways)}."
    )


def stand_in(settings: MnistSettings, samples: int | None, why: str) -> Images:
    size = SPLITS[settings.split][0].shape[0]
    images, labels = standin.generate(size if samples is None else min(samples, size))
    sentence = (
        "a stand-in for MNIST: scikit-learn's 1,797 handwritten digits at 28x28, jittered to "
        f"{len(images):,} ({why})"
    )
    return Images(images, labels, sentence, "stand-in")


def how_to_mend(settings: MnistSettings, fault: str) -> str:
    files = " and ".join(file.name for file in SPLITS[settings.split])
    return (
        f"mnist.source: `mnist`, but MNIST is not available: {fault}. Do one of these:\n"
        f"- put {files}, gzipped or not, into a folder and name it as mnist's `folder` in the "
        f"configuration or in the environment variable {FOLDER};\n"
        f"- run once with a network, to fill the cache {mirrors.cache_folder()} from "
        f"{' or '.join(mirrors.MIRRORS)};\n"
        "- set `split: test` or `train`, whichever you have;\n"
        "- allow the built-in stand-in with `source: auto`."
    )
