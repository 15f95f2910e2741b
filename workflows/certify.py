"""The certificate: does a framework compute what the reference computes, in float64?

`python -m workflows.certify --study FOLDER --workload mlp --framework tensorflow`
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.contract import Deviation
from frameworks.registry import framework
from frameworks.workloads import Weights, narrowed
from workflows.folders import Folders
from workflows.lock import machine_lock
from workflows.plan import Plan, PlanError, PlannedContender, load_plan
from workflows.process import WorkerDied
from workflows.progress import Progress
from workflows.records import CertificateRecord, CertificateRow, Measured
from workflows.storage import RecordError, write_json
from workflows.tracing import Tracing

# Chaos takes over later, so a declared deviation is bounded over the first steps only.
DECLARED_STEPS = 10
FAILED = "failed.txt"

Trace = tuple[list[float], Weights]


def compare(trace: Trace, reference: Trace) -> Measured:
    """How far apart two traces are: the loss step by step and each final tensor by its
    L2 distance, all relative to the reference."""
    losses, weights = trace
    true_losses, true_weights = reference
    return Measured(
        loss=[relative(a, b) for a, b in zip(losses, true_losses, strict=True)],
        weights={name: relative(weights[name], true) for name, true in true_weights.items()},
    )


def relative(value: Any, reference: Any) -> float:
    """L2 distance over the reference's L2 norm; infinite where shapes differ or a value is
    not finite, so that NaN never agrees with anything."""
    if np.shape(value) != np.shape(reference):
        return float("inf")
    distance = float(np.linalg.norm(np.subtract(value, reference)))
    norm = float(np.linalg.norm(reference))
    if not np.isfinite(distance):
        return float("inf")
    return 0.0 if distance == 0 else distance / norm if norm else float("inf")


def judge(row: CertificateRow, tolerance: float, deviations: list[Deviation]) -> None:
    """Set the row's status and reason from what was measured."""
    worst = disagreement(row.long, tolerance) or disagreement(row.full, tolerance, "at full size ")
    if not worst:
        row.status = "agrees"
    elif not deviations:
        row.status, row.reason = "refused", worst
    else:
        row.status, row.reason = (
            "declared",
            "; ".join(f"{deviation.component}: {deviation.reason}" for deviation in deviations),
        )
        bound = min(deviation.loss_within for deviation in deviations)
        runs = [run.loss[:DECLARED_STEPS] for run in (row.long, row.full) if run]
        early = max((max(losses) for losses in runs), default=float("inf"))
        rest = disagreement(row.substituted, tolerance, "with plain SGD ") or disagreement(
            row.substituted_full, tolerance, "with plain SGD at full size "
        )
        if rest or early > bound:
            too_far = f"loss off by {early:.1e}, declared {bound:.1e}"
            row.status, row.reason = "refused", rest or f"more than declared: {too_far}"


def disagreement(measured: Measured | None, tolerance: float, where: str = "") -> str:
    """What is wrong, in one line; "" if all is within the tolerance."""
    if measured is None:
        return ""
    for step, error in enumerate(measured.loss, 1):
        if not error <= tolerance:
            return f"{where}loss differs by {error:.1e} at step {step} (allowed {tolerance:.0e})"
    name, error = max(measured.weights.items(), key=lambda item: item[1])
    if not error <= tolerance:
        return f"{where}{name} differs by {error:.1e} at the end (allowed {tolerance:.0e})"
    return ""


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
    except WorkerDied as death:
        progress.note(f"{reference.name} failed: {death.reason}")
        (traces / FAILED).write_text(f"the reference {reference.name} failed: {death.reason}")


def row(tracing: Tracing, contender: PlannedContender, traces: Path) -> CertificateRow:
    """Trace one contender and hold it against the reference."""
    result = CertificateRow(
        **contender.model_dump(include={"framework", "variant", "device", "threads"}),
        status="missing",
        reason=contender.missing,
        versions=contender.versions,
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
    judge(result, tracing.study.certificate.tolerance, deviations)
    return result


def declared(contender: PlannedContender, optimiser: str) -> list[Deviation]:
    variant = framework(contender.framework).variants[contender.variant]
    return [d for d in variant.deviations if d.component == f"optimiser.{optimiser}"]


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
