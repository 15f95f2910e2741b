"""The examination of one contender: everything that its certificate compares."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from frameworks.contract import Deviation, Setting, Unavailable
from frameworks.formats import FORMATS, TF32
from frameworks.registry import framework, is_pitfall
from frameworks.workloads import Workload
from frameworks.workloads.distance import MIDDLE, astray
from frameworks.workloads.parsing import parse_optimiser
from workflows.certify.as_timed import wrong_as_timed, wrong_float32, wrong_moves, wrong_rounding
from workflows.certify.diagnosis import Diagnosis, examine, undeclared
from workflows.certify.following import Followed, against, turns_off
from workflows.certify.judge import (
    NotComparable,
    compare,
    declared,
    declared_state,
    gradient_distances,
    judge,
    judge_float32,
    judge_optimiser,
    judge_state,
    larger,
    loss_distances,
    require_shapes,
    set_aside,
    wrong_gradients,
)
from workflows.certify.reduced import declare, reduced, require_use, room
from workflows.certify.runs import Reference, Result, Runner, arrays, exact, float32_run, run_with
from workflows.certify.second_look import (
    Moves,
    attainable,
    attainable_first,
    look_again,
    look_at_numpy_in_float32,
    median_moves,
    median_rounding,
)
from workflows.machine import guardian
from workflows.planning.plan import PlannedContender
from workflows.records.schema import CertificateRow, Float64Turns, Measured, OptimiserRow
from workflows.worker.answers import line
from workflows.worker.process import WorkerDied, WorkerProcess, require_space


class Examination:
    """Compares one contender with the results of the reference."""

    def __init__(
        self,
        runner: Runner,
        contender: PlannedContender,
        reference: Reference,
        say: Callable[[str], None],
    ) -> None:
        self.runner, self.contender, self.reference, self.say = runner, contender, reference, say
        self.limits = runner.limits
        # Its certificate only says how far it deviates, and whether it waits for its work.
        self.pitfall = is_pitfall(contender)
        self.deviations = declared(contender, runner.workload.optimiser.kind)
        self.made = self.deviations  # those that its long run follows
        self.state = declared_state(contender, runner.workload)
        variant = framework(contender.framework).variants[contender.variant]
        self.format = FORMATS.get(variant.reduced)
        self.result = CertificateRow(
            **contender.identity(),
            status="missing",
            reason=contender.missing,
            versions=contender.versions,
            timed=variant.timed,
        )
        self.idle: dict[str, float] = {}  # the largest distance of each idle bias, in float64
        self.timed: Result  # in float32
        self.over = bool(contender.missing or reference.failure)
        if reference.failure and not contender.missing:
            self.result.status, self.result.reason = "failed", reference.failure
        self.begun = self.result.model_copy(deep=True)

    def row(self) -> CertificateRow:
        """The certificate."""
        for name in PASSES:
            self.attempt(name)
        return self.result

    def attempt(self, name: str) -> None:
        """Make one of `PASSES`, in their order. After a failure or refusal, make the passes so far
        again in an own process, if another contender may have left something in a shared one."""
        if self.over:
            return
        self.go(name)
        wrong = self.result.status in ("failed", "refused") and not self.pitfall
        if wrong and self.runner.part(self.contender):
            self.say("again, in a process of its own")
            self.begun.at_first = f"{self.result.status}: {self.result.reason}"
            self.result, self.over = self.begun, False
            for each in PASSES[: PASSES.index(name) + 1]:
                if not self.over:
                    self.go(each)

    def go(self, name: str) -> None:
        """A failure on the way becomes the row's reason."""
        result = self.result
        try:
            with tempfile.TemporaryDirectory(dir=guardian.scratch()) as scratch:
                getattr(self, name)(Path(scratch))
            return
        except OSError:  # as of a full disk, which is nobody's fault
            raise
        except WorkerDied as death:
            require_space(death)
            result.status, result.reason = "failed", death.reason
        except Unavailable as reason:
            result.status, result.reason = "missing", str(reason)
        except NotComparable as error:
            result.status, result.reason = "refused", line(str(error))
        except Exception as error:  # numbers of an adapter may break any computation
            result.status, result.reason = "failed", line(f"{type(error).__name__}: {error}")
        self.over = True

    def in_float32(self, scratch: Path) -> None:
        """The pass as it is timed. Without float64, it is the only pass."""
        if self.pitfall:
            return
        file = scratch / "result.npz"
        with self.runner.process(self.contender, "float32") as worker:
            self.timed = self.train_as_timed(worker, file)
        if not framework(self.contender.framework).has_float64(self.contender.device):
            self.result.precision = "float32"
            if self.deviations or self.state:
                raise NotComparable("a deviation is declared, and only float64 can follow one")
            self.over = True
            self.compare_timed(self.timed, self.reference.result("long"))
            self.result.losses, self.result.restarted = self.timed.losses, self.result.again
            self.look_at_float32()
            judge_float32(self.result, self.limits)
            declare(self.result, self.format)

    def in_float64(self, scratch: Path) -> None:
        file = scratch / "result.npz"
        with self.runner.process(self.contender) as worker:
            own = self.train_workload(worker, file)
            if self.pitfall:
                self.result.unfenced = self.runner.unfenced(worker, self.contender)
                self.result.unread = self.runner.unread(worker, self.contender)
            else:
                self.compare_gradients(worker, file)
                if (self.deviations or self.state) and self.fewest_threads:
                    self.say("turns")
                    found = self.runner.train_turns(worker, self.contender)
                    self.result.turns = Float64Turns(**found)
        if not self.pitfall:
            self.compare_timed(self.timed, own)
            self.look_at_float32(file)
            if self.fewest_threads:
                self.try_other_optimisers(scratch)
        self.conclude(scratch)
        if self.result.status == "refused" and not self.pitfall and look_again(self):
            self.conclude(scratch)
        if wrong := turns_off(self.result, self.deviations, self.reference, self.runner):
            self.result.status, self.result.reason = "refused", wrong
        declare(self.result, self.format)

    def look_at_float32(self, file: Path | None = None) -> None:
        """`file` is for training in float64 again, if the framework has it."""
        # Without float64, no other stretches are compared.
        rounding, large = self.limits.rounding, self.runner.large if file else ()
        if file and wrong_moves(self.result, rounding, large):
            self.result.astray = median_moves(self, file)
        if wrong_moves(self.result, rounding, large) or wrong_float32(self.result, rounding):
            look_at_numpy_in_float32(self)

    def conclude(self, scratch: Path) -> None:
        self.result.cause = ""
        judge(self.result, self.limits, self.made, self.runner.large)
        judge_state(self.result, self.limits.tolerance, self.state)
        if not self.pitfall:
            self.compare_miniature(scratch)

    def train_workload(self, worker: WorkerProcess, file: Path) -> Result:
        """Train long, at full size and, if it deviates, with plain SGD. Returns the long run."""
        names = ["long"] if self.pitfall else ["long", "full"]
        names += ["substituted", "substituted_full"] if self.deviations else []
        results: dict[str, Result] = {}
        for name in names:
            if name in self.runner.runs:
                own = self.train(worker, name, file)
                setattr(self.result, name, self.compared(own, name))
                if own.strange and name == "full":
                    raise NotComparable(f"at full size {own.strange} does not start as given")
                if own.changed:
                    raise NotComparable(
                        f"weights() gave {own.changed} as an array that training goes on "
                        "changing: give copies"
                    )
                results |= {name: own} if name in ("long", "full") else {}
        long = results["long"]
        self.result.losses, self.result.restarted = long.losses, restarted(long)
        self.made, self.result.followed = self.followed("long", long, self.deviations)
        if "full" in results and self.runner.follows_full:
            _, self.result.followed_full = self.followed("full", results["full"], self.made)
        return long

    def followed(self, name: str, own: Result, deviations: list[Deviation]) -> Followed:
        """The deviation of the optimiser that a run follows, and how far it is from NumPy's with
        that and of state; None, and all deviations, if the optimiser follows none."""
        run = self.runner.runs[name]
        mistakes = [deviation.mistake for deviation in deviations if deviation.mistake]
        astray = max(self.result.state.values(), default=0.0) > self.limits.tolerance
        if not mistakes and (deviations or not astray):
            return deviations, None
        self.say(f"{name} run in NumPy")
        state = {tensor: one.mistake for tensor, one in self.state.items() if one.mistake}
        place = self.runner.place(run.narrow)
        found, made = against(own, mistakes, state, self.runner.trained(run), place)
        if found:
            set_aside(found, {*self.runner.workload.idle, *self.state} - {*state})
        return [one for one in deviations if one.mistake == made] or deviations, found

    def compare_gradients(self, worker: WorkerProcess, file: Path) -> None:
        self.say("gradients")
        strange = self.runner.gradients(worker, self.contender, file)["strange"]
        if strange and self.as_given:
            raise NotComparable(
                f"{strange} of a new trainer is not as given, now that another was trained in the "
                "same process: do trainers share state?"
            )
        self.result.gradients = gradient_distances(arrays(file), self.reference.gradients())
        if quarters := self.runner.of_quarters(worker, self.contender, file):
            off = gradient_distances(quarters, self.reference.gradients())
            self.result.quarters = max(off.values())
        if wrong_gradients(self.result, self.limits.tolerance):
            self.result.attainable_first = attainable_first(self.runner)

    def try_other_optimisers(self, scratch: Path) -> None:
        """Train with the optimisers that no workload of the study uses.

        If one is missing or wrong, the workload is still certified. Formulas do not depend on
        threads, so the caller tries them with the fewest threads only.
        """
        for kind in self.runner.others:
            deviations = declared(self.contender, kind)
            try:
                run, followed = self.trained_again_with(kind, scratch / "result.npz")
                row = judge_optimiser(run, self.limits.tolerance, *followed)
                workload = replace(self.runner.workload, optimiser=parse_optimiser(exact(kind)))
                self.explain_optimiser(row, deviations, workload, scratch)
            except Unavailable as reason:
                row = OptimiserRow(status="missing", reason=str(reason))
            except (WorkerDied, NotComparable) as error:
                row = OptimiserRow(status="failed", reason=line(str(error)))
            self.result.optimisers[kind] = row

    def trained_again_with(self, kind: str, file: Path) -> tuple[Measured, Followed]:
        """Try twice if the process ends, which need not be the optimiser's fault."""
        try:
            return self.trained_with(kind, file)
        except WorkerDied as death:
            if not death.ended:
                raise
            return self.trained_with(kind, file)

    def trained_with(self, kind: str, file: Path) -> tuple[Measured, Followed]:
        """The long run with another optimiser, and how far it is from NumPy's with its mistake."""
        name, deviations = run_with(kind), declared(self.contender, kind)
        if name == "substituted" and self.result.substituted:
            return self.result.substituted, (deviations, None)
        with self.runner.process(self.contender) as worker:
            own = self.train(worker, name, file)
        if not self.reference.has(name):
            raise Unavailable("the reference has no result with it to compare with")
        return self.compared(own, name), self.followed(name, own, deviations)

    def explain_optimiser(
        self, row: OptimiserRow, deviations: list[Deviation], workload: Workload, scratch: Path
    ) -> None:
        """Say why the optimiser was refused; refuse it if it is not what was declared."""
        if row.status == "agrees":
            return
        found = self.miniature(workload, scratch, deviations)
        if row.status == "refused":
            row.reason = f"{row.reason}; {found.cause(deviations, row.reason)}"
        elif undeclared(found, deviations, workload):
            row.status, row.reason = "refused", f"not what is declared: {found.text}"

    def train_as_timed(self, worker: WorkerProcess, file: Path) -> Result:
        """Train in the precision that is timed, and probe gradients and the fence."""
        self.say("float32")
        run = float32_run(self.runner.runs)
        own = Result.read(self.runner.train(worker, self.contender, run, file), file)
        require_shapes(own.weights[run.steps], self.reference.result("long").weights[0])
        self.compare_rounding(worker, file)
        return own

    def compare_rounding(self, worker: WorkerProcess, file: Path) -> None:
        """How exact gradients are in float32, and whether the fence waits."""
        answer = self.runner.gradients(worker, self.contender, file, settings=True)
        self.result.rounding = gradient_distances(arrays(file), self.reference.gradients())
        self.find_format(worker, answer["settings"])
        self.result.unfenced = self.runner.unfenced(worker, self.contender)
        if wrong_rounding(self.result, self.limits.rounding):
            self.result.rounding = median_rounding(self, worker, file)
            self.result.attainable = attainable(self.runner)

    def find_format(self, worker: WorkerProcess, settings: dict[str, Setting]) -> None:
        """Which reduced precision its products are in, and what it may cost. The probes must see
        that a variant in a reduced precision uses it."""
        named = reduced(settings, self.contender.device)
        if found := self.format or (TF32 if named else None):
            self.result.reduced = named or found.title
            self.result.room = room(found, self.runner.workload)
        if self.format:
            answers = worker.ask("behaviour", variant=self.contender.variant)["settings"]
            require_use(self.format, self.runner.workload, answers)

    def compare_timed(self, own: Result, exact: Result) -> None:
        """Compare a float32 run with the same steps in float64, and with itself after a restart."""
        self.result.astray = self.moves(own, exact)
        if own.strange and self.as_given:
            raise NotComparable(f"in float32 {own.strange} does not start as given")
        self.result.float32 = loss_distances(own.losses, exact.losses)
        self.result.again = restarted(own)

    def moves(self, own: Result, exact: Result, rest: float = MIDDLE) -> Moves:
        """How far weights after each step are from `exact`, which has those before training.
        `rest` as in `astray`. In its own float64 its state deviates, too."""
        aside = self.runner.workload.idle
        found: Moves = {}
        for step, weights in own.weights.items():
            right = {n: w for n, w in exact.weights[step].items() if n not in aside}
            found[step] = {**astray(weights, right, exact.weights[0], step, rest)}
        return found

    @property
    def fewest_threads(self) -> bool:
        return self.contender.threads == self.runner.fewest_threads(self.contender)

    @property
    def as_given(self) -> bool:
        """Whether the float64 run, if there is one, started from the weights that were given."""
        return not self.result.long or not max(self.result.long.weights[0].values())

    def compare_miniature(self, scratch: Path) -> None:
        """Compare a miniature, which has other targets, with plain NumPy, and name its mistake."""
        result, refused = self.result, self.result.status == "refused"
        if refused and result.reason == wrong_as_timed(result, self.limits, self.runner.large):
            return  # a miniature in float64 cannot explain what only float32 shows
        found = self.miniature(self.runner.workload, scratch, self.deviations)
        if refused:
            result.cause = found.cause(self.deviations, result.reason)
        elif result.status == "declared" and self.deviations:
            if undeclared(found, self.deviations, self.runner.workload):
                result.status, result.reason = "refused", f"not what is declared: {found.text}"
        elif found.makes(self.deviations):
            return  # what is declared, which this network need not show
        elif result.status in ("agrees", "declared") and (found.mistakes or found.wrong):
            result.status, result.reason = "refused", found.text

    def miniature(self, workload: Workload, scratch: Path, own: list[Deviation]) -> Diagnosis:
        self.say("miniature")
        try:
            with self.runner.process(self.contender) as worker:
                return examine(worker, workload, self.contender.variant, scratch, self.state, own)
        except (WorkerDied, Unavailable) as failure:
            if isinstance(failure, WorkerDied) and failure.ended:
                raise
            return Diagnosis(f"no miniature of it was trained: {failure}", trained=False)

    def compared(self, own: Result, name: str) -> Measured:
        """The distances from the reference. State that is declared to deviate is in the row."""
        found = compare(own, self.reference.result(name))
        self.idle = larger(self.idle, set_aside(found, self.runner.workload.idle))
        off = set_aside(found, self.state)
        # If the optimiser deviates, so does all state.
        alike = {"substituted", "substituted_full", *(() if self.deviations else ("long", "full"))}
        if name in alike:
            self.result.state = larger(self.result.state, off)
        return found

    def train(self, worker: WorkerProcess, name: str, file: Path) -> Result:
        self.say(f"{name} run")
        run = self.runner.runs[name]
        return Result.read(self.runner.train(worker, self.contender, run, file), file)


# All contenders' first passes come first: what an adapter learns from a proof in float64 cannot
# help it in float32.
PASSES = ("in_float32", "in_float64")


def restarted(result: Result) -> list[float]:
    """The relative distance of each loss after a restart from the same step's loss before it."""
    return loss_distances(result.again, result.losses)
