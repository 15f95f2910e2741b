"""The shape of the code: small rooms, each with its sentence, and no import hidden in a function.

`lint-imports`, in `make check`, proves the direction of imports; its contracts are in
`pyproject.toml`.
"""

import ast
import fnmatch
import re
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


ALL = "pytest.mark.all"


def marked_all() -> tuple[set[str], set[str]]:
    """The tests, or the files with tests, that have the mark `all` at least in part, and the tests
    that do not run without it."""
    partly, wholly = set(), set()
    for file in (ROOT / "tests").rglob("*.py"):
        tree = ast.parse(file.read_text())
        in_decorators = 0
        for test in ast.walk(tree):
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                decorators = [ast.unparse(one) for one in test.decorator_list]
                count = sum(one.count(ALL) for one in decorators)
                in_decorators += count
                partly |= {test.name} if count else set()
                wholly |= {test.name} if ALL in decorators else set()
        if file.read_text().count(ALL) > in_decorators and file != Path(__file__):
            chosen = re.findall(r'"(test_\w+)"', file.read_text())
            partly |= {*chosen} if file.stem == "conftest" else {file.stem}
        if f"pytestmark = {ALL}" in file.read_text():
            wholly |= {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    return partly, wholly


def test_the_page_of_tests_says_what_proves_the_same_in_less_time() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", (ROOT / "tests/README.md").read_text(), re.M)
    later, sooner = (
        set(re.findall(r"`(test_\w+)`", " ".join(own))) for own in zip(*rows, strict=True)
    )
    partly, wholly = marked_all()
    files = [*(ROOT / "tests").rglob("test_*.py")]
    known = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert partly <= later
    assert later | sooner <= known | {file.stem for file in files}
    assert not sooner & wholly
