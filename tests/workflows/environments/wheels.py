"""Wheels made on the spot, so that environments can be built without a network; and what installed
packages need."""

import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import PACKAGES


def write_wheel(folder, name, version, files, tag="py3-none-any"):
    """A wheel of these files, as text or bytes by path."""
    info = f"{name}-{version}.dist-info"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nTag: {tag}\n"
        f"Root-Is-Purelib: {str(tag.endswith('any')).lower()}\n",
    }
    files = {**about, **files}
    record = f"{info}/RECORD"
    listed = "".join(f"{path},,\n" for path in [*files, record])
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for path, content in {**files, record: listed}.items():
            wheel.writestr(path, content)


def as_installed(folder, name):
    """A package that the tests run on, less its own tests."""
    found = distribution(name)
    tags = [line for line in found.read_text("WHEEL").splitlines() if line.startswith("Tag: ")]
    own = next(file.parts[0] for file in found.files if file.name == "METADATA")
    kept = [
        file
        for file in found.files
        if file.parts[0] != ".."
        and file.suffix != ".pyc"
        and "tests" not in file.parts
        and (file.parts[0] != own or file.name in ("METADATA", "entry_points.txt"))
    ]
    contents = {str(file): Path(found.locate_file(file)).read_bytes() for file in kept}
    name, version = own.removesuffix(".dist-info").rsplit("-", 1)
    write_wheel(folder, name, version, contents, tags[-1].removeprefix("Tag: "))


def numpy_by_name_only(folder):
    write_wheel(folder, "numpy", distribution("numpy").version, {})


def abacus_as(folder, name):
    """The abacus under a name, in `folder`, as pip would have installed it from an index."""
    source = (PACKAGES / "abacus" / "abacus.py").read_text()
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(
        source.replace('"abacus', f'"{name}').replace('"Abacus"', f'"{name.title()}"')
    )
    (info / "INSTALLER").write_text("pip\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[samestep.frameworks]\n{name} = {name}:FRAMEWORK\n")
    return folder


def packed(wheels, folder, name):
    """A wheel of such a folder."""
    files = {
        f"{name}.py": (folder / f"{name}.py").read_text(),
        f"{name}-0.1.dist-info/entry_points.txt": (
            folder / f"{name}-0.1.dist-info" / "entry_points.txt"
        ).read_text(),
    }
    write_wheel(wheels, name, "0.1", files)


def needed(packages: Iterable[str]) -> set[str]:
    """The names of these packages, of those that they need, and of those that these need."""
    found, left = set[str](), [*packages]
    while left:
        one = Requirement(left.pop())
        name = canonicalize_name(one.name)
        if name not in found and not (one.marker and not one.marker.evaluate({"extra": ""})):
            found.add(name)
            left += distribution(name).requires or []
    return found
