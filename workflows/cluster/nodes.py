"""Nodes of a cluster: which of them measure a study, and what a scheduler is asked for.

Snakemake plans a study on a login node, which is another machine than the nodes that measure. Each
kind of node in `machines` therefore has one node that introduced itself
(`workflows.cluster.introduce`). That node measures all replicates of the study, because
contests of different machines are never pooled.
"""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from workflows.machine.fingerprint import fingerprint
from workflows.planning.configuration import Configuration
from workflows.planning.entries import MachineEntry
from workflows.planning.plan import PlanError
from workflows.records.limits import MachineName, Threads
from workflows.records.schema import Record
from workflows.records.storage import read_json

NODES = Path("results") / "nodes"


class Identity(Record):
    """`results/nodes/<kind>.json`: who a node is."""

    local: ClassVar[bool] = True

    machine: MachineName  # its fingerprint
    host: str  # its name in the scheduler
    cores: Threads


class Node(NamedTuple):
    """A node that measures, and what the configuration says of its kind."""

    kind: str
    entry: MachineEntry
    identity: Identity

    def study(self, study: Configuration) -> Configuration:
        """The study as this node runs it: with its interpreters, and with its number of cores for
        `all` threads, which means another number on the login node."""

        def counted(threads: Sequence[int | str] | None) -> list[int] | None:
            numbers = [self.identity.cores if n == "all" else int(n) for n in threads or []]
            return list(dict.fromkeys(numbers)) or None

        contenders = [
            entry.model_copy(update={"threads": counted(entry.threads)})
            for entry in study.contenders
        ]
        changes = {
            "contenders": contenders,
            "threads": counted(study.threads),
            "interpreters": {**study.interpreters, **self.entry.interpreters},
        }
        return study.model_copy(update=changes)

    def asked(self, whole: bool) -> dict[str, str]:
        """The resources of a job on this node, by the names of Snakemake's SLURM plugin: of the
        `whole` node, so that nothing runs beside a measurement, or of a part of it."""
        only = f"--nodelist={shlex.quote(self.identity.host)}"
        resources = {
            **described(self.entry),
            "slurm_extra": f"--exclusive {only}" if whole else only,
        }
        return {name: text for name, text in resources.items() if text}

    def __str__(self) -> str:
        one = self.identity
        return f"{self.kind}: node {one.host}, {one.machine}, {one.cores} cores"


def described(entry: MachineEntry) -> dict[str, str]:
    """What a kind of node is asked for, by the names of Snakemake's SLURM plugin."""
    return {
        "slurm_partition": entry.partition,
        "constraint": entry.constraint,
        "gres": f"gpu:{entry.gpus}" if entry.gpus else "",
    }


def introduced(study: Configuration) -> dict[str, Node]:
    """The node of each kind in `machines`, by its fingerprint.

    Raises:
        PlanError: no node of a kind has introduced itself, or two kinds have the same node.
        RecordError: an introduction is damaged.
    """
    found: dict[str, Node] = {}
    for kind, entry in study.machines.items():
        path = NODES / f"{kind}.json"
        if not path.exists():
            raise PlanError(
                f"machines.{kind}: no node of this kind has introduced itself yet. "
                f"Run this once:\n  mkdir -p {NODES} && {introduction(kind, entry)}"
            )
        identity = read_json(path, Identity)
        if other := found.get(identity.machine):
            raise PlanError(
                f"machines: {other.kind} and {kind} are the same node, {identity.host}. Remove one "
                f"of them, or delete {path} and have another node introduce itself."
            )
        found[identity.machine] = Node(kind, entry, identity)
    return found


def introduction(kind: str, entry: MachineEntry) -> str:
    """The command by which SLURM has a node of this kind introduce itself."""
    names = {"slurm_partition": "partition"}
    asked = [f"--{names.get(n, n)}={text}" for n, text in described(entry).items() if text]
    run = shlex.join([sys.executable, "-m", "workflows.cluster.introduce", "--kind", kind])
    log = f"--output={NODES / kind}.log"
    return shlex.join(["sbatch", "--wait", "--exclusive", "--nodes=1", *asked, log, "--wrap", run])


def require_same(machine: str) -> None:
    """Refuse to measure for the results of another machine.

    Raises:
        PlanError: this machine is another one.
    """
    here = fingerprint()
    if here != machine:
        raise PlanError(
            f"this machine is {here}, and these results are of {machine}. Contests of different "
            "machines are not pooled. Measure on that machine; on a cluster, delete the node's "
            f"file in {NODES} to begin with another node."
        )
