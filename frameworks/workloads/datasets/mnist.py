"""MNIST: from a folder, the cache or a mirror; else, where allowed, the stand-in."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from frameworks.workloads.datasets import idx, mirrors, standin
from frameworks.workloads.datasets.errors import DataError
from frameworks.workloads.datasets.published import SIZES, SPLITS

FOLDER = "SAMESTEP_MNIST"  # environment variable
Source = Literal["auto", "mnist", "stand-in"]
Split = Literal["train", "test"]


@dataclass(frozen=True)
class MnistSettings:
    """Where MNIST may come from.

    `auto` falls back on the stand-in, `mnist` does not, `stand-in` looks for nothing else.
    `folder` holds the published files of the split, gzipped or not; the environment
    variable SAMESTEP_MNIST names one where the configuration does not.
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
    """The first `samples` images of the split (all of them unless given).

    Raises:
        DataError: a folder was given and lacks a file or has a damaged one (there is no
            falling back from a folder), or `source: mnist` and MNIST cannot be had.
    """
    if settings.source == "stand-in":
        return stand_in(settings, samples, "asked for")
    folder = settings.folder or os.environ.get(FOLDER)
    if folder:
        where = "from the folder given in the configuration"
        if not settings.folder:
            where = f"from the folder given in {FOLDER}"
        return from_folder(settings, samples, Path(folder).expanduser(), where)
    try:
        cache, where = mirrors.fetch({f"{f.name}.gz": f.sha256_gz for f in SPLITS[settings.split]})
    except DataError as error:
        if settings.source == "mnist":
            raise DataError(how_to_mend(settings, str(error))) from None
        mirrors.say(f"{error}: using the built-in stand-in for MNIST")
        return stand_in(settings, samples, "MNIST was neither in the cache nor on a mirror")
    return from_folder(settings, samples, cache, where)


def from_folder(settings: MnistSettings, samples: int | None, folder: Path, where: str) -> Images:
    images, labels = (
        idx.read(locate(folder, file.name, settings), file.dimensions, file.sha256)
        for file in SPLITS[settings.split]
    )
    sentence = f"MNIST, {settings.split} split, {where}, SHA-256 as published"
    return Images(images[:samples], labels[:samples], sentence, "mnist")


def locate(folder: Path, name: str, settings: MnistSettings) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    if not folder.is_dir():
        raise DataError(f"{folder}: this folder should hold MNIST, and there is none")
    other: Split = "test" if settings.split == "train" else "train"
    hint = ""
    if any((folder / f"{SPLITS[other][0].name}{end}").is_file() for end in ("", ".gz")):
        hint = f", or ask for what is there with `split: {other}`"
    raise DataError(
        f"{folder}: {name} is missing, gzipped or not (MNIST's {settings.split} split): "
        f"put it there{hint}"
    )


def stand_in(settings: MnistSettings, samples: int | None, why: str) -> Images:
    size = SIZES[settings.split]
    images, labels = standin.generate(size if samples is None else min(samples, size))
    sentence = (
        "a stand-in for MNIST: scikit-learn's 1,797 handwritten digits at 28x28, jittered to "
        f"{len(images):,} ({why})"
    )
    return Images(images, labels, sentence, "stand-in")


def how_to_mend(settings: MnistSettings, fault: str) -> str:
    files = " and ".join(file.name for file in SPLITS[settings.split])
    return (
        f"`source: mnist`, and MNIST cannot be had: {fault}. One of these mends it:\n"
        f"- put {files}, gzipped or not, into a folder and name it as mnist's `folder` in the "
        f"configuration or in the environment variable {FOLDER};\n"
        f"- run once with a network, to fill the cache {mirrors.cache_folder()} from "
        f"{' or '.join(mirrors.MIRRORS)};\n"
        "- ask for `split: test` or `train`, whichever you have;\n"
        "- allow the built-in stand-in with `source: auto`."
    )
