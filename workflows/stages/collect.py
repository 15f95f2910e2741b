"""Gather one machine's records of one study into the folder that analysis reads.

`python -m workflows.stages.collect results/<machine>/<study> --out FOLDER`, which is
`reports/<study>/machines/<machine>` in a study.
`python -m workflows.stages.collect reports/<study>/machines/<machine>` writes such a folder
again, from the form of an earlier samestep to today's.
"""

import argparse
import sys
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from frameworks.description import Variant
from frameworks.registry import framework
from frameworks.workloads import to_dict
from workflows.machine.guardian import interruptible
from workflows.measure.contest_file import ContestFile
from workflows.output import explained
from workflows.planning.configuration import Configuration
from workflows.planning.plan import Plan, PlanError, load_plan
from workflows.planning.replicates import counting, recorded
from workflows.progress import Progress
from workflows.records.columns import BATCHES
from workflows.records.folders import Folders
from workflows.records.machine_folder import read_machine, records_file, write_machine
from workflows.records.machine_records import (
    ChangeRow,
    DatasetRecord,
    MachineRecords,
    MissingRow,
    PartRow,
    PitfallRow,
    ReducedRow,
    StudyRecord,
    WorkloadRecord,
)
from workflows.records.schema import FASTEST, CertificateRecord, ContestRecord
from workflows.records.storage import RecordError, read_batches, read_json

R = TypeVar("R", bound=ChangeRow)


def collect(folders: Folders) -> tuple[MachineRecords, pa.Table]:
    """Read everything there is, in the order of the configuration.

    Raises:
        RecordError: a record is damaged, or there is no study.
    """
    plan = load_plan(folders)
    study = plan.study
    certificates, datasets = [], []
    for workload in study.workloads:
        if folders.dataset(workload).exists():
            datasets.append(read_json(folders.dataset(workload), DatasetRecord))
        for name in dict.fromkeys(entry.framework for entry in study.contenders):
            if (path := folders.certificate(workload, name)).exists():
                certificates.append(read_json(path, CertificateRecord))
    contests, batches = measured(folders, study)
    fixed, held = recorded(folders, study), [contest.replicate for contest in contests]
    number = fixed.replicates if fixed else study.replicates or max(held, default=1)
    records = MachineRecords(
        machine=plan.machine,
        study=StudyRecord(
            name=study.study,
            title=study.title,
            smoke=study.smoke,
            reference=study.reference_framework,
            fastest=study.reference == FASTEST,
            replicates=number,
            margin=study.margin,
            confidence=study.confidence,
            target_precision=study.target_precision,
            fixed=fixed.sentence if fixed else "",
            command=plan.command,
            # Names of a cluster's partitions are nobody else's business.
            configuration={k: v for k, v in plan.configuration.items() if k != "machines"},
            titles={c.framework: framework(c.framework).title for c in plan.contenders},
            left_out=left_out(study),
        ),
        workloads=[described(plan, name) for name in study.workloads],
        datasets=datasets,
        missing=[
            MissingRow(**contender.identity(), reason=contender.missing)
            for contender in plan.contenders
            if contender.missing
        ],
        pitfalls=pitfalls(study),
        changes=changes(study),
        parts=partial_or_reduced(study, PartRow, "part"),
        reduced=partial_or_reduced(study, ReducedRow, "reduced"),
        certificates=certificates,
        contests=contests,
    )  # fmt: skip
    return records, batches


def measured(folders: Folders, study: Configuration) -> tuple[list[ContestRecord], pa.Table]:
    """The records of all contests, and their mini-batches in the same order: by workload, then by
    replicate."""
    found: dict[str, list[tuple[ContestRecord, pa.Table]]] = {n: [] for n in study.workloads}
    for group in study.groups:
        for replicate in counting(folders, study):
            if (path := folders.contest(group, replicate)).exists():
                table = read_batches(folders.batches(group, replicate))
                for contest in read_json(path, ContestFile).contests:
                    own = table.filter(pc.equal(table["workload"], contest.workload))
                    found[contest.workload].append((contest, own))
    both = [pair for pairs in found.values() for pair in pairs]
    tables = [BATCHES.empty_table(), *(table for _, table in both)]
    return [contest for contest, _ in both], pa.concat_tables(tables)


def left_out(study: Configuration) -> dict[str, list[str]]:
    """Variants of the study's frameworks that it does not ask for, without pitfalls, parts of a
    step, reduced precision, and steps on the way to `tuned`."""
    there = {(name, variant) for name, variant, _ in asked(study)}
    found = {
        name: [
            variant
            for variant, description in framework(name).variants.items()
            if (name, variant) not in there
            and description.ranked
            and variant not in framework(name).intermediate
        ]
        for name in sorted({name for name, _ in there})
    }
    return {name: variants for name, variants in found.items() if variants}


def pitfalls(study: Configuration) -> list[PitfallRow]:
    return [
        PitfallRow(framework=name, variant=variant, pitfall=one.pitfall, beside=one.compared_with)
        for name, variant, one in asked(study)
        if one.pitfall
    ]


def changes(study: Configuration) -> list[ChangeRow]:
    """The steps to `tuned` whose predecessor is in the study, too."""
    there = {(name, variant) for name, variant, _ in asked(study)}
    return [
        ChangeRow(framework=name, variant=variant, change=one.change, beside=one.compared_with)
        for name, variant, one in asked(study)
        if one.change and (name, one.compared_with) in there
    ]


def partial_or_reduced(study: Configuration, kind: type[R], field: str) -> list[R]:
    """The variants that are a part of a step, or computed in a reduced format."""
    return [
        kind(framework=name, variant=variant, change=change, beside=one.compared_with)
        for name, variant, one in asked(study)
        if (change := getattr(one, field))
    ]


def asked(study: Configuration) -> list[tuple[str, str, Variant]]:
    """The study's variants, each once, with their descriptions."""
    names = dict.fromkeys((c.framework, v) for c in study.contenders for v in c.variants)
    return [(name, variant, framework(name).variants[variant]) for name, variant in names]


def described(plan: Plan, name: str) -> WorkloadRecord:
    workload = plan.study.workload(name)
    return WorkloadRecord(
        name=name,
        description=to_dict(workload),
        parameters=workload.parameters,
        flops_per_step=workload.flops_per_step,
        bytes_per_step=workload.bytes_per_step(),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.stages.collect", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="results/<machine>/<study>, or a folder written before"
    )
    parser.add_argument("--out", type=Path, help="default: the folder itself, if written before")
    parser.add_argument("--log", type=Path, help="also write the progress there")
    arguments = parser.parse_args()
    folder, out = arguments.folder, arguments.out
    try:
        if records_file(folder).exists():
            write_machine(out or folder, *read_machine(folder))
        elif out is None:
            parser.error(f"{folder} is no folder written before, so --out is needed")
        else:
            with Progress(1, "report", log=arguments.log) as progress:
                progress.note("gathering the records and rendering them takes about 10 s")
            write_machine(out, *collect(Folders(folder)))
    except (RecordError, PlanError, OSError) as error:
        print(f"collect: {explained(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))
