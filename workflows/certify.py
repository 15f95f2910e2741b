"""The certificate: does a framework compute what the reference computes, in float64?

`python -m workflows.certify --study FOLDER --workload mlp --framework tensorflow`
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from frameworks.contract import Unavailable
from frameworks.registry import trapped
from frameworks.workloads import narrowed
from workflows.agreement import Uncanonical, compare, declared, judge
from workflows.folders import Folders
from workflows.lock import machine_lock
from workflows.plan import Plan, PlanError, PlannedContender, load_plan
from workflows.process import WorkerDied
from workflows.progress import Progress
from workflows.records import CertificateRecord, CertificateRow
from workflows.storage import RecordError, write_json
from workflows.tracing import Tracing

FAILED = "failed.txt"


def certify(
    plan: Plan, workload: str, name: str, folders: Folders, progress: Progress
) -> CertificateRecord:
    """Certificates of one framework's contenders on one workload, against the reference's
    traces, which `make_reference` has left."""
    study, reference = plan.study, plan.reference
    rows = []
    own = [contender for contender in plan.contenders if contender.framework == name]
    with Tracing(plan, workload, folders) as tracing:
        for number, contender in enumerate(own):
            progress.update(number, contender.name, None)
            rows.append(row(tracing, contender, folders.traces(workload)))
    return CertificateRecord(
        study=study.study,
        machine=plan.machine,
        workload=workload,
        framework=name,
        reference=reference.name,
        tolerance=study.certificate.tolerance,
        steps=study.certificate.steps,
        full_steps=study.certificate.full_steps if tracing.narrow else 0,
        narrowed=tracing.narrow,
        parameters=tracing.workload.parameters,
        parameters_long=narrowed(tracing.workload).parameters,
        rows=rows,
    )


def make_reference(plan: Plan, workload: str, folders: Folders, progress: Progress) -> None:
    """Trace the reference contender; if it fails, leave the reason in the traces' place."""
    reference = plan.reference
    traces = folders.traces(workload)
    traces.mkdir(parents=True, exist_ok=True)
    try:
        with Tracing(plan, workload, folders) as tracing, tracing.process(reference) as worker:
            for number, part in enumerate(tracing.lengths):
                progress.update(number, f"{reference.name}, {part} run", None)
                losses = tracing.trace(worker, reference, part, traces / f"{part}.npz")
                (traces / f"{part}.json").write_text(json.dumps(losses))
    except (WorkerDied, Unavailable) as failure:
        progress.note(f"{reference.name} failed: {failure}")
        (traces / FAILED).write_text(f"the reference {reference.name} failed: {failure}")


def row(tracing: Tracing, contender: PlannedContender, traces: Path) -> CertificateRow:
    """Trace one contender and hold it against the reference."""
    result = CertificateRow(
        **contender.parts(), status="missing", reason=contender.missing, versions=contender.versions
    )
    if contender.missing:
        return result
    if (traces / FAILED).exists():
        result.status, result.reason = "failed", (traces / FAILED).read_text()
        return result
    deviations = declared(contender, tracing.workload.optimiser.kind)
    try:
        with tracing.process(contender) as worker, tempfile.TemporaryDirectory() as scratch:
            for part in tracing.lengths:
                if part.startswith("substituted") and not deviations:
                    continue
                if part != "long" and trapped(contender):
                    continue  # what is wanted of a trap is how far it leads
                out = Path(scratch) / f"{part}.npz"
                losses = tracing.trace(worker, contender, part, out)
                truth = json.loads((traces / f"{part}.json").read_text())
                with np.load(out) as mine, np.load(traces / f"{part}.npz") as true:
                    measured = compare((losses, dict(mine)), (truth, dict(true)))
                setattr(result, part, measured)
                if part == "long":
                    result.losses = losses
    except WorkerDied as death:
        result.status, result.reason = "failed", death.reason
        return result
    except Unavailable as reason:
        result.reason = str(reason)
        return result
    except Uncanonical as error:
        result.status, result.reason = "refused", str(error)
        return result
    judge(result, tracing.study.certificate.tolerance, deviations)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.certify", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--workload", required=True)
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--reference", action="store_true", help="trace the reference, comes first")
    who.add_argument("--framework", help="hold this framework against the reference")
    parser.add_argument("--log", type=Path, help="also write the progress there")
    arguments = parser.parse_args()
    workload, name = arguments.workload, arguments.framework
    where = f"certificate {workload}: {name or 'the reference'}"
    try:
        folders = Folders(arguments.study)
        plan = load_plan(folders)
        count = sum(c.framework == name for c in plan.contenders) if name else 4
        progress = Progress(count, where, log=arguments.log)
        with progress, machine_lock(progress.note):  # or it would load somebody's contest
            if not name:
                make_reference(plan, workload, folders, progress)
                return 0
            record = certify(plan, workload, name, folders, progress)
            for bad in (r for r in record.rows if r.status in ("refused", "failed")):
                progress.note(f"{bad.name} {bad.status}: {bad.reason}")
        write_json(folders.certificate(workload, name), record)
    except (RecordError, PlanError, OSError) as error:
        print(f"{where}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
