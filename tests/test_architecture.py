"""The shape of the code: small rooms, each with its sentence, and no import hidden in a function.

`lint-imports`, in `make check`, proves the direction of imports; its contracts are in
`pyproject.toml`.
"""

import ast
import fnmatch
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("frameworks", "workflows", "analysis", "benchmarks", "samestep")
TESTS = sorted({file.parent for file in (ROOT / "tests").rglob("*.py")})
MOST_FILES, MOST_LINES = 14, 400

# Modules that import inside functions on purpose.
LAZY = (
    "samestep/*",  # `samestep --help` answers before anything heavy is imported
    "*/__main__.py",  # so does `python -m PACKAGE --help`
    "frameworks/keras/adapter.py",  # importing Keras fails if its backend is not installed
)


def modules() -> list[Path]:
    return sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


def folders(*packages: str) -> list[Path]:
    return sorted(
        {file.parent for file in modules() if file.relative_to(ROOT).parts[0] in packages}
    )


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def hidden_imports(file: Path) -> Iterator[str]:
    """Imports of our own packages inside a function, each with its line."""
    for function in ast.walk(ast.parse(file.read_text())):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        for node in ast.walk(function):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "."]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            yield from (
                f"{named(file)}:{node.lineno} imports {name}"
                for name in names
                if name.split(".")[0] in (*PACKAGES, "")
            )


def test_no_function_hides_an_import() -> None:
    files = [f for f in modules() if not any(fnmatch.fnmatch(named(f), name) for name in LAZY)]
    assert len(files) > 100
    assert [found for file in files for found in hidden_imports(file)] == []


def test_hidden_imports_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_architecture.ROOT", tmp_path)
    text = "import json\nfrom analysis import data\ndef f():\n    import workflows.progress\n"
    (tmp_path / "file.py").write_text(text)
    assert list(hidden_imports(tmp_path / "file.py")) == ["file.py:4 imports workflows.progress"]


@pytest.mark.parametrize("folder", [*folders(*PACKAGES), *TESTS], ids=named)
def test_a_room_is_small(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.is_file()]
    assert len(files) <= MOST_FILES, f"{named(folder)} is full: put the file into a room inside it"


@pytest.mark.parametrize("folder", folders(*PACKAGES), ids=named)
def test_a_room_says_what_it_is_for(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))


def test_no_file_is_too_long() -> None:
    lengths = {named(file): len(file.read_text().splitlines()) for file in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_quiet_tests_are_where_make_looks_for_them() -> None:
    """The second phase of `make test` collects one folder, because others import frameworks."""
    others = [file for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__)]
    marked = {named(file.parent) for file in others if "mark.quiet" in file.read_text()}
    assert {"/".join(Path(folder).parts[:2]) for folder in marked} == {"tests/workflows"}
    assert "pytest tests/workflows" in (ROOT / "Makefile").read_text()
