import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from frameworks.workloads.datasets import DataError, MnistSettings, load, mirrors
from frameworks.workloads.datasets.mnist import FOLDER, SPLITS, expected, read
from tests.datasets.conftest import filled


def test_a_folder_from_the_configuration(tiny_folder: Path) -> None:
    found = load(MnistSettings(folder=str(tiny_folder)))
    assert found.images.shape == (50, 28, 28)
    assert found.labels.shape == (50,)
    assert found.kind == "mnist"
    assert "from the folder given in the configuration" in found.source
    assert str(tiny_folder) not in found.source, "a record is no place for home folders"


def test_a_folder_from_the_environment(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tiny_folder))
    assert FOLDER in load(MnistSettings(split="test")).source
    monkeypatch.setenv(FOLDER, str(tiny_folder / "nowhere"))
    assert "configuration" in load(MnistSettings(folder=str(tiny_folder))).source
    monkeypatch.setenv(FOLDER, "")
    assert load(MnistSettings()).kind == "stand-in"


def test_files_may_be_unpacked(tiny: dict[str, bytes], tmp_path: Path) -> None:
    plain = {name.removesuffix(".gz"): gzip.decompress(packed) for name, packed in tiny.items()}
    found = load(MnistSettings(folder=str(filled(tmp_path / "plain", plain))))
    packed = load(MnistSettings(folder=str(filled(tmp_path / "packed", tiny))))
    assert found.images.tobytes() == packed.images.tobytes()


def test_only_the_first_samples(tiny_folder: Path) -> None:
    settings = MnistSettings(folder=str(tiny_folder))
    assert load(settings, 7).images.tobytes() == load(settings).images[:7].tobytes()
    assert len(load(settings, 1000).labels) == 50


@pytest.mark.parametrize("source", ["auto", "mnist"])
def test_a_folder_without_a_file_is_refused_by_its_name(tiny_folder: Path, source: str) -> None:
    (tiny_folder / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match="train-labels-idx1-ubyte is missing") as error:
        load(MnistSettings(source, str(tiny_folder)))  # type: ignore[arg-type]
    assert "`split: test`" in str(error.value)
    assert len(load(MnistSettings(source, str(tiny_folder), "test")).images) == 20  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["auto", "mnist"])
def test_a_missing_split_is_refused_before_any_work_with_the_ways_to_mend_it(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for file in tiny_folder.glob("train-*"):
        file.unlink()
    monkeypatch.setenv(FOLDER, str(tiny_folder))
    with pytest.raises(DataError) as error:
        expected(MnistSettings(source))  # type: ignore[arg-type]
    said = str(error.value)
    assert said.startswith(f"{FOLDER}: {tiny_folder}: train-images-idx3-ubyte is missing")
    assert "config/mnist-test.yaml" in said and f"unset {FOLDER}" in said
    assert ("stand-in" in said) == (source == "auto")
    with pytest.raises(DataError, match=r"mnist\.folder: null"):
        expected(MnistSettings(source, str(tiny_folder)))  # type: ignore[arg-type]
    assert "test split" in expected(MnistSettings(source, split="test"))  # type: ignore[arg-type]


def test_the_home_of_a_user_whom_nobody_knows_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMESTEP_CACHE", "~nobody-has-this-name/x")
    assert str(mirrors.cache_folder()) == "~nobody-has-this-name/x"
    with pytest.raises(DataError, match=r"~nobody-has-this-name/x: this folder .* does not exist"):
        expected(MnistSettings(folder="~nobody-has-this-name/x"))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: this folder .* does not exist"):
        load(MnistSettings(folder=str(tmp_path / "nowhere")))
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file: this folder .* is no folder"):
        load(MnistSettings(folder=str(tmp_path / "file")))


def damaged(packed: bytes) -> dict[str, bytes]:
    """Ways in which a file is not the published one."""
    content = gzip.decompress(packed)
    last = bytes([content[-1] ^ 1])
    return {
        "an altered byte": content[:-1] + last,
        "an altered byte, gzipped": gzip.compress(content[:-1] + last),
        "a byte short": content[:-1],
        "a byte too long": content + b"\0",
        "empty": b"",
        "a page": b"<html>not here</html>",
        "another type": b"\0\0\x0d" + content[3:],
        "an absurd size": content[:4] + b"\xff" * 12,
        "half a gzip": packed[:-100],
        "a wrong checksum": packed[:-8] + b"\0" * 8,
        "damaged gzip": packed[:12] + b"\xff" * 6 + packed[18:],
        "rubbish behind gzip": packed + b"rubbish",
    }


@pytest.mark.parametrize("way", damaged(gzip.compress(bytes(200))))
@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"])
def test_a_file_that_is_not_the_published_one_is_one_clear_line(
    tiny: dict[str, bytes], tiny_folder: Path, name: str, way: str
) -> None:
    path = tiny_folder / f"{name}.gz"
    path.write_bytes(damaged(tiny[path.name])[way])
    with pytest.raises(DataError) as error:
        load(MnistSettings(folder=str(tiny_folder)))
    (line,) = str(error.value).splitlines()
    faults = ("cannot be read", "truncated or altered: its SHA-256")
    assert line.startswith(tuple(f"{path}: {fault}" for fault in faults))


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="images: cannot be read"):
        read(tmp_path / "images", SPLITS["test"][0])


