"""Packs a study for a machine without internet: the code of a commit, the configuration, MNIST, and
the wheels of every environment. `run.sh` in the archive runs the study there."""

import hashlib
import shlex
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
from frameworks.registry import bundled, entry_points, framework
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
# Tags of wheels for glibc 2.28 or older. pip prefers those that come first.
TAGS = {
    "linux": (
        *(f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)),
        "manylinux2014_x86_64",
        "linux_x86_64",
    )
}
# What is installed instead, for a GPU. PyTorch's wheels on PyPI have CUDA already.
CUDA = {"jax==": "jax[cuda13]==", "tensorflow-cpu==": "tensorflow[and-cuda]=="}
ROOM = {"none": 5e8, "cuda": 4e9}  # bytes of an environment's wheels, guessed before the download
COMPILED = 1.3  # times what wheels unpack to, because Python compiles their modules


class Target(NamedTuple):
    """The other machine."""

    python: str
    platform: str
    gpu: str


class Wanted(NamedTuple):
    """An environment: arguments of pip, pins one a line, and where relative paths start."""

    name: str
    arguments: list[str]
    constraints: str
    beside: Path


class Bundle:
    """The content of the archive in the folder `top`, and temporary files in `scratch`."""

    def __init__(
        self, study: Configuration, target: Target, scratch: Path, name: str,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.study, self.target, self.say = study, target, say
        self.scratch, self.top, self.log = scratch, scratch / "top" / name, scratch / "log"
        for folder in ("wheels", "environments", "configuration"):
            (self.top / folder).mkdir(parents=True)

    def fill(self, wanted: Sequence[Wanted], files: Sequence[Path]) -> None:
        """Put everything into `top`. Raises Problem or OSError."""
        self.say(f"the code of commit {self.code()}")
        for number, path in enumerate(files, 1):
            shutil.copy(path, self.top / "configuration" / f"{number:02}-{path.name}")
        mnist = self.mnist()
        try:
            pip = self.installer()
            unpacked = sum([self.wheels(one, pip) for one in wanted])
        except BuildFailed as failure:
            raise Problem(f"the wheels cannot be had: {failure}") from None
        templates = Environment(
            loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True,
            keep_trailing_newline=True,
        )  # fmt: skip
        script = templates.get_template("run.sh.j2").render(
            study=self.study.study,
            python=self.target.python,
            frameworks=[one.name for one in wanted if one.name != OWN],
            configuration=[
                shlex.quote(f"../configuration/{file.name}")
                for file in sorted((self.top / "configuration").iterdir())
            ],
            mnist=mnist,
            kilobytes=int(COMPILED * unpacked / 1024),
            archive=self.study.study + SUFFIX,
        )
        (self.top / "run.sh").write_text(script, encoding="utf-8")

    def code(self) -> str:
        """Put the committed code there, without committed reports, and return its commit."""
        commit = git(ROOT, "rev-parse", "--verify", "--quiet", "HEAD")
        if not commit or git(ROOT, "rev-parse", "--show-prefix") != "":
            raise Problem(f"{ROOT} is no git clone: the archive has the code of one commit")
        if changes := git(ROOT, "status", "--porcelain", "--untracked-files=no"):
            raise Problem(
                "the archive has the code of one commit, and these files differ from it: commit "
                f"or undo\n{changes}"
            )
        packed, words = self.scratch / "code.tar", (commit, "--", ".", ":(exclude)reports")
        if git(ROOT, "archive", "--output", str(packed), *words) is None:
            raise Problem(f"git cannot archive the commit {commit}")
        with tarfile.open(packed) as tar:
            # Python 3.11.2, which Debian has, cannot filter what it unpacks.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            tar.extractall(self.top / OWN)
        (self.top / OWN / COMMIT).write_text(f"{commit}\n")
        return commit

    def mnist(self) -> bool:
        """Copy MNIST's files if the study needs them. Returns whether they are in the archive."""
        settings = MnistSettings(**self.study.mnist.model_dump())
        kinds = {self.study.workload(name).dataset.kind for name in self.study.workloads}
        if "mnist" not in kinds or settings.source == "stand-in":
            return False
        files = SPLITS[settings.split]
        try:
            hashes = {f"{file.name}.gz": file.sha256_gz for file in files}
            folder = given(settings) or mirrors.fetch(hashes)[0]
            found = [locate(folder, file.name, settings) for file in files]
        except DataError as error:
            if settings.source == "mnist" or given(settings):
                raise Problem(str(error)) from None
            self.say(f"without MNIST, so the study uses the stand-in: {error}")
            return False
        (self.top / "mnist").mkdir()
        for path in found:
            shutil.copy(path, self.top / "mnist")
        self.say(f"MNIST, {settings.split} split")
        return True

    def installer(self) -> list[str]:
        """A pip under the other machine's Python, which decides conditional requirements."""
        python, here = self.target.python, f"{sys.version_info.major}.{sys.version_info.minor}"
        found = sys.executable if python == here else shutil.which(f"python{python}")
        if not found:
            raise Problem(f"--python {python}: pip needs a python{python} here, too: install one")
        run([found, "-m", "venv", str(self.scratch / "venv")], self.log)
        return [str(self.scratch / "venv" / "bin" / "python"), "-m", "pip"]

    def wheels(self, wanted: Wanted, pip: list[str]) -> int:
        """Put an environment's wheels into `top`, and a file with their names and hashes. Returns
        the number of bytes that they unpack to."""
        folder = self.scratch / "wheels" / wanted.name
        folder.mkdir(parents=True)
        pins = folder / "constraints.txt"
        pins.write_text(wanted.constraints, encoding="utf-8")
        options = ["--only-binary=:all:", "--constraint", str(pins), "--dest", str(folder)]
        options += [word for tag in TAGS[self.target.platform] for word in ("--platform", tag)]
        arguments = [self.built(one, pip) for one in wanted.arguments]
        run([*pip, "download", *options, *arguments], self.log, wanted.beside)
        lines, size, unpacked = [], 0, 0
        for wheel in sorted(folder.glob("*.whl")):
            require_kind(wheel.name, wanted.name, self.target.gpu)
            with wheel.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            with zipfile.ZipFile(wheel) as content:
                unpacked += sum(entry.file_size for entry in content.infolist())
            size += wheel.stat().st_size
            lines.append(f"./wheels/{wheel.name} --hash=sha256:{digest}\n")
            wheel.replace(self.top / "wheels" / wheel.name)
        (self.top / "environments" / f"{wanted.name}.txt").write_text("".join(lines))
        self.say(f"{wanted.name}: {count(len(lines), 'wheel')}, {size / 1e6:.0f} MB")
        return unpacked

    def built(self, requirement: str, pip: list[str]) -> str:
        """The path of a wheel, built from a package in a folder or a repository; any other
        requirement unchanged."""
        if " @ " not in requirement:
            return requirement
        folder = self.scratch / "built" / requirement.partition(" @ ")[0]
        run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), requirement], self.log)
        (wheel,) = folder.glob("*.whl")
        return str(wheel)


