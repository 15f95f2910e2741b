"""The certificate: does a framework compute what the reference computes, in float64?

`python -m workflows.certify.stage --study FOLDER --workload mlp --framework tensorflow`
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from operator import methodcaller
from pathlib import Path
from threading import Lock
from typing import Any

from frameworks.contract import Unavailable
from frameworks.registry import part_of
from frameworks.workloads import narrowed
from workflows.certify.certificate import PASSES, Examination
from workflows.certify.diagnosis import examine
from workflows.certify.elementwise import ElementwiseExamination, right_turns
from workflows.certify.judge import declared, declared_state
from workflows.certify.part import PartExamination
from workflows.certify.runs import FAILED, Reference, Runner
from workflows.certify.summary import summary
from workflows.machine.fingerprint import available_cores
from workflows.machine.guardian import interruptible
from workflows.machine.lock import machine_lock
from workflows.output import explained
from workflows.planning import names
from workflows.planning.plan import Plan, PlanError, PlannedContender, load_plan, require_known
from workflows.planning.replicates import certifying
from workflows.planning.todo import CertificatesLeft
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.minutes import timed
from workflows.records.private import without_secrets
from workflows.records.schema import CertificateRecord
from workflows.records.storage import RecordError, write_json
from workflows.records.thresholds import DECLARED_STEPS, FLOAT32_LOSS
from workflows.worker.answers import line
from workflows.worker.process import WorkerDied

APART = 1e10  # FLOP; turns that cost less are not worth the start of another process


def certify(
    plan: Plan, workload: str, name: str, folders: Folders, progress: Progress
) -> CertificateRecord:
    """Certificates of one framework's contenders on one workload, compared with the results that
    `make_reference` has left."""
    study, reference = plan.study, plan.reference
    own = [contender for contender in plan.contenders if contender.framework == name]
    lock, done = Lock(), 0.0

    def say(contender: PlannedContender, text: str) -> None:
        with lock:
            progress.update(done, f"{contender.variant}{names.place(contender)} · {text}")

    with ExitStack() as stack:
        groups = list(side_by_side(own, len(available_cores())))
        most = max(map(len, groups))
        runners = [stack.enter_context(Runner(plan, workload, folders)) for _ in range(most)]
        pool = stack.enter_context(ThreadPoolExecutor())
        reference_runs = Reference(folders.reference(workload))
        examination = examining(plan, workload)
        parts = any(examination(one) is PartExamination for one in own if not one.missing)
        if parts and not reference_runs.failure:
            reference_runs.initial_losses = initial_losses(plan, workload, folders, progress)
        examined = [
            [
                examination(contender)(runner, contender, reference_runs, partial(say, contender))
                for contender, runner in zip(group, runners, strict=False)
            ]
            for group in groups
        ]
        for step in PASSES:
            for group in examined:
                list(pool.map(methodcaller("attempt", step), group))
                done += len(group) / len(PASSES)
        for each in runners:
            each.dismiss()
    runner = runners[0]
    rows = {one.result.name: one.result for group in examined for one in group}
    return CertificateRecord(
        study=study.study,
        machine=plan.machine,
        workload=workload,
        framework=name,
        reference=reference.name,
        tolerance=runner.limits.tolerance,
        rounding=runner.limits.rounding,
        float32_loss=max(FLOAT32_LOSS, runner.limits.rounding),
        declared_steps=DECLARED_STEPS,
        steps=runner.limits.steps,
        full_steps=runner.limits.full_steps if runner.narrow else 0,
        narrowed=runner.narrow,
        parameters=runner.workload.parameters,
        parameters_long=narrowed(runner.workload).parameters,
        turns=None if reference_runs.failure else reference_runs.turns,
        rows=[rows[contender.name] for contender in own],
    )


def examining(plan: Plan, workload: str) -> Callable[[PlannedContender], type[Examination]]:
    """How the contenders on a workload are examined."""
    if plan.study.workload(workload).elementwise:
        return lambda _: ElementwiseExamination
    return lambda contender: PartExamination if part_of(contender) else Examination


def side_by_side(
    contenders: Sequence[PlannedContender], cores: int
) -> Iterator[list[PlannedContender]]:
    """Groups of contenders that are examined at once, because nothing is timed.

    A group has no more contenders than there are cores, and no more than twice as many threads:
    these small networks keep few threads busy. Contenders with few threads come first, and a
    contender on another device is a group by itself.
    """
    group: list[PlannedContender] = []
    for contender in sorted(contenders, key=lambda c: (not c.on_host, c.threads)):
        threads = sum(one.threads for one in [*group, contender])
        full = len(group) == cores or threads > 2 * cores
        if group and (full or not contender.on_host):
            yield group
            group = []
        group.append(contender)
    yield group


def make_reference(plan: Plan, workload: str, folders: Folders, progress: Progress) -> None:
    """Train the reference contender and keep its results. Of a single operation, keep NumPy's.

    If it fails, or is itself wrong, the reason is kept in their place. A process that ends may have
    ended for reasons of the machine, and everybody's certificate needs it: it has another attempt.
    """
    contender = plan.reference
    reference = Reference(folders.reference(workload))
    shutil.rmtree(reference.folder, ignore_errors=True)
    reference.folder.mkdir(parents=True)
    if plan.study.workload(workload).elementwise:
        with Runner(plan, workload, folders) as runner:
            reference.keep("turns", right_turns(runner))
        return
    for last in (False, True):
        try:
            run_reference(plan, workload, folders, progress)
            return
        except OSError:
            raise
        except Exception as failure:  # numbers of an adapter may break any computation
            said = f"{names.contender(contender)} failed: {failure}"
            if not last and isinstance(failure, WorkerDied) and failure.ended:
                progress.note(f"{said}; once more")
                continue
            progress.note(said)
            text = without_secrets(line(f"the reference {contender.name} failed: {failure}"))
            (reference.folder / FAILED).write_text(text, encoding="utf-8")
            return


def run_reference(plan: Plan, workload: str, folders: Folders, progress: Progress) -> None:
    """Train the reference contender, examine it, and keep its results.

    Raises:
        WorkerDied, Unavailable: it fails, or makes a mistake that it does not declare.
    """
    contender, reference = plan.reference, Reference(folders.reference(workload))
    with Runner(plan, workload, folders) as runner, ThreadPoolExecutor(1) as pool:
        beside = None
        if runner.turns_flops > APART:
            beside = pool.submit(reference_turns, plan, workload, folders)
        for number, (name, run) in enumerate(runner.runs.items()):
            progress.update(number, f"{names.contender(contender)} · {name} run")
            try:
                with runner.process(contender) as worker:
                    answer = runner.train(worker, contender, run, reference.file(name))
            except (WorkerDied, Unavailable):
                if name in runner.others:  # it may lack one
                    continue
                raise
            reference.keep(name, answer)
        with runner.process(contender) as worker:
            runner.gradients(worker, contender, reference.file("gradients"))
            state = declared_state(contender, runner.workload)
            found = examine(worker, runner.workload, contender.variant, reference.folder, state)
            turns = beside.result() if beside else runner.train_turns(worker, contender)
            reference.keep("turns", turns)
    known = {deviation.mistake for deviation in declared(contender, runner.kind)}
    if (found.mistakes or found.wrong) and not known & {*found.mistakes}:
        raise WorkerDied(found.text)


def reference_turns(plan: Plan, workload: str, folders: Folders) -> dict[str, Any]:
    """The reference's turns, in another process, on a core that would be idle."""
    with Runner(plan, workload, folders) as runner:
        runner.logs /= "turns"
        with runner.process(plan.reference) as worker:
            return runner.train_turns(worker, plan.reference)