def test_content_decides_what_is_gzipped(tiny: dict[str, bytes], tmp_path: Path) -> None:
    gzipped = {name.removesuffix(".gz"): packed for name, packed in tiny.items()}
    plain = {name: gzip.decompress(packed) for name, packed in tiny.items()}
    one, other = (
        load(MnistSettings(folder=str(filled(tmp_path / folder, files))))
        for folder, files in (("gzipped", gzipped), ("plain", plain))
    )
    assert one.images.tobytes() == other.images.tobytes()
    assert one.labels.tobytes() == other.labels.tobytes()


def test_offline_auto_takes_the_stand_in_and_says_so_beforehand(tiny: dict[str, bytes]) -> None:
    found = load(MnistSettings())
    assert found.kind == "stand-in"
    assert found.images.shape == (50, 28, 28)
    assert "stand-in for MNIST" in found.source
    said = expected(MnistSettings())
    assert "the built-in stand-in" in said and "no mirror answered" in said and FOLDER in said


def test_offline_mnist_names_the_ways_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        load(MnistSettings("mnist"))
    for words in (
        "train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz not in",
        "no mirror answered",
        "`folder` in the configuration",
        FOLDER,
        str(tmp_path / "cache"),
        mirrors.MIRRORS[1],
        "`split: test`",
        "`source: auto`",
    ):
        assert words in str(error.value)


def test_stand_in_asked_for_looks_nowhere_else(tiny_folder: Path) -> None:
    found = load(MnistSettings("stand-in", str(tiny_folder)), 12)
    assert found.kind == "stand-in"
    assert len(found.images) == 12
    assert "asked for" in found.source


@pytest.mark.parametrize("wrong", [{"source": "standin"}, {"split": "validation"}])
def test_settings_are_checked(wrong: dict[str, str]) -> None:
    with pytest.raises(DataError, match="is not one of"):
        MnistSettings(**wrong)  # type: ignore[arg-type]


def test_the_real_test_split_and_a_byte_of_it_altered(real_folder: str, tmp_path: Path) -> None:
    found = load(MnistSettings("mnist", real_folder, "test"))
    assert found.images.shape == (10_000, 28, 28)
    assert found.images.dtype == found.labels.dtype == np.uint8
    assert found.labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert found.images.mean() / 255 == pytest.approx(0.1325, abs=1e-4)
    copy = Path(shutil.copytree(real_folder, tmp_path / "copy", copy_function=shutil.copyfile))
    path = copy / "t10k-images-idx3-ubyte.gz"
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[5000] ^= 1
    path.write_bytes(gzip.compress(content, 1))
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte.gz: truncated or altered"):
        load(MnistSettings("mnist", str(copy), "test"))


def test_the_real_folder_lacks_the_train_split(real_folder: str) -> None:
    if any(Path(real_folder).glob("train-images*")):
        pytest.skip("this folder has it")
    with pytest.raises(DataError, match="or set `split: test`, which is there"):
        load(MnistSettings(folder=real_folder))
