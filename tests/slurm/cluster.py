"""A cluster of this machine alone: SLURM on one node, without systemd and without accounting.

`python -m tests.slurm.cluster start` and `python -m tests.slurm.cluster stop`, as root, with
Debian's packages `slurm-wlm` and `munge`. Nothing of it runs after `stop`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
# Jobs do not inherit SLURM_CONF, so the configuration is where SLURM looks for it by itself.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
STATE = Path("/var/lib/samestep-slurm")
KEY = Path("/etc/munge/munge.key")
SOCKETS = Path("/run/munge")
MARK = "# Written by tests/slurm/cluster.py"
PATIENCE_S = 30.0
SETTINGS = f"""{MARK}
ClusterName=samestep
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/munge
CryptoType=crypto/munge
StateSaveLocation={STATE}/ctld
SlurmdSpoolDir={STATE}/d
SlurmctldPidFile={STATE}/slurmctld.pid
SlurmdPidFile={STATE}/slurmd.pid
SlurmctldLogFile={STATE}/slurmctld.log
SlurmdLogFile={STATE}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2
SchedulerType=sched/backfill
MinJobAge=600
KillWait=5
ReturnToService=2
MpiDefault=none
"""


def missing() -> str:
    """Why there can be no cluster here; "" if there can."""
    absent = [name for name in PROGRAMS if not found(name)]
    if absent:
        return f"not installed: {', '.join(absent)} (apt-get install slurm-wlm munge)"
    if os.geteuid():
        return "only root starts SLURM's daemons"
    if CONFIGURATION.exists() and MARK not in CONFIGURATION.read_text():
        return f"{CONFIGURATION} is there already: this machine belongs to a cluster"
    return ""


def found(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def run(*command: str) -> str:
    program = found(command[0])
    assert program, command
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def start() -> None:
    """Start the three daemons and wait until the node takes jobs."""
    for folder in (STATE / "ctld", STATE / "d", SOCKETS, CONFIGURATION.parent, KEY.parent):
        folder.mkdir(parents=True, exist_ok=True)
    if not KEY.exists():
        KEY.write_bytes(os.urandom(128))
        KEY.chmod(0o400)
        shutil.chown(KEY, "munge", "munge")
    for folder in (SOCKETS, Path("/var/log/munge"), Path("/var/lib/munge")):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.chown(folder, "munge", "munge")
    SOCKETS.chmod(0o755)
    # What slurmd itself says of this machine: its name, cores and memory.
    node = next(line for line in run("slurmd", "-C").splitlines() if line.startswith("NodeName="))
    name = node.split()[0].partition("=")[2]
    CONFIGURATION.write_text(
        f"{SETTINGS}{node} State=UNKNOWN\n"
        f"PartitionName=all Nodes={name} Default=YES State=UP MaxTime=INFINITE\n"
    )
    as_munge = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    run(*as_munge, found("munged") or "munged", f"--pid-file={SOCKETS}/munged.pid")
    run("slurmctld")
    run("slurmd")
    deadline = time.monotonic() + PATIENCE_S
    while "idle" not in state():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the node takes no jobs: {state()}; see {STATE}/*.log")
        time.sleep(0.2)


def state() -> str:
    with suppress(RuntimeError):
        return run("sinfo", "--noheader", "--format=%T")
    return "no answer"


def stop() -> None:
    """End all jobs and the daemons, and remove what `start` has written."""
    with suppress(RuntimeError, AssertionError):
        run("scancel", "--state=PENDING,RUNNING", "--user=root")
        time.sleep(1)
    for file in (STATE / "slurmd.pid", STATE / "slurmctld.pid", SOCKETS / "munged.pid"):
        with suppress(OSError, ValueError):
            pid = int(file.read_text())
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE_S
            while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
    shutil.rmtree(STATE, ignore_errors=True)
    if CONFIGURATION.exists() and MARK in CONFIGURATION.read_text():
        CONFIGURATION.unlink()


@contextmanager
def cluster() -> Iterator[None]:
    """The cluster for the block. There is one at a time on a machine."""
    with FileLock("/tmp/samestep-slurm.lock"):
        try:
            start()
            yield
        finally:
            stop()


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    {"start": start, "stop": stop}[sys.argv[1]]()
