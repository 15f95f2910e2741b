"""Every mistake of the catalogue, made on purpose, is named, and no other mistake is."""

from functools import cache
from itertools import islice

import numpy as np
import pytest

from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE, Mistake
from frameworks.workloads.smaller import miniature
from tests.oracle.in_process import STAGE
from workflows.certify import diagnosis
from workflows.certify.diagnosis import ALL_WELL, explain
from workflows.worker.recorded_run import AGAIN, STEPS, RecordedRun, Script, moments, perform

TRAINER = Mistake.trainer


class Run:
    """A mistake's moments on a stage, computed once and only as far as they are needed."""

    def __init__(self, name: str, script: Script) -> None:
        trainer = TRAINER(CATALOGUE[name], script.workload, script.weights)
        self.seen, self.fits = [], trainer is not None
        self.more = moments(trainer, script) if trainer else iter(())

    def __iter__(self):
        for number in range(STEPS + AGAIN + 1):
            if number == len(self.seen):
                with np.errstate(all="ignore"):
                    self.seen += islice(self.more, 1)
            yield self.seen[number]

    def whole(self):
        try:
            return list(self) if self.fits else None
        except ValueError:  # shapes that do not fit
            return None


@cache
def script(stage: str) -> Script:
    return Script.draw(miniature(STAGE[stage]))


@cache
def truth(stage: str) -> RecordedRun:
    return perform(OracleTrainer, script(stage))


@cache
def run(name: str, stage: str) -> Run:
    return Run(name, script(stage))


@pytest.fixture
def diagnosed(monkeypatch):
    """The diagnosis of a run on a stage. Each mistake's run is made once for all tests."""

    def diagnose(seen, stage):
        def remembered(mistake, *given):
            made = run(mistake.name, stage)
            return made if made.fits else None

        monkeypatch.setattr(Mistake, "trainer", remembered)
        monkeypatch.setattr(diagnosis, "moments", lambda made, script: made)
        monkeypatch.setattr(diagnosis, "perform", lambda make, script: truth(stage))
        return explain(script(stage), RecordedRun(seen, {})).text

    return diagnose


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_is_named_and_no_other(name, diagnosed):
    mistake = CATALOGUE[name]
    answers = {}
    for stage in STAGE:
        if seen := run(name, stage).whole():
            answers[stage] = diagnosed(seen, stage)
            if answers[stage].endswith(f" exactly like one that {mistake.says}: {mistake.mend}"):
                return
    pytest.fail(f"{name} is not named, or not alone: {answers}")


@pytest.mark.parametrize("stage", STAGE)
def test_the_truth_makes_none(stage):
    assert explain(script(stage), perform(OracleTrainer, script(stage))).text == ALL_WELL


def test_each_has_words_of_its_own():
    assert len({mistake.says for mistake in CATALOGUE.values()}) == len(CATALOGUE) >= 40
    for mistake in CATALOGUE.values():
        assert mistake.says[-1] != "." and mistake.mend.endswith("."), mistake.name
