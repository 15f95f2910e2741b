"""The source files of an adapter, found by its imports, without running them."""

import ast
import importlib.util
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path


def sources(module: str) -> list[Path]:
    """The files of an adapter: its module and what that imports of its own package.

    A module outside any package may import modules beside it whose names begin with its own. If a
    text in the source is made like f"package.folder.{name}", all modules of that folder are found.
    """
    spec = located(module)
    if not spec or not spec.origin:
        return []
    package, first = module.rpartition(".")[0], Path(spec.origin)
    found, waiting = [], [first]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.append(file)
            waiting += imported(file, package, first)
    return found


def located(module: str) -> ModuleSpec | None:
    """Where a module is. `find_spec` would import the packages around it: only a worker may run
    what a framework's package does there."""
    first, *rest = module.split(".")
    spec = importlib.util.find_spec(first)
    for part in rest:
        if not spec or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return spec


def imported(file: Path, package: str, first: Path) -> Iterator[Path]:
    """The files beside the first one that this file imports."""
    own_prefix = f"{package}." if package else first.stem
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [package if node.level else "", node.module]))
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.JoinedStr):
            match node.values:
                case [ast.Constant(value=str(begin)), *_]:
                    yield from by_name(begin, package, first)
        for name in names:
            own = first.parent.joinpath(*name.removeprefix(f"{package}.").split("."))
            if name.startswith(own_prefix):
                yield from (f for f in (own.with_suffix(".py"), own / "__init__.py") if f.is_file())


def by_name(begin: str, package: str, first: Path) -> Iterator[Path]:
    """The files of a folder below the first one, if a text begins like their modules' names."""
    below = begin.removeprefix(f"{package}.").split(".")
    if package and begin.startswith(f"{package}.") and begin.endswith("."):
        yield from sorted(first.parent.joinpath(*below[:-1]).glob("*.py"))
