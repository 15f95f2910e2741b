"""Virtual environments of frameworks, built by uv from wheels in a folder, without a network."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frameworks import registry
from tests.conftest import PACKAGES, ROOT, fill
from tests.studies import Clone
from tests.workflows.environments.wheels import (
    abacus_as,
    as_installed,
    numpy_by_name_only,
    packed,
    write_wheel,
)
from workflows.environments.stage import Built, complete, last_lines, make, without_environment
from workflows.planning import isolated as isolation
from workflows.planning import provenance as keys
from workflows.planning.configfiles import parse
from workflows.planning.isolated import environment, environments_folder, interpreter
from workflows.planning.plan import contenders, load_plan, write_request
from workflows.records.folders import Folders
from workflows.records.storage import read_json, write_json
from workflows.stages.detect import detect
from workflows.worker.process import WorkerDied, WorkerProcess, surroundings


@pytest.fixture(scope="session")
def real_wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    as_installed(folder, "numpy")
    packed(folder, PACKAGES / "abacus", "abacus")
    return folder


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """`offline(folder)`: packages come from that folder and from nowhere else."""

    def only(wheels):
        for name in [n for n in os.environ if n.startswith("UV_")]:
            monkeypatch.delenv(name)
        for name, value in {
            "UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1", "UV_NO_CONFIG": "1",
            "UV_LINK_MODE": "copy", "UV_CACHE_DIR": str(tmp_path / "uv"),
            "SAMESTEP_CACHE": str(tmp_path / "cache"),
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        return wheels

    return only


@pytest.fixture
def abacus(monkeypatch, tmp_path):
    """The abacus as if pip had installed it from an index, and not only put on a path."""
    folder = abacus_as(tmp_path / "abacus", "abacus")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    yield str(folder)
    sys.modules.pop("abacus", None)


@pytest.fixture
def wheels(offline, tmp_path):
    """A NumPy that is only a name, for what is built and not run."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    numpy_by_name_only(folder)
    return offline(folder)


@pytest.fixture
def folders(small, abacus, tmp_path):
    """A study whose abacus is to be isolated."""
    found = Folders(tmp_path / "results" / "here" / "small")
    write_request(found, parse({**small, "isolate": True}), "here", "a test")
    return found


@pytest.fixture
def requirements(monkeypatch, abacus, tmp_path):
    """The abacus with a requirements file and a lock of these lines."""
    file = tmp_path / "needs" / "requirements.txt"
    file.parent.mkdir()
    plain = registry.framework("abacus")
    described = dataclasses.replace(plain, requirements=str(file))
    monkeypatch.setattr(isolation, "framework", lambda name: described)

    def write(wanted, locked=""):
        file.write_text(wanted)
        file.with_suffix(".lock").write_text(locked)

    return write


def test_a_worker_sees_its_own_environment_alone(offline, real_wheels, folders, small, monkeypatch):
    offline(real_wheels)
    study = parse({**small, "isolate": True})
    write_json(
        folders.detection("abacus"),
        detect(study, "abacus", print, without_environment(study, "abacus", folders)),
    )
    (contender,) = load_plan(folders).contenders
    assert not contender.missing
    assert contender.versions["abacus"] == "0.1" and contender.versions["numpy"] == np.__version__
    assert Path(contender.interpreter).is_relative_to(environments_folder())
    assert read_json(folders.environment("abacus"), Built).attempt == 1

    for name in ("PYTHONPATH", "PYTHONUSERBASE", "VIRTUAL_ENV", "PYTHONHOME"):
        monkeypatch.setenv(name, str(Path(np.__file__).parents[1]))
    question = "import sys, numpy, abacus, json; print(json.dumps([sys.path, abacus.__file__]))"
    done = subprocess.run(
        [contender.interpreter, "-c", question], cwd=ROOT, capture_output=True, text=True,
        env=surroundings(contender, contender.interpreter),
    )  # fmt: skip
    path, module = json.loads(done.stdout)
    own = str(environment("abacus").folder)
    assert module.startswith(own)
    outside = [place for place in path if "site-packages" in place or "dist-packages" in place]
    assert len(outside) == 1 and outside[0].startswith(own)
    assert os.environ["PYTHONPATH"] not in path


