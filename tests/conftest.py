"""What all tests share: a small study that takes seconds, and a framework of somebody else's."""

import copy
import gc
import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from filelock import FileLock

pytest_plugins = ("pytester",)

# A shell ignores these in what it runs in the background, and so would every process of a test.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# NumPy computes on one core in each of the processes that run tests side by side. More would wait
# for each other. What samestep starts has its own number.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "tests" / "packages"
EAGER = PACKAGES / "eager"

# A study that takes a second or two: the abacus on a tiny perceptron. Its few mini-batches say
# nothing about small differences, so that only a large one may withhold a ratio.
SMALL = {
    "study": "small",
    "replicates": 1,
    "reference": "abacus",
    "contenders": [{"framework": "abacus"}],
    "devices": ["cpu"],
    "threads": [1],
    "workloads": {"mlp": {"features": 20, "hidden": [8], "samples": 400, "batch": 4}},
    "contest": {"warmup": 2, "rounds": 4, "turn": 4, "discard": 1},
    "controls": False,
    "noop": False,
    "machine_speed": False,
    "certificate": {"steps": 50},
    "margin": 0.9,
}


FIRST = (
    "test_study.py", "test_environments.py", "test_defects.py", "test_faults.py",
    "test_extending.py", "test_first_hour.py", "test_bundle.py", "test_fuzz.py", "test_kills.py",
)  # fmt: skip


COMPILED = "samestep-tests-"
DISK = 4 * 2**20  # bytes


def python_path(*folders: Path | str) -> str:
    """The variable `PYTHONPATH` of a process that tests start."""
    return os.pathsep.join(map(str, [EAGER, *folders]))


def pytest_configure(config):
    """PyTorch imports less, and JAX compiles each program once for all tests: compiling takes half
    of its time there. The folder has no limit of size. Otherwise JAX would read all of it, under a
    lock, for each program that it adds: 0.2 s after 4,000 programs."""
    if COMPILED not in os.environ.get("JAX_COMPILATION_CACHE_DIR", ""):
        folder = TemporaryDirectory(prefix=COMPILED)
        config.add_cleanup(folder.cleanup)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder.name
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    before = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    if str(EAGER) not in before:  # or this process was started with it
        runpy.run_path(str(EAGER / "sitecustomize.py"))
        os.environ["PYTHONPATH"] = python_path(*before)


def pytest_collection_modifyitems(items):
    """Tests that take longest begin, so that none of them is left to run alone at the end; and the
    planted defects, so that one process has all of them: it certifies them together."""
    items.sort(key=lambda item: item.path.name not in FIRST)


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory):
    """Tests neither use nor leave anything outside their own folders."""
    patch = pytest.MonkeyPatch()
    for name in [n for n in os.environ if n.startswith("SAMESTEP_")]:
        patch.delenv(name)
    here = tmp_path_factory.mktemp("surroundings")
    patch.setenv("SAMESTEP_LOCK", str(here / "machine.lock"))
    patch.setenv("SAMESTEP_CACHE", str(here / "cache"))
    yield
    patch.undo()


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """Frameworks leave many objects in memory. The garbage collector need not visit them again."""
    gc.freeze()


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """The folder that `build(folder)` makes. Test processes that run side by side share it: the
    first one builds it, and the others wait."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    with FileLock(base / f"{name}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            build(folder)
            done.touch()
    return folder


def python(*words: str, cwd: Path = ROOT, **options) -> subprocess.CompletedProcess:
    """Run this interpreter with these words, and keep what it prints, as text."""
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, **options)


def findable(name: str, patch: pytest.MonkeyPatch) -> str:
    """Make a package of `tests/packages` findable, here and in workers, as if it were installed."""
    folder = str(PACKAGES / name)
    patch.syspath_prepend(folder)
    patch.setenv("PYTHONPATH", python_path(folder))
    return folder


@contextmanager
def package(name: str) -> Iterator[str]:
    """The same for a while."""
    with pytest.MonkeyPatch.context() as patch:
        yield findable(name, patch)
    sys.modules.pop(name, None)


@pytest.fixture
def abacus(monkeypatch):
    """The NumPy framework in `tests/packages`. The test's own `monkeypatch` takes it away: one that
    ends later would bring back the paths that it has seen first."""
    yield findable("abacus", monkeypatch)
    sys.modules.pop("abacus", None)


@pytest.fixture
def small():
    """A configuration that takes a second or two."""
    return copy.deepcopy(SMALL)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", place],
            check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small file system needs root and Linux")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(disk: Path, left: int = 0) -> None:
    """Take all of the disk, except some bytes."""
    with (disk / "full").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    os.truncate(disk / "full", max((disk / "full").stat().st_size - left, 0))
