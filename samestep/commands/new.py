"""`new`: begins an adapter, as a folder here or as a package elsewhere."""

import argparse
import keyword
import re
import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import frameworks
from frameworks import registry
from samestep.terminal import Problem
from workflows.output import explained, place
from workflows.records.whole_files import write_together

HERE = Path(frameworks.__file__).parent
TEMPLATES = Path(__file__).parent / "templates"
NAME = r"[a-z][a-z0-9_]{0,23}"
IMPORT = {  # where a folder and a package may import the framework
    False: "or at the top: only workers read this file.",
    True: "because this file must load without it.",
}

# Names of files to their templates.
FOLDER = {
    "__init__.py": "__init__.py.j2",
    "adapter.py": "adapter.py.j2",
    "requirements.txt": "requirements.txt.j2",
}
PACKAGE = {
    "{module}.py": "package.py.j2",
    "pyproject.toml": "pyproject.toml.j2",
    "tests/test_conformance.py": "test_conformance.py.j2",
}

CONTENDERS = """\
reference: pytorch
contenders:
  - framework: pytorch
  - framework: {name}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="how configurations will name the framework")
    parser.add_argument(
        "--package",
        action="store_true",
        help="write a package of your own instead of a folder here",
    )
    parser.add_argument(
        "--into",
        type=place,
        metavar="FOLDER",
        help="where to write the package (default: samestep-NAME)",
    )


def run(arguments: argparse.Namespace) -> int:
    name = arguments.name
    check_name(name)
    if arguments.into and not arguments.package:
        raise Problem(
            "--into needs --package: an adapter outside this clone is found only as a package"
        )
    target = (arguments.into or Path(f"samestep-{name}")) if arguments.package else HERE / name
    written = write(name, target, arguments.package)
    print("Wrote", *written, sep="\n  ")
    print(next_steps(name, target if arguments.package else None))
    return 0


def check_name(name: str) -> None:
    """Raises Problem unless the name is free and can be a folder, a module and an entry point."""
    if keyword.iskeyword(name):
        raise Problem(f"{name!r} cannot be a module, because it is a word of Python")
    if not re.fullmatch(NAME, name):
        proposed = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        fits = re.fullmatch(NAME, proposed) and not keyword.iskeyword(proposed)
        hint = f"; {proposed!r} would do" if fits else ""
        raise Problem(
            f"{name!r} cannot be a module: at most 24 lower-case letters, digits "
            f"and _, a letter first{hint}"
        )
    if name in registry.names():
        raise Problem(f"there is a framework {name!r} already: samestep list {name}")
    if (HERE / name).exists() or (HERE / f"{name}.py").exists():
        raise Problem(f"frameworks/{name} is something else already: choose another name")


def write(name: str, target: Path, package: bool) -> list[Path]:
    """Write the files and return their paths. Raises Problem instead of overwriting a file."""
    # Not {name}.py, which would be imported instead of the framework itself.
    own = f"samestep_{name}"
    title = name.replace("_", " ").title().replace(" ", "")
    values = {
        "name": name,
        "title": title,
        "prefix": title,
        "module": own if package else f"frameworks.{name}.adapter",
        "where": IMPORT[package],
    }
    paths = {
        target / file.format(module=own): template
        for file, template in (PACKAGE if package else FOLDER).items()
    }
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise Problem(f"nothing written, because {', '.join(there)} would be overwritten")
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )
    texts = {path: environment.get_template(file).render(values) for path, file in paths.items()}
    try:
        write_together({path: text.rstrip() + "\n" for path, text in texts.items()})
    except OSError as error:
        raise Problem(f"{target} cannot be written: {explained(error)}") from None
    return list(paths)


def next_steps(name: str, package: Path | None) -> str:
    what = (
        f"-e {shlex.quote(str(package))}" if package else f"-r frameworks/{name}/requirements.txt"
    )
    return f"""
Write each method: its error says what to write, and frameworks/contract.py says how.

  pip install {what}
  samestep check {name}    says what is missing or wrong, as often as you like
  samestep list {name}

Then name it in a configuration of your own, mine.yaml for example:

{CONTENDERS.format(name=name)}

  snakemake --cores 1 --configfile mine.yaml"""