def test_a_full_disk_builds_nothing_and_is_the_reason(disk, wheels, folders, small, monkeypatch):
    monkeypatch.setenv("SAMESTEP_CACHE", str(disk))
    study = parse({**small, "isolate": True})
    fill(disk)
    reason = without_environment(study, "abacus", folders)
    assert reason.startswith("its environment could not be built: ")
    assert "No space left on device" in reason
    assert not environment("abacus").folder.exists()


def test_the_callers_path_still_reaches_an_ordinary_worker(abacus, small):
    (contender,) = contenders(parse(small), cores=2)
    seen = surroundings(contender, contender.interpreter)["PYTHONPATH"].split(os.pathsep)
    assert seen == [str(ROOT), abacus]


def test_what_cannot_be_installed_is_a_reason_and_is_tried_again(wheels, folders, small):
    study = parse({**small, "isolate": True})
    reason = without_environment(study, "abacus", folders)
    assert reason.startswith("its environment could not be built: ")
    assert "abacus" in reason and "==0.1" in reason and len(reason) < 1700
    detection = detect(study, "abacus", print, reason)
    assert detection.devices["cpu"].missing == reason
    assert "abacus" in (folders.logs / "environment-abacus.log").read_text()
    assert list(environments_folder().glob("*abacus*/")) == []

    packed(wheels, PACKAGES / "abacus", "abacus")
    assert without_environment(study, "abacus", folders) == reason  # by the record
    assert make(environment("abacus"), folders).missing == ""
    assert interpreter(study, "abacus").startswith(str(environments_folder()))
    assert Path(interpreter(study, "abacus")).exists()


def test_what_is_pinned_is_installed(wheels, folders, requirements):
    for version in ("1.0", "2.0"):
        for name in ("bead", "wire"):
            write_wheel(wheels, name, version, {})
    requirements("bead\nwire==2.0\n", "bead==1.0\nnumpy==0.1\n")
    assert make(environment("abacus"), folders).missing == ""
    found = environment("abacus").folder.glob("lib/*/site-packages/*.dist-info")
    assert {"bead-1.0", "wire-2.0"} <= {path.stem for path in found}

    requirements("bead\nwire==2.0\n", "wire==1.0\n")
    failed = make(environment("abacus"), folders).missing
    assert "wire" in failed and "1.0" in failed


def test_a_changed_lock_is_another_environment_and_measures_again(small, requirements):
    study = parse({**small, "isolate": True})

    def known():
        return [
            environment("abacus").folder,
            keys.detection_key(study, "abacus"),
            keys.contest_key(study, "mlp"),
            keys.certificate_key(study, "mlp", "abacus"),
        ]

    requirements("bead==1.0\n", "wire==1.0\n")
    before = known()
    requirements("# our bead\nbead==1.0\n", "# made by hand\nwire==1.0  # via bead\n\n")
    assert known() == before
    requirements("bead==1.0\n", "wire==1.1\n")
    changed = known()
    assert all(new != old for new, old in zip(changed, before, strict=True))
    requirements("bead==1.1\n", "wire==1.1\n")
    assert all(new != old for new, old in zip(known(), changed, strict=True))


def test_what_merely_lies_on_a_path_is_not_looked_for_by_name(wheels, folders, abacus):
    """A package index has something under nearly every name."""
    packed(wheels, PACKAGES / "abacus", "abacus")
    (Path(abacus) / "abacus-0.1.dist-info" / "INSTALLER").unlink()
    assert "abacus was not installed by pip or uv" in make(environment("abacus"), folders).missing
    origin = {"url": "file:///src/abacus", "dir_info": {"editable": True}}
    (Path(abacus) / "abacus-0.1.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    assert environment("abacus").wanted[0] == "abacus @ file:///src/abacus"


def test_an_interpreter_of_ones_own_goes_first(small, abacus):
    both = {**small, "isolate": True, "interpreters": {"abacus": "/my/python"}}
    assert interpreter(parse(both), "abacus") == "/my/python"
    assert interpreter(parse(small), "abacus") == sys.executable


def test_the_frameworks_here_are_pinned_completely():
    for name in ("pytorch", "tensorflow", "jax"):
        found = environment(name)
        for statement in isolation.statements(found.constraints):
            assert "==" in statement and "+" not in statement and "://" not in statement
        direct = isolation.statements(Path(found.wanted[1]).read_text())
        pins = {line.split(" ;")[0] for line in isolation.statements(found.constraints)}
        assert {line.split(";")[0].strip() for line in direct} <= pins


def start(folders, path=""):
    """A build of its own process."""
    return subprocess.Popen(
        [sys.executable, "-m", "workflows.environments.stage", "--study", str(folders.root),
         "--framework", "abacus"],
        cwd=ROOT, text=True, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "PATH": os.pathsep.join(filter(None, [path, os.environ["PATH"]]))},
    )  # fmt: skip


