"""A study as one archive for a machine without internet: the code of a commit, the configuration,
MNIST, and the wheels of every environment. `run.sh` in it does the rest there."""

import hashlib
import shutil
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.format import count
from frameworks.registry import entry_points, folders, framework
from frameworks.workloads.datasets import DataError, MnistSettings, mirrors
from frameworks.workloads.datasets.mnist import SPLITS, given, locate
from samestep.archives import SUFFIX
from samestep.terminal import Problem
from workflows.environments.stage import BuildFailed, run
from workflows.planning.code import COMMIT, ROOT, git
from workflows.planning.configuration import Configuration
from workflows.planning.isolated import environment, source, statements

TEMPLATES = Path(__file__).parent / "commands" / "templates"
OWN = "samestep"  # the environment that runs the study, and the folder of the code
# glibc 2.28 or older. pip prefers the tags that come first.
TAGS = {
    "linux": (
        *(f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)),
        "manylinux2014_x86_64",
        "linux_x86_64",
    )
}
# What pip installs instead, for a GPU. PyTorch's wheels on PyPI have CUDA already.
CUDA = {"jax==": "jax[cuda13]==", "tensorflow-cpu==": "tensorflow[and-cuda]=="}
ROOM = {"none": 5e8, "cuda": 4e9}  # bytes of an environment's wheels, roughly, before pip knows
COMPILED = 1.3  # times the size of what wheels hold, because Python compiles it
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


class Target(NamedTuple):
    """The other machine."""

    python: str
    platform: str
    gpu: str


class Wanted(NamedTuple):
    """An environment: arguments of pip, one pin a line, and where relative paths start."""

    name: str
    arguments: list[str]
    constraints: str
    beside: Path


def write(
    study: Configuration, files: Sequence[Path], target: Target, out: Path, say: Callable[[str], None]
) -> None:
    """Write the archive of a study that these configuration files describe.

    Raises:
        Problem: the study cannot be carried, a wheel is missing, or the disk is too small.
        OSError: a file cannot be read or written.
    """
    every = list(environments(study, target.gpu))
    require_room(out.parent, 2 * ROOM[target.gpu] * len(every))
    # Beside the archive, so that one step moves it there.
    with TemporaryDirectory(dir=out.parent.resolve(), prefix=".bundle-") as temporary:
        scratch = Path(temporary)
        top, log = scratch / "archive" / out.stem, scratch / "log"
        (top / "wheels").mkdir(parents=True)
        (top / "environments").mkdir()
        say(f"the code of commit {repository(top / OWN, scratch)}")
        copy_configuration(files, top / "configuration")
        digits = copy_mnist(study, top / "mnist", say)
        try:
            pip = installer(target.python, scratch, log)
            needed = sum(
                collect(one, target, pip, top, scratch / "wheels" / one.name, log, say) for one in every
            )
        except BuildFailed as failure:
            raise Problem(f"the wheels cannot be had: {failure}") from None
        templates = Environment(
            loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
        )
        script = templates.get_template("run.sh.j2").render(
            study=study.study,
            python=target.python,
            frameworks=[one.name for one in every[1:]],
            configuration=[path.name for path in sorted((top / "configuration").iterdir())],
            mnist=digits,
            kilobytes=int(COMPILED * needed / 1024),
            archive=study.study + SUFFIX,
        )
        (top / "run.sh").write_text(script)
        require_room(out.parent, sum(file.stat().st_size for file in top.rglob("*")))
        partial = scratch / out.name
        with tarfile.open(partial, "w") as tar:  # wheels are compressed already
            tar.add(top, top.name, filter=anonymous)
        partial.replace(out)


