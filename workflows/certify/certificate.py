"""The examination of one contender: everything a certificate compares."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from frameworks.contract import Deviation, Setting, Unavailable
from frameworks.device import DEVICES
from frameworks.registry import framework, is_pitfall
from frameworks.workloads import Workload
from frameworks.workloads.distance import relative
from frameworks.workloads.parsing import parse_optimiser
from workflows.certify.diagnosis import Diagnosis, examine
from workflows.certify.judge import (
    Uncanonical,
    apart,
    as_timed,
    compare,
    declared,
    judge,
    judge_other,
    judge_single,
    require_shapes,
    rounded,
)
from workflows.certify.runs import PROVEN, others, timed_part
from workflows.certify.tracing import Reference, Trace, Tracing, arrays
from workflows.planning.plan import PlannedContender
from workflows.records.schema import CertificateRow, OptimiserRow
from workflows.worker.process import WorkerDied, WorkerProcess

OTHER_BATCHES = (1, 2)  # looked at where the first mini-batch's float32 gradients are far off
FAILED = "failed.txt"  # in the place of the reference's traces: why there are none


class Examination:
    """Holds one contender against the reference's traces."""

    def __init__(
        self,
        tracing: Tracing,
        contender: PlannedContender,
        reference: Reference,
        say: Callable[[str], None],
    ) -> None:
        self.tracing, self.contender, self.reference, self.say = tracing, contender, reference, say
        self.asked = tracing.study.certificate
        self.pitfall = is_pitfall(contender)  # its certificate only says how far it deviates
        self.deviations = declared(contender, tracing.workload.optimiser.kind)
        self.result = CertificateRow(
            **contender.parts(),
            status="missing",
            reason=contender.missing,
            versions=contender.versions,
            timed=framework(contender.framework).variants[contender.variant].timed,
        )

    def row(self) -> CertificateRow:
        """The certificate; what goes wrong on the way is a row with its reason."""
        result = self.result
        if self.contender.missing:
            return result
        if (self.reference.folder / FAILED).exists():
            result.status, result.reason = "failed", (self.reference.folder / FAILED).read_text()
            return result
        try:
            with tempfile.TemporaryDirectory() as scratch:
                self.compare(Path(scratch))
        except WorkerDied as death:
            result.status, result.reason = "failed", death.reason
        except Unavailable as reason:
            result.status, result.reason = "missing", str(reason)
        except Uncanonical as error:
            result.status, result.reason = "refused", str(error)
        except Exception as error:  # somebody else's answers, of whatever kind
            result.status, result.reason = "failed", f"{type(error).__name__}: {error}"
        return result

    def compare(self, scratch: Path) -> None:
        file = scratch / "trace.npz"
        if "float64" not in framework(self.contender.framework).precisions and not self.pitfall:
            return self.single(file)
        with self.tracing.process(self.contender) as worker:
            self.own_optimiser(worker, file)
            if not self.pitfall:
                self.gradients(worker, file)
        if not self.pitfall:
            if self.contender.threads == self.tracing.fewest(self.contender):
                self.other_optimisers(scratch)
            with self.tracing.process(self.contender, "float32") as worker:
                self.as_timed(worker, file)
        judge(self.result, self.asked, self.deviations)
        if not self.pitfall:
            self.record_run(scratch)
        return None

    def single(self, file: Path) -> None:
        """Without float64: what float32 shows, against the reference's float64."""
        self.result.precision = "float32"
        self.result.losses = self.reference.trace("long").losses
        with self.tracing.process(self.contender, "float32") as worker:
            trace = self.as_timed(worker, file)
        self.result.losses = trace.losses
        require_shapes(trace.weights[len(trace.losses)], self.reference.trace("long").weights[0])
        again = zip(trace.again, trace.losses, strict=False)
        self.result.restarted = [relative(a, b) for a, b in again]
        if trace.strange:
            raise Uncanonical(f"{trace.strange} does not start as given")
        judge_single(self.result, self.asked)

    def own_optimiser(self, worker: WorkerProcess, file: Path) -> None:
        """The workload itself, long and at full size, with plain SGD where it deviates."""
        names = ["long"] if self.pitfall else ["long", "full"]
        names += ["substituted", "substituted_full"] if self.deviations else []
        for name in names:
            if name in self.tracing.parts:
                trace = self.trace(worker, name, file)
                setattr(self.result, name, compare(trace, self.reference.trace(name)))
                if trace.strange and name == "full":
                    raise Uncanonical(f"at full size {trace.strange} does not start as given")
                if trace.changed:
                    raise Uncanonical(
                        f"weights() gave {trace.changed} as an array that training goes on "
                        "changing: give copies"
                    )
                if name == "long":
                    self.result.losses = trace.losses
                    again = zip(trace.again, trace.losses, strict=False)
                    self.result.restarted = [relative(a, b) for a, b in again]

    def gradients(self, worker: WorkerProcess, file: Path) -> None:
        self.say("gradients")
        strange = self.tracing.gradients(worker, self.contender, file)["strange"]
        as_given = self.result.long and not max(self.result.long.weights[0].values())
        if strange and as_given:
            raise Uncanonical(
                f"{strange} of a new trainer is not as given, now that another was trained in the "
                "same process: do trainers share state?"
            )
        self.result.gradients = apart(arrays(file), self.reference.gradients())

    def other_optimisers(self, scratch: Path) -> None:
        """An optimiser that a contender has not, or has wrong, is no reason to refuse a
        workload without it. A matter of formulas, so on the fewest threads alone."""
        for kind in others(self.tracing.parts):
            deviations = declared(self.contender, kind)
            try:
                with self.tracing.process(self.contender) as worker:
                    trace = self.trace(worker, kind, scratch / "trace.npz")
                if not self.reference.has(kind):
                    raise Uncanonical("the reference failed with it")
                run = compare(trace, self.reference.trace(kind))
            except (WorkerDied, Unavailable, Uncanonical) as error:
                row = OptimiserRow(status="failed", reason=str(error))
            else:
                row = judge_other(run, self.asked.tolerance, deviations)
                optimiser = parse_optimiser({kind: PROVEN[kind]})
                self.explain(row, deviations, scratch, optimiser=optimiser)
            self.result.optimisers[kind] = row

    def explain(
        self, row: OptimiserRow, deviations: list[Deviation], scratch: Path, **changed: object
    ) -> None:
        """Why another optimiser was refused, or whether it is what was declared."""
        if row.status == "agrees":
            return
        found = self.miniature(replace(self.tracing.workload, **changed), scratch)  # type: ignore[arg-type]
        if row.status == "refused":
            row.reason = f"{row.reason}; {found.text}"
        elif undeclared(found, deviations):
            row.status, row.reason = "refused", f"not what is declared: {found.text}"

    def as_timed(self, worker: WorkerProcess, file: Path) -> Trace:
        """In the precision that is timed: how exact its gradients and losses are, its fence."""
        self.say("float32")
        answer = self.tracing.gradients(worker, self.contender, file, settings=True)
        self.result.rounding = apart(arrays(file), self.reference.gradients())
        self.result.reduced = reduced(answer["settings"], self.contender.device)
        part = timed_part(self.tracing.parts)
        trace = Trace.read(self.tracing.trace(worker, self.contender, part, file), file)
        losses = zip(trace.losses, self.result.losses, strict=False)
        self.result.float32 = [relative(a, b) for a, b in losses]
        self.result.unfenced = self.tracing.unfenced(worker, self.contender)
        if rounded(self.result, self.asked.rounding):
            self.result.rounding = self.usual_rounding(worker, file)
        return trace

    def usual_rounding(self, worker: WorkerProcess, file: Path) -> dict[str, float]:
        """The median over three mini-batches: in one, a single sample whose ReLU or max-pooling
        is undecided moves whole gradients, in whatever precision that is not exact. Comes last,
        as the reference may share the process."""
        own, found, reference = [], [self.result.rounding], self.tracing.plan.reference
        for batch in OTHER_BATCHES:
            self.tracing.gradients(worker, self.contender, file, batch=batch)
            own.append(arrays(file))
        with self.tracing.process(reference) as another:
            for batch, gradients in zip(OTHER_BATCHES, own, strict=True):
                self.tracing.gradients(another, reference, file, batch=batch)
                found.append(apart(gradients, arrays(file)))
        return {name: float(np.median([one[name] for one in found])) for name in found[0]}

    def record_run(self, scratch: Path) -> None:
        """A miniature against plain NumPy: it has other targets, does not hang on the
        reference, and knows which mistake would look like this."""
        result, refused = self.result, self.result.status == "refused"
        if refused and result.reason == as_timed(result, self.asked):
            return  # what float32 alone shows, no miniature in float64 explains
        found = self.miniature(self.tracing.workload, scratch)
        if refused:
            result.cause = found.text
        elif result.status == "declared" and undeclared(found, self.deviations):
            result.status, result.reason = "refused", f"not what is declared: {found.text}"
        elif result.status == "agrees" and (found.mistakes or found.first_loss_wrong):
            result.status, result.reason = "refused", found.text

    def miniature(self, workload: Workload, scratch: Path) -> Diagnosis:
        self.say("miniature")
        try:
            with self.tracing.process(self.contender) as worker:
                return examine(worker, workload, self.contender.variant, scratch)
        except (WorkerDied, Unavailable) as failure:
            return Diagnosis(f"no miniature of it was trained: {failure}", trained=False)

    def trace(self, worker: WorkerProcess, name: str, file: Path) -> Trace:
        self.say(f"{name} run")
        answer = self.tracing.trace(worker, self.contender, self.tracing.parts[name], file)
        return Trace.read(answer, file)


def undeclared(found: Diagnosis, deviations: list[Deviation]) -> bool:
    """Whether a miniature trains otherwise than what was declared says."""
    mistakes = {deviation.mistake for deviation in deviations} - {""}
    return bool(mistakes) and found.trained and not mistakes & {*found.mistakes}


def reduced(settings: dict[str, Setting], device: str) -> str:
    """The reduced precision that a trainer's settings name for its products, "" for none."""
    flags = [name for name in ("tf32_matmul", "tf32_convolution") if settings.get(name) is True]
    return f"TF32 ({', '.join(flags)})" if flags and DEVICES[device].rounds_to_tf32 else ""