def slow_uv(folder, seconds):
    """A uv that takes its time to install."""
    folder.mkdir()
    script = folder / "uv"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = venv ] && exec "{shutil.which("uv")}" "$@"\n'
        f"echo bead by bead; exec sleep {seconds}\n"
    )
    script.chmod(0o755)
    return str(folder)


def test_two_builds_of_the_same_are_one(wheels, folders, tmp_path):
    path = slow_uv(tmp_path / "bin", 2)
    running = [start(folders, path) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert sorted("· building" in text for text in said) == [False, True]
    waited = next(text for text in said if "· building" not in text)
    assert "waiting for the machine" in waited and "· ready in" in waited


def test_a_killed_build_leaves_nothing_that_counts(wheels, folders, tmp_path):
    process = start(folders, slow_uv(tmp_path / "bin", 300))
    wanted = environment("abacus")
    log = folders.logs / "environment-abacus.log"
    deadline = time.monotonic() + 60
    while not (log.exists() and "bead by bead" in log.read_text()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert wanted.python.exists() and not complete(wanted)

    (wanted.folder / "rubbish").touch()
    packed(wheels, PACKAGES / "abacus", "abacus")
    assert make(wanted, folders).missing == ""
    assert complete(wanted) and not (wanted.folder / "rubbish").exists()
    assert list(wanted.folder.glob("lib/*/site-packages/abacus.py"))


def test_without_uv_the_reason_says_how_to_get_it(folders, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert make(environment("abacus"), folders).missing.endswith("not installed: pip install uv")


def test_an_environment_that_is_gone_says_how_to_have_it_again(small, abacus):
    (contender,) = contenders(parse({**small, "isolate": True}), cores=2)
    again = r"python -m workflows\.environments\.stage builds it again"
    with pytest.raises(WorkerDied, match=f"No such file.*{again}"):
        WorkerProcess(contender.interpreter, contender)


def test_only_what_is_isolated_can_be_built(small, abacus, tmp_path):
    folders = Folders(tmp_path)
    write_request(folders, parse(small), "here", "a test")
    process = start(folders)
    assert "has no `isolate: true`" in process.communicate(timeout=60)[1]
    assert process.returncode == 1


def test_a_reason_has_neither_passwords_nor_home_folders(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "Using Python 3.11 environment at: /home/me/env\n"
        + "one\n" * 9
        + "\n\ncannot reach https://me:secret@index.org/simple\n"
    )
    assert last_lines(log) == "one / " * 7 + "cannot reach https://...@index.org/simple"


@pytest.mark.all
def test_a_study_goes_on_without_what_could_not_be_built(
    offline, real_wheels, abacus, small, tmp_path
):
    """One framework is there and one is not. Then that is tried again, and is there."""
    wheels = offline(tmp_path / "wheels")
    shutil.copytree(real_wheels, wheels)
    bead = abacus_as(tmp_path / "bead", "bead")
    configuration = {
        **small, "isolate": True, "contenders": [{"framework": "abacus"}, {"framework": "bead"}],
    }  # fmt: skip
    study = Clone(tmp_path / "clone", configuration)
    study.variables["PYTHONPATH"] = os.pathsep.join([abacus, str(bead)])

    output = study.snakemake()
    assert "Without bead: its environment could not be built" in output
    missing = pd.read_csv(study.report / "tables" / "missing.csv")
    assert missing.framework.tolist() == ["bead"]
    assert "bead==0.1" in missing.reason[0]
    assert set(study.rows().framework) == {"abacus"}

    left = study.would_run()
    assert "environment" in left and not {"contest", "certify", "reference"} & left

    packed(wheels, bead, "bead")
    assert "An environment could be built that was not" in study.snakemake(fails=True)
    study.snakemake()
    assert set(study.rows().framework) == {"abacus", "bead"}
    certificates = pd.read_csv(study.report / "tables" / "certificate.csv")
    assert set(certificates.status) == {"agrees"}
    assert study.would_run() == set()
