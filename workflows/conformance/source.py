"""Whether an adapter's source keeps to its part: no clock, no files, no printing."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from workflows.conformance.outcome import Finding, broken, holds
from workflows.conformance.rule import Rule
from workflows.conformance.subject import Subject

LINES = 150
MODULES = {"time", "timeit", "datetime", "argparse", "optparse", "click", "logging"}
CALLS = {"open", "print", "input", "perf_counter", "perf_counter_ns", "monotonic", "process_time"}
METHODS = {"open", "read_text", "write_text", "read_bytes", "write_bytes"}


def source(subject: Subject) -> Finding:
    files = sources(subject.description.adapter.partition(":")[0])
    if wrong := [said for file in files for said in trespasses(file)]:
        return broken(
            "; ".join(wrong),
            "take it out of the adapter: the harness has the clock, the files and the printing; "
            f"and split files that are longer than {LINES} lines by what they are about",
        )
    lines = {file.name: len(file.read_text().splitlines()) for file in files}
    return holds(", ".join(f"{name} {count} lines" for name, count in lines.items()))


def sources(module: str) -> list[Path]:
    """The adapter's module, and those it imports from its own package, or, if it is in none,
    those beside it whose names begin with its own; nothing is run."""
    spec = importlib.util.find_spec(module)
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


def imported(file: Path, package: str, first: Path) -> Iterator[Path]:
    """The files beside the first that one of them imports."""
    own_prefix = f"{package}." if package else first.stem
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [package if node.level else "", node.module]))
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            own = first.parent.joinpath(*name.removeprefix(f"{package}.").split("."))
            if name.startswith(own_prefix):
                yield from (f for f in (own.with_suffix(".py"), own / "__init__.py") if f.is_file())


def trespasses(file: Path) -> Iterator[str]:
    text = file.read_text()
    if (lines := len(text.splitlines())) > LINES:
        yield f"{file.name} has {lines} lines (at most {LINES})"
    for node in ast.walk(ast.parse(text)):
        where = f"{file.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            method = getattr(node.func, "attr", "")
            if called in CALLS or method in METHODS:
                yield f"{where} calls {called or method}()"
            continue
        else:
            continue
        yield from (f"{where} imports {name}" for name in sorted(names & MODULES))


RULES = (
    Rule(
        "source",
        "The adapter looks at no clock, opens no file, prints nothing, reads no command line, and "
        f"no file of it is longer than {LINES} lines.",
        source,
        after=("description",),
    ),
)