def require_room(folder: Path, needed: float) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Problem(
            f"{folder}: the archive and its parts need about {needed / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free: make room, or name another place with --out"
        )


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def repository(folder: Path, scratch: Path) -> str:
    """Put the committed code there, without committed reports, and return its commit."""
    commit = git(ROOT, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit or git(ROOT, "rev-parse", "--show-prefix") != "":
        raise Problem(f"{ROOT} is no git clone: the archive has the code of one commit")
    if changes := git(ROOT, "status", "--porcelain", "--untracked-files=no"):
        raise Problem(
            "the archive has the code of one commit, and these files differ from it: commit or "
            f"undo\n{changes}"
        )
    code = scratch / "code.tar"
    if git(ROOT, "archive", "--output", str(code), commit, "--", ".", ":(exclude)reports") is None:
        raise Problem("git archive failed")
    with tarfile.open(code) as tar:
        tar.extractall(folder, filter="data")
    code.unlink()
    (folder / COMMIT).write_text(f"{commit}\n")
    return commit


def copy_configuration(files: Sequence[Path], folder: Path) -> None:
    folder.mkdir()
    for number, path in enumerate(files, 1):
        shutil.copy(path, folder / f"{number:02}-{path.name}")


def copy_mnist(study: Configuration, folder: Path, say: Callable[[str], None]) -> bool:
    """Copy the files of MNIST that the study needs, if they can be had. Returns whether."""
    settings = MnistSettings(**study.mnist.model_dump())
    kinds = {study.workload(name).dataset.kind for name in study.workloads}
    if "mnist" not in kinds or settings.source == "stand-in":
        return False
    files = SPLITS[settings.split]
    try:
        place = given(settings) or mirrors.fetch({f"{one.name}.gz": one.sha256_gz for one in files})[0]
        found = [locate(place, one.name, settings) for one in files]
    except DataError as error:
        if settings.source == "mnist" or given(settings):
            raise Problem(str(error)) from None
        say("without MNIST, which was not found: the study uses the built-in stand-in")
        return False
    folder.mkdir()
    for path in found:
        shutil.copy(path, folder)
    say(f"MNIST, {settings.split} split")
    return True


def environments(study: Configuration, gpu: str) -> Iterator[Wanted]:
    """samestep's own environment, without Snakemake, and that of each framework."""
    names = list(dict.fromkeys(entry.framework for entry in study.contenders))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = [line for line in project["dependencies"] if not line.startswith("snakemake")]
    own += dict.fromkeys(packages(names))
    yield Wanted(OWN, own, (ROOT / "constraints.txt").read_text(), ROOT)
    for name in names:
        found = environment(name)
        if found.refusal:
            raise Problem(f"{name}: {found.refusal}")
        arguments = list(spelled_out(found.wanted, found.beside))
        for plain, extra in CUDA.items() if gpu == "cuda" else ():
            arguments = [
                extra + one.removeprefix(plain) if one.startswith(plain) else one
                for one in arguments
            ]
        yield Wanted(name, arguments, found.constraints, found.beside)


def packages(names: Iterable[str]) -> Iterator[str]:
    """The packages of adapters that are no folders here: they describe their frameworks."""
    for name in dict.fromkeys(framework(name).unversioned for name in names):
        if name not in folders() and (package := entry_points()[name].dist):
            if not (found := source(package)):
                raise Problem(f"{package.name} was not installed by pip or uv: install it")
            yield found


def spelled_out(arguments: Iterable[str], beside: Path) -> Iterator[str]:
    """Arguments of pip, with the lines of a file instead of `-r FILE`."""
    words = iter(arguments)
    for word in words:
        if word != "-r":
            yield word
            continue
        file = beside / next(words)
        lines = (one.split() if one.startswith("-") else [one] for one in statements(file.read_text()))
        yield from spelled_out([one for line in lines for one in line], file.parent)


def installer(python: str, scratch: Path, log: Path) -> list[str]:
    """A pip under that version of Python, by which it judges conditions on versions."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = sys.executable if python == here else shutil.which(f"python{python}")
    if not found:
        raise Problem(f"--python {python}: pip needs a python{python} here, too: install one")
    run([found, "-m", "venv", str(scratch / "venv")], log)
    return [str(scratch / "venv" / "bin" / "python"), "-m", "pip"]


def collect(
    wanted: Wanted, target: Target, pip: list[str], top: Path, folder: Path, log: Path,
    say: Callable[[str], None],
) -> int:  # fmt: skip
    """Put an environment's wheels into the archive, and their names and hashes. Returns the bytes
    that they unpack to."""
    folder.mkdir(parents=True)
    pins = folder / "constraints.txt"
    pins.write_text(wanted.constraints)
    arguments = [built(one, pip, folder / "built", log) for one in wanted.arguments]
    tags = [word for tag in TAGS[target.platform] for word in ("--platform", tag)]
    run(
        [*pip, "download", "--only-binary=:all:", *tags, "--constraint", str(pins),
         "--dest", str(folder), *arguments],
        log, wanted.beside,
    )  # fmt: skip
    lines, size, unpacked = [], 0, 0
    for wheel in sorted(folder.glob("*.whl")):
        require_kind(wheel.name, wanted.name, target.gpu)
        with wheel.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with zipfile.ZipFile(wheel) as content:
            unpacked += sum(entry.file_size for entry in content.infolist())
        size += wheel.stat().st_size
        lines.append(f"./wheels/{wheel.name} --hash=sha256:{digest}\n")
        wheel.replace(top / "wheels" / wheel.name)
    (top / "environments" / f"{wanted.name}.txt").write_text("".join(lines))
    say(f"{wanted.name}: {count(len(lines), 'wheel')}, {size / 1e6:.0f} MB")
    return unpacked


def built(requirement: str, pip: list[str], folder: Path, log: Path) -> str:
    """The wheel of a package that was installed from a folder or repository; other requirements
    as they are."""
    if " @ " not in requirement:
        return requirement
    run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), requirement], log)
    return str(max(folder.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime_ns))


def require_kind(wheel: str, name: str, gpu: str) -> None:
    """Raises Problem if pip has found the build for other devices than were asked for."""
    if gpu == "none" and wheel.startswith("nvidia_cu"):
        raise Problem(
            f"{name}: pip brings CUDA ({wheel}). For PyTorch's CPU build, set "
            f"PIP_EXTRA_INDEX_URL={CPU_INDEX}; for GPUs, give --gpu cuda"
        )
    if gpu == "cuda" and "+cpu" in wheel:
        raise Problem(
            f"{name}: pip brings a CPU build ({wheel}). Leave its index out of pip's settings: "
            "pip config list, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS"
        )
