"""The coordinator believes no answer that a record could not hold. The worker has converted it, but
an adapter shares the worker's process."""

import math

import pytest

from workflows.worker.answers import Improper, checked
from workflows.worker.training import SAMPLED


@pytest.mark.parametrize("value", [math.nan, -math.inf, 2**70, ["a list"], "x" * 30_000])
def test_settings_are_what_a_record_holds(value):
    given = {"stated": [], "settings": {"denormals": True, "precision": "float32"}, "cores": [0]}
    assert checked("settings", given) == given
    odd = {**given, "settings": {"denormals": value}}
    if isinstance(value, str):  # which is cut
        assert len(checked("settings", odd)["settings"]["denormals"]) <= 2000
        return
    with pytest.raises(Improper, match="answers 'settings' with settings"):
        checked("settings", odd)


def test_weights_after_a_turn_are_a_sample():
    given = {"weights": {"dense1.kernel": [0.5] * SAMPLED}, "late_s": 0.0}
    assert checked("weights", given) == given
    more = {**given, "weights": {"dense1.kernel": [0.5] * (SAMPLED + 1)}}
    with pytest.raises(Improper, match=r"with weights\.dense1\.kernel"):
        checked("weights", more)
