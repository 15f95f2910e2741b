import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from frameworks.workloads.datasets import DataError, IdxError, idx
from frameworks.workloads.datasets.published import SPLITS
from tests.datasets.conftest import idx_bytes

ARRAY = np.arange(2 * 3 * 4).reshape(2, 3, 4)
CONTENT = idx_bytes(ARRAY)
PACKED = gzip.compress(CONTENT, mtime=0)


@pytest.mark.parametrize("name", ["images", "images.gz"])
@pytest.mark.parametrize("content", [CONTENT, PACKED], ids=["plain", "gzipped"])
def test_content_decides_what_is_gzipped(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    array = idx.read(path, 3, hashlib.sha256(CONTENT).hexdigest())
    assert array.dtype == np.uint8
    np.testing.assert_array_equal(array, ARRAY)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\0\0\x08", "truncated: 3 bytes are no IDX header"),
        (CONTENT[:9], "truncated: 9 of the header's 16 bytes"),
        (CONTENT[:-1], "truncated: 23 of the 24 values"),
        (CONTENT + b"\0\0", "2 trailing bytes"),
        (gzip.compress(CONTENT + b"\0", mtime=0), "1 trailing bytes"),
        (b"<html>not here</html>", "not an IDX file"),
        (b"\0\0\0\x03" + CONTENT[4:], "not an IDX file"),
        (b"\0\0\x0d\x03" + CONTENT[4:], "type code 0x0d"),
        (idx_bytes(np.arange(6).reshape(2, 3)), "2 dimensions where 3 are wanted"),
        (PACKED[:-12], "truncated: the gzip stream stops early"),
        (PACKED[:5], "truncated: the gzip stream stops early"),
        (PACKED[:-8] + b"\0" * 8, "damaged gzip"),
        (PACKED[:12] + b"\xff" * 6 + PACKED[18:], "damaged gzip"),
        (PACKED + b"rubbish", "damaged gzip"),
    ],
)
def test_a_wrong_file_is_named_with_its_fault(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(content)
    with pytest.raises(IdxError) as error:
        idx.read(path, 3)
    assert str(path) in str(error.value)
    assert words in str(error.value)


def test_an_absurd_size_is_truncation_not_a_request_for_memory(tmp_path: Path) -> None:
    path = tmp_path / "images"
    path.write_bytes(struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1))
    with pytest.raises(IdxError, match="truncated: 0 of the"):
        idx.read(path, 3)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_one_altered_byte_is_refused(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "images"
    path.write_bytes(pack(CONTENT[:-1] + b"\xff"))
    with pytest.raises(IdxError, match=r"images: altered: its SHA-256 is not the published"):
        idx.read(path, 3, hashlib.sha256(CONTENT).hexdigest())


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="images: cannot be read"):
        idx.read(tmp_path / "images", 3)


def test_the_published_test_split(real_folder: str) -> None:
    images, labels = (
        idx.read(Path(real_folder) / f"{file.name}.gz", file.dimensions, file.sha256)
        for file in SPLITS["test"]
    )
    assert images.shape == (10_000, 28, 28)
    assert labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert images.mean() / 255 == pytest.approx(0.1325, abs=1e-4)
