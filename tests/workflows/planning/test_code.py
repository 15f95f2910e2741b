"""Which code was run, and the hashes that decide what must run again."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata

import pytest

from workflows.planning import code as module
from workflows.planning.code import ROOT, code, content_hash, files_hash
from workflows.records.schema import Code, Contender

PROJECT = '[project]\nname = "samestep"\nversion = "1.2.3"\n'


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A git repository with one commit."""
    if not shutil.which("git"):
        pytest.skip("git is missing")
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as inside a hook: must not be followed
    root = tmp_path / "clone"
    (root / "reports/reference").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "reports/reference/index.html").write_text("reference")
    run(root, "init", "-q")
    run(root, "add", ".")
    run(root, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "first")
    return root


def run(root, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *arguments], cwd=root, env=clean, check=True)


def test_this_repository():
    found = code()
    assert (ROOT / "pyproject.toml").exists()
    assert found.version == module.version() != "unknown"
    assert len(found.commit) in (0, 40)


def test_a_clean_clone(clone):
    found = code(clone)
    assert (found.version, found.dirty) == ("1.2.3", False)
    assert len(found.commit) == 40


@pytest.mark.parametrize("name", ["pyproject.toml", "frameworks/mine/adapter.py"])
def test_a_changed_or_new_file_makes_it_dirty(clone, name):
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(PROJECT + "# changed\n")
    assert code(clone).dirty


@pytest.mark.parametrize("name", ["results/x.json", "reports/x.html", "logs/x.log"])
def test_files_that_a_study_writes_do_not_make_it_dirty(clone, name):
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text("new")
    (clone / "reports/reference/index.html").write_text("made again")
    assert not code(clone).dirty


def test_outside_a_clone(tmp_path):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    assert code(tmp_path) == Code(version="1.2.3", commit="", dirty=False)
    (tmp_path / module.COMMIT).write_text(f"{40 * 'a'}\n")
    assert code(tmp_path) == Code(version="1.2.3", commit=40 * "a", dirty=False)


def test_another_repository_around_it_does_not_count(clone):
    inside = clone / "venv/site-packages"
    inside.mkdir(parents=True)
    assert code(inside).commit == ""


def test_before_the_first_commit(tmp_path):
    if shutil.which("git"):
        run(tmp_path, "init", "-q")
    assert (code(tmp_path).commit, code(tmp_path).dirty) == ("", False)


def test_without_git(clone, monkeypatch):
    monkeypatch.setenv("PATH", str(clone))
    assert code(clone) == Code(version="1.2.3", commit="", dirty=False)


def test_version_of_an_installed_package(tmp_path, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: f"{name} 9")
    assert module.version(tmp_path) == "samestep 9"

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert module.version(tmp_path) == "unknown"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository root with a package of two files and a file beside it."""
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "package/inner").mkdir(parents=True)
    (tmp_path / "package/a.py").write_text("a")
    (tmp_path / "package/inner/b.py").write_text("b")
    (tmp_path / "list.txt").write_text("c")
    return tmp_path


def test_files_hash_ignores_times_repetition_and_compiled_files(tree):
    before = files_hash("package", "list.txt")
    assert len(before) == 16 and int(before, 16) >= 0
    os.utime(tree / "package/a.py", (1, 1))
    (tree / "package/__pycache__").mkdir()
    (tree / "package/__pycache__/a.py").write_text("x")
    (tree / "package/a.pyc").write_text("x")
    (tree / "package/readme.md").write_text("x")
    assert files_hash("package", "list.txt") == before
    assert files_hash("list.txt", tree / "package", "package/a.py") == before


def test_files_hash_changes_with_content_name_and_place(tree):
    hashes = [files_hash("package")]
    (tree / "package/a.py").write_text("A")
    hashes.append(files_hash("package"))
    (tree / "package/a.py").rename(tree / "package/c.py")
    hashes.append(files_hash("package"))
    (tree / "package/c.py").rename(tree / "package/inner/c.py")
    hashes.append(files_hash("package"))
    (tree / "package/inner/d.py").touch()
    hashes.append(files_hash("package"))
    hashes.append(files_hash("package", "list.txt"))
    assert len(set(hashes)) == len(hashes)


def test_files_hash_does_not_depend_on_where_the_repository_is(tree, tmp_path, monkeypatch):
    before = files_hash("package")
    moved = tmp_path / "moved"
    shutil.copytree(tree / "package", moved / "package")
    outside = files_hash(moved / "package")
    monkeypatch.setattr(module, "ROOT", moved)
    assert files_hash("package") == before != outside


def test_files_hash_of_a_package_outside_counts_from_its_own_name(tree, tmp_path, monkeypatch):
    shutil.copytree(tree / "package", tmp_path / "one/mine")
    shutil.copytree(tree / "package", tmp_path / "two/mine")
    (tmp_path / "root").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path / "root")
    assert files_hash(tmp_path / "one/mine") == files_hash(tmp_path / "two/mine")


def test_files_hash_of_nothing_there(tree):
    with pytest.raises(FileNotFoundError):
        files_hash("nowhere.py")


@dataclass(frozen=True)
class Shape:
    rows: int
    columns: tuple[int, ...]


def test_content_hash_depends_on_values_and_not_on_the_order_of_keys():
    assert content_hash({"a": 1, "b": [1, 2]}) == content_hash({"b": (1, 2), "a": 1})
    assert content_hash({"a": 1}) != content_hash({"a": 2}) != content_hash({"b": 1})
    assert content_hash([1, 2]) != content_hash([2, 1])
    assert len(content_hash(None)) == 16


def test_content_hash_takes_models_and_dataclasses():
    contender = Contender(framework="pytorch", variant="tuned", device="cpu", threads=1)
    assert content_hash([contender]) == content_hash([contender.model_dump()])
    assert content_hash(Shape(1, (2, 3))) == content_hash({"rows": 1, "columns": [2, 3]})


@pytest.mark.parametrize(("value", "error"), [({1, 2}, TypeError), (float("nan"), ValueError)])
def test_content_hash_refuses_values_without_a_unique_form(value, error):
    with pytest.raises(error):
        content_hash({"value": value})