def initial_losses(
    plan: Plan, workload: str, folders: Folders, progress: Progress
) -> list[list[float]]:
    """The reference's losses of the turns' mini-batches at the initial weights, which the losses of
    parts of a step must equal; none if the reference fails."""
    contender = plan.reference
    try:
        with Runner(plan, workload, folders) as runner:
            runner.logs /= "initial"
            with runner.process(contender) as worker:
                progress.update(0.0, f"{names.contender(contender)} · losses of parts")
                return runner.initial_losses(worker, contender)
    except (WorkerDied, Unavailable) as failure:
        progress.note(f"{names.contender(contender)} failed: {failure}")
        return []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.certify.stage", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--workload", required=True)
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--reference", action="store_true", help="train the reference; comes first")
    who.add_argument("--framework", help="compare this framework with the reference")
    parser.add_argument("--log", type=Path, help="also write the progress there")
    arguments = parser.parse_args()
    workload, name = arguments.workload, arguments.framework
    where = f"certificate {workload}: {name or 'the reference'}"
    try:
        folders = Folders(arguments.study)
        plan = load_plan(folders)
        require_known("workload", workload, plan.study.workloads)
        if name:
            require_known("framework", name, {one.framework for one in plan.contenders})
        count = sum(c.framework == name for c in plan.contenders) if name else 8
        left = CertificatesLeft(plan, folders, workload, name)
        progress = Progress(
            count, left.title, log=arguments.log, left_s=left.left_s, left_for="certificates"
        )
        spent = folders.spent(certifying(workload, name))
        # The lock, so that it never runs beside a contest.
        with progress, machine_lock(progress.note), timed(spent):
            if not name:
                make_reference(plan, workload, folders, progress)
                return 0
            record = certify(plan, workload, name, folders, progress)
            for row in record.rows:
                progress.detail(f"{row.name} {row.status}: {row.reason} {row.cause}")
            for text in summary(record.rows, {c.missing for c in plan.contenders}):
                progress.note(text)
        write_json(folders.certificate(workload, name), record)
    except (RecordError, PlanError, OSError) as error:
        print(f"{where}: {explained(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))
