"""A file is whole or absent, of one command at a time, and what is in the way is not followed."""

import errno
import os
from pathlib import Path

import pytest

from workflows.records.whole_files import atomic


def write(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text)


def partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.partial")


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_what_others_have_put_in_the_way_is_not_written_through(tmp_path: Path, link) -> None:
    other, own = tmp_path / "other", tmp_path / "own"
    other.write_text("of somebody else")
    link(partial(own), other)
    write(own, "ours")
    assert (own.read_text(), other.read_text()) == ("ours", "of somebody else")
    assert not own.is_symlink() and not partial(own).exists()


def test_no_file_is_made_where_a_dangling_link_points(tmp_path: Path) -> None:
    partial(tmp_path / "own").symlink_to(tmp_path / "elsewhere")
    write(tmp_path / "own", "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def test_nobody_waits_for_a_pipe_in_the_way(tmp_path: Path) -> None:
    os.mkfifo(partial(tmp_path / "own"))
    write(tmp_path / "own", "ours")
    assert (tmp_path / "own").read_text() == "ours"


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    partial(tmp_path / "own").mkdir()
    with pytest.raises(IsADirectoryError, match=r"\.own\.partial"):
        write(tmp_path / "own", "ours")


def test_a_second_writer_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    own = tmp_path / "own"
    with atomic(own) as temporary:
        temporary.write_text("first")
        with pytest.raises(OSError, match="another command is writing it") as refusal:
            write(own, "second")
    assert (refusal.value.errno, refusal.value.filename) == (errno.EBUSY, str(own))
    assert own.read_text() == "first" and [path.name for path in tmp_path.iterdir()] == ["own"]


def test_what_a_killed_process_has_left_is_written_again(tmp_path: Path) -> None:
    own = tmp_path / "own"
    partial(own).write_text("a longer text that nobody has finished")
    write(own, "ours")
    assert own.read_text() == "ours" and not partial(own).exists()


def test_a_mask_that_allows_nothing_is_no_matter(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        write(tmp_path / "own", "ours")
    finally:
        os.umask(before)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o644


def test_an_error_while_writing_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(OSError, match="file") as error, atomic(path):
        raise OSError(errno.EFBIG, "File too large")
    assert error.value.filename == str(path) and not path.exists()
