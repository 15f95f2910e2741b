"""Every mistake of the catalogue, made on purpose, is named, and no other mistake is."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE, Mistake
from frameworks.tensorflow import DEVIATIONS
from frameworks.workloads.optimisers import OPTIMISERS, SGD
from frameworks.workloads.smaller import miniature
from tests.conftest import ROOT
from tests.oracle.in_process import STAGE
from workflows.certify import diagnosis
from workflows.certify.diagnosis import ALL_WELL, VAST, explain
from workflows.certify.judge import names as possible
from workflows.worker.recorded_run import Moment, RecordedRun, Script, moments, perform

TRAINER = Mistake.trainer


@cache
def script(stage: str) -> Script:
    return Script.draw(miniature(STAGE[stage]))


@cache
def truth(stage: str) -> RecordedRun:
    return perform(OracleTrainer, script(stage))


@cache
def run(name: str, stage: str) -> list[Moment] | None:
    """The run of a mistake, None if the mistake does not fit the stage."""
    trainer = TRAINER(CATALOGUE[name], script(stage).workload, script(stage).weights)
    try:
        with np.errstate(all="ignore"):
            return list(moments(trainer, script(stage))) if trainer else None
    except ValueError:  # shapes that do not fit
        return None


@pytest.fixture
def diagnosed(monkeypatch):
    """The diagnosis of a run on a stage. Each mistake's run is made once for all tests."""

    def diagnose(seen, stage):
        monkeypatch.setattr(Mistake, "trainer", lambda mistake, *given: run(mistake.name, stage))
        monkeypatch.setattr(diagnosis, "moments", lambda made, script: made)
        monkeypatch.setattr(diagnosis, "perform", lambda make, script: truth(stage))
        return explain(script(stage), RecordedRun(seen, {})).text

    return diagnose


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_is_named_and_no_other(name, diagnosed):
    mistake = CATALOGUE[name]
    answers = {}
    for stage in STAGE:
        if seen := run(name, stage):
            answers[stage] = diagnosed(seen, stage)
            if answers[stage].endswith(f" exactly like one that {mistake.says}: {mistake.mend}"):
                return
    pytest.fail(f"{name} is not named, or not alone: {answers}")


@pytest.mark.parametrize("stage", STAGE)
def test_the_truth_makes_none(stage):
    assert explain(script(stage), perform(OracleTrainer, script(stage))).text == ALL_WELL


def shaken(moment, factor):
    return Moment(moment.loss * factor, {n: w * factor for n, w in moment.weights.items()})


@pytest.mark.parametrize(("rate", "well"), [(0.1, False), (1e5, True)])
def test_numbers_that_overflow_say_nothing(rate, well):
    """From the step on at which plain NumPy's are vast, if the others are not finite, too: sums in
    another order overflow earlier."""
    stage = next(iter(STAGE.values()))
    one = Script.draw(replace(miniature(stage), optimiser=SGD(rate), loss="mean_squared_error"))
    with np.errstate(all="ignore"):
        seen = perform(OracleTrainer, one)
        small = [max(np.abs(w).max() for w in m.weights.values()) < VAST for m in seen.moments]
        assert all(small) != well
        late = small.index(False) if well else 3
        moments = [*seen.moments[:late], *(shaken(m, np.inf) for m in seen.moments[late:])]
    assert (explain(one, replace(seen, moments=moments)).text == ALL_WELL) == well


def test_each_has_words_of_its_own():
    assert len({mistake.says for mistake in CATALOGUE.values()}) == len(CATALOGUE) >= 40
    page = " ".join((ROOT / "docs" / "method.md").read_text().split())
    residual, lstm = (
        sum(name.startswith(kinds) for name in CATALOGUE)
        for kinds in (("residual", "shortcut", "batch-norm"), "lstm")
    )
    assert f"{len(CATALOGUE)} known mistakes, one at a time: {residual} are of residual" in page
    assert f"batch normalisation, and {lstm} of LSTMs." in page
    for mistake in CATALOGUE.values():
        assert mistake.says[-1] != "." and mistake.mend.endswith("."), mistake.name


def test_authors_are_told_the_names_that_there_are() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    listed = page.partition("\nThe names (")[2].split("\n\n")[1]
    by_optimiser = {
        kind: {*re.findall(r"`([a-z0-9.-]+)`", names)}
        for kind, names in re.findall(r"^- (\w+): (.*(?:\n  .*)*)", listed, re.M)
    }
    for kind in OPTIMISERS:
        assert by_optimiser["all"] | by_optimiser.get(kind, set()) == {
            *possible(f"optimiser.{kind}")
        }
    assert by_optimiser.keys() - {"all"} < {*OPTIMISERS}
    optimisers = {one.mistake for one in DEVIATIONS if one.component.startswith("optimiser.")}
    assert optimisers < set().union(*by_optimiser.values()) < {*CATALOGUE}
