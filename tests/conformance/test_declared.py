"""What is declared to differ, and an optimiser that differs and is not."""

from types import SimpleNamespace

import pytest

from frameworks.contract import Deviation
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from workflows.certify import judge
from workflows.conformance.networks import Basis
from workflows.conformance.rules import certificates
from workflows.conformance.rules.truths import with_mistakes
from workflows.records.schema import CertificateRow, OptimiserRow
from workflows.records.thresholds import REPRODUCES
from workflows.worker.recorded_run import Script, moments

SMALL = {"mlp": {"features": 20, "hidden": [8], "batch": 4}}


@pytest.mark.parametrize("made", ["adam-of-keras", "no-bias-correction"])
def test_any_of_the_declared_mistakes_may_be_made(made):
    script = Script.draw(Basis("mean_squared_error", "adam").dense())
    trainer = CATALOGUE[made].trainer(script.workload, script.weights)
    seen = SimpleNamespace(moments=list(moments(trainer, script)))
    declared = [
        Deviation("optimiser.adam", "another", mistake=mistake)
        for mistake in ("amsgrad", "adam-of-keras", "no-bias-correction", "no such mistake")
    ]
    distance, mistake = min(with_mistakes(script, seen, declared))
    assert mistake == made and distance <= REPRODUCES
    seen.moments = list(moments(OracleTrainer(script.workload, script.weights), script))
    assert min(with_mistakes(script, seen, declared))[0] > REPRODUCES


def test_a_certificate_with_a_refused_optimiser_does_not_hold(examine, monkeypatch):
    pytest.importorskip("torch")
    row = CertificateRow(
        framework="flawed-weights", variant="default", device="cpu", threads=1, status="agrees",
        optimisers={"adam": OptimiserRow(status="refused", reason="loss differs by 1.0e-01"),
                    "momentum": OptimiserRow(status="missing", reason="no such optimiser")},
    )  # fmt: skip
    monkeypatch.setattr(certificates, "examined", lambda *_: row)
    found = certificates.certificate(examine("flawed-weights", workloads=SMALL).subject)
    assert found.status == "broken"
    assert found.seen == "mlp: refused: adam refused: loss differs by 1.0e-01"


@pytest.mark.parametrize(("component", "status"), [("adam", "holds"), ("rmsprop", "broken")])
def test_without_the_reference_the_deviations_of_its_own_optimiser_count(
    examine, monkeypatch, component, status
):
    """Its Adam has another epsilon."""
    deviation = Deviation(f"optimiser.{component}", "another", mistake="epsilon-1e-07")
    described = SimpleNamespace(variants={"default": SimpleNamespace(deviations=[deviation])})
    monkeypatch.setattr(certificates, "versions", lambda _: {})
    monkeypatch.setattr(judge, "framework", lambda _: described)
    found = certificates.certificate(examine("flawed-vocabulary", workloads=SMALL).subject)
    assert found.status == status, found.seen