def write(
    study: Configuration, files: Sequence[Path], target: Target, out: Path,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Write the archive of the study that these configuration files describe.

    Raises:
        Problem: the study cannot be packed, a wheel is missing, or the disk is too small.
        OSError: a file cannot be read or written.
    """
    wanted = list(environments(study, target.gpu))
    require_room(out.parent, 2 * ROOM[target.gpu] * len(wanted))
    # Beside the archive, so that one step moves it there.
    with TemporaryDirectory(dir=out.parent.resolve(), prefix=".bundle-") as temporary:
        bundle = Bundle(study, target, Path(temporary), out.stem, say)
        bundle.fill(wanted, files)
        require_room(out.parent, sum(file.stat().st_size for file in bundle.top.rglob("*")))
        partial = bundle.scratch / out.name
        with tarfile.open(partial, "w") as tar:  # wheels are compressed already
            tar.add(bundle.top, bundle.top.name, filter=anonymous)
        partial.replace(out)


def require_room(folder: Path, needed: float) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Problem(
            f"{folder}: the archive and what it is made from need about {needed / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free: make room, or name another place with --out"
        )


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def environments(study: Configuration, gpu: str) -> Iterator[Wanted]:
    """samestep's own environment, without Snakemake, and that of each framework."""
    names = list(dict.fromkeys(entry.framework for entry in study.contenders))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own = [line for line in project["dependencies"] if not line.startswith("snakemake")]
    own += dict.fromkeys(packages(names))
    yield Wanted(OWN, own, (ROOT / "constraints.txt").read_text("utf-8"), ROOT)
    for name in names:
        found = environment(name)
        if found.refusal:
            raise Problem(f"{name}: {found.refusal}")
        arguments = list(spelled_out(found.wanted, found.beside))
        if gpu == "cuda":
            arguments = [with_cuda(one) for one in arguments]
        yield Wanted(name, arguments, found.constraints, found.beside)


def packages(names: Iterable[str]) -> Iterator[str]:
    """The packages of adapters that are not folders here, which describe their frameworks."""
    for name in dict.fromkeys(framework(name).unversioned for name in names):
        if name not in bundled() and (package := entry_points()[name].dist):
            if not (found := source(package)):
                raise Problem(f"{name}: {package.name} was not installed by pip or uv: install it")
            yield found


def spelled_out(arguments: Iterable[str], beside: Path) -> Iterator[str]:
    """Arguments of pip, with the lines of a file instead of `-r FILE`."""
    words = iter(arguments)
    for word in words:
        if word == "-r":
            file = beside / next(words)
            lines = statements(file.read_text("utf-8"))
            each = (line.split() if line.startswith("-") else [line] for line in lines)
            yield from spelled_out((part for line in each for part in line), file.parent)
        else:
            yield word


def with_cuda(requirement: str) -> str:
    for plain, extra in CUDA.items():
        if requirement.startswith(plain):
            return extra + requirement.removeprefix(plain)
    return requirement


def require_kind(wheel: str, name: str, gpu: str) -> None:
    """Raises Problem if pip found a build for other devices than the target's."""
    if gpu == "none" and wheel.startswith("nvidia_cu"):
        raise Problem(
            f"{name}: pip brings CUDA ({wheel}). For PyTorch's CPU build, set "
            "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu; for GPUs, give --gpu cuda"
        )
    if gpu == "cuda" and "+cpu" in wheel:
        raise Problem(
            f"{name}: pip brings a CPU build ({wheel}). Take its index out of pip's settings: "
            "pip config list, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS"
        )
