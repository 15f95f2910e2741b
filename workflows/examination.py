"""The examination of one contender: everything a certificate compares."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from frameworks.contract import Setting, Unavailable
from frameworks.registry import trapped
from workflows.agreement import Uncanonical, apart, as_timed, compare, declared, judge, judge_other
from workflows.diagnosis import diagnose
from workflows.distance import relative
from workflows.parts import others
from workflows.plan import PlannedContender
from workflows.process import WorkerDied, WorkerProcess
from workflows.records import CertificateRow, OptimiserRow
from workflows.tracing import Reference, Trace, Tracing, arrays

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
        self.trap = trapped(contender)  # all that is wanted of one is how far it leads
        self.deviations = declared(contender, tracing.workload.optimiser.kind)
        self.result = CertificateRow(
            **contender.parts(),
            status="missing",
            reason=contender.missing,
            versions=contender.versions,
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
                file = Path(scratch) / "trace.npz"
                with self.tracing.process(self.contender) as worker:
                    self.workload(worker, file)
                    if not self.trap:
                        self.gradients(worker, file)
                        self.other_optimisers(worker, file)
                if not self.trap:
                    with self.tracing.process(self.contender, "float32") as worker:
                        self.as_timed(worker, file)
                judge(result, self.asked, self.deviations)
                if self.puzzling():
                    self.diagnose(Path(scratch))
        except WorkerDied as death:
            result.status, result.reason = "failed", death.reason
        except Unavailable as reason:
            result.status, result.reason = "missing", str(reason)
        except Uncanonical as error:
            result.status, result.reason = "refused", str(error)
        return result

    def puzzling(self) -> bool:
        """Refused for what shows in float64 too, and not known to be a trap."""
        refused = self.result.status == "refused" and not self.trap
        return refused and self.result.reason != as_timed(self.result, self.asked)

    def diagnose(self, scratch: Path) -> None:
        self.say("diagnosis")
        with self.tracing.process(self.contender) as worker:
            self.result.cause = diagnose(
                worker, self.tracing.workload, self.contender.variant, scratch
            )

    def workload(self, worker: WorkerProcess, file: Path) -> None:
        """The workload itself, long and at full size, with plain SGD where it deviates."""
        names = ["long"] if self.trap else ["long", "full"]
        names += ["substituted", "substituted_full"] if self.deviations else []
        for name in names:
            if name in self.tracing.parts:
                trace = self.trace(worker, name, file)
                setattr(self.result, name, compare(trace, self.reference.trace(name)))
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

    def other_optimisers(self, worker: WorkerProcess, file: Path) -> None:
        """An optimiser that a contender has not, or has wrong, is no reason to refuse a
        workload without it."""
        for kind in others(self.tracing.parts):
            try:
                trace = self.trace(worker, kind, file)
                if not self.reference.file(kind).exists():
                    raise Uncanonical("the reference failed with it")
                run = compare(trace, self.reference.trace(kind))
            except (WorkerDied, Unavailable, Uncanonical) as error:
                row = OptimiserRow(status="failed", reason=str(error))
            else:
                row = judge_other(run, self.asked.tolerance, declared(self.contender, kind))
            self.result.optimisers[kind] = row

    def as_timed(self, worker: WorkerProcess, file: Path) -> None:
        """In the precision that is timed: how exact its gradients are, and its fence."""
        self.say("float32")
        settings = self.tracing.gradients(worker, self.contender, file, settings=True)["settings"]
        self.result.rounding = apart(arrays(file), self.reference.gradients())
        self.result.reduced = reduced(settings, self.contender.device)
        self.result.unfenced = self.tracing.unfenced(worker, self.contender)

    def trace(self, worker: WorkerProcess, name: str, file: Path) -> Trace:
        self.say(f"{name} run")
        return Trace.read(self.tracing.trace(worker, self.contender, name, file), file)


def reduced(settings: dict[str, Setting], device: str) -> str:
    """The reduced precisions that a trainer says it computes products in."""
    flags = [name for name in ("tf32_matmul", "tf32_convolution") if settings.get(name) is True]
    return f"TF32 ({', '.join(flags)})" if flags and device == "gpu" else ""
