"""A framework without float64 gets a certificate that claims less, and says so."""

import pytest

SMALL = {"mlp": {"features": 20, "hidden": [8], "batch": 4}}


def test_its_certificate_says_what_it_claims(examine):
    pytest.importorskip("torch")
    examined = examine("flawed-float32", workloads=SMALL)
    assert "float32 only, as declared" in examined.finding("precision").seen
    assert "in float32" in examined.finding("vocabulary").seen
    found = examined.finding("certificate")
    assert found.status == "holds"
    assert "mlp: agrees" in found.seen and "in float32 only, since it has no float64" in found.seen
    assert "losses of 10 steps to 1e-03" in found.seen


def test_it_can_declare_no_deviation(examine):
    """Nothing in float32 would say whether the deviation is the one that it declares."""
    pytest.importorskip("torch")
    found = examine("flawed-float32-declared", workloads=SMALL).finding("certificate")
    assert found.status == "broken"
    assert "refused: a deviation is declared, and only float64 can follow one" in found.seen
