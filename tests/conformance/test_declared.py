"""What is declared to differ, and an optimiser that differs and is not."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from frameworks.contract import Deviation, Variant
from frameworks.oracle import OracleTrainer
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.registry import framework
from frameworks.workloads import load
from workflows.certify import judge
from workflows.certify.as_timed import wrong_fence
from workflows.certify.runs import FAILED, Reference
from workflows.conformance.networks import Basis
from workflows.conformance.rules import certificates
from workflows.conformance.rules.description import oddities
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


def test_a_certificate_that_is_refused_for_the_fence_says_how_to_mend_the_fence(
    examine, monkeypatch
):
    """The rule about the fence may hold, because it has another network."""
    pytest.importorskip("torch")
    row = CertificateRow(framework="flawed-weights", variant="default", device="cpu", threads=1,
                         status="refused", unfenced=0.9)  # fmt: skip
    row.reason = wrong_fence(row)
    monkeypatch.setattr(certificates, "examined", lambda *_: row)
    found = certificates.certificate(examine("flawed-weights", workloads=SMALL).subject)
    assert found.mend.startswith("mlp: the fence: wait in synchronise()")


def test_a_quick_certificate_holds_a_deviation_of_another_optimiser_to_its_bound(
    examine, monkeypatch
):
    pytest.importorskip("torch")
    variants = framework("abacus").variants
    small = replace(variants["rounded"].deviations[0], loss_within=0.0)
    monkeypatch.setitem(variants, "rounded", replace(variants["rounded"], deviations=(small,)))
    mlp = {"mlp": {**SMALL["mlp"], "optimiser": "sgd"}}
    found = certificates.certificate(examine("abacus", variant="rounded", workloads=mlp).subject)
    assert found.status == "broken"
    assert "adam refused: more than declared: loss off by" in found.seen
    assert found.seen.endswith("declare a loss_within of at least what the loss is off, such as "
                               "twice that")  # fmt: skip
    asked = certificates.configured(examine("abacus", workloads=mlp).subject, "pytorch")
    assert asked.other_optimisers("mlp") == []


@pytest.mark.parametrize(
    ("component", "mistake", "words"),
    [
        ("optimiser.rmsprob", "rmsprop-centred", "'optimiser.rmsprob', did you mean 'optimiser.rm"),
        ("state.batch_norm.varianse", "", ", state.batch_norm.variance may deviate"),
        ("optimiser.rmsprop", "nesterov", "'nesterov', which is none of optimiser.rmsprop; it may"),
        ("optimiser.adam", "amsgrat", "none of optimiser.adam, did you mean 'amsgrad'?"),
        ("optimiser.adam", "amsgrad", ""),
        ("state.batch_norm.variance", "batch-norm-running-variance-biased", ""),
    ],
)
def test_a_deviation_has_a_component_and_a_mistake_that_fit(abacus, component, mistake, words):
    own = Variant("a", deviations=(Deviation(component, "another", mistake=mistake),))
    found = [*oddities(replace(framework("abacus"), variants={"default": own}))]
    assert len(found) == bool(words) and words in "".join(found)


@pytest.mark.parametrize(("component", "status"), [("adam", "holds"), ("rmsprop", "broken")])
def test_with_nothing_else_here_it_is_its_own_reference_with_what_it_declares(
    examine, monkeypatch, component, status
):
    """Its Adam has another epsilon."""
    deviation = Deviation(f"optimiser.{component}", "another", mistake="epsilon-1e-07")
    described = SimpleNamespace(variants={"default": SimpleNamespace(deviations=[deviation])})
    monkeypatch.setattr(certificates, "versions", lambda _: {})
    monkeypatch.setattr(judge, "framework", lambda _: described)
    found = certificates.certificate(examine("flawed-vocabulary", workloads=SMALL).subject)
    assert found.status == status, found.seen
    assert ("steps of its own, and a miniature of it in plain NumPy" in found.seen) == (
        status == "holds"
    )


@pytest.mark.parametrize(
    ("own", "here", "expected"),
    [
        ("abacus", ("jax", "pytorch", "tensorflow"), "pytorch tensorflow jax abacus"),
        ("abacus", ("jax",), "jax abacus"),
        ("pytorch", ("jax", "pytorch"), "pytorch jax"),
        ("jax", ("jax", "tensorflow"), "tensorflow jax"),
        ("jax", ("jax",), "jax"),
        ("flawed-float32", ("pytorch",), "pytorch"),
        ("flawed-float32", (), ""),
    ],
)
def test_another_framework_is_the_reference_if_one_is_here(
    monkeypatch, abacus, examine, own, here, expected
):
    monkeypatch.setattr(certificates, "versions", lambda described: described.name in here)
    subject, workload = examine(own).subject, load("mlp", SMALL["mlp"])
    assert " ".join(certificates.references(subject, workload)) == expected


def test_a_reference_that_cannot_build_the_workload_makes_room_for_the_next(examine, monkeypatch):
    real = certificates.make_reference

    def without_pytorch(plan, name, folders, progress):
        real(plan, name, folders, progress)
        if plan.reference.framework == "pytorch":
            Reference(folders.reference(name)).folder.joinpath(FAILED).write_text(
                "pytorch failed: no such layer"
            )

    monkeypatch.setattr(certificates, "make_reference", without_pytorch)
    monkeypatch.setattr(certificates, "REFERENCES", ("pytorch",))
    found = certificates.certificate(examine("abacus", workloads=SMALL).subject)
    assert found.status == "holds" and "steps of its own" in found.seen
    assert found.seen.endswith("; pytorch cannot be compared with: no such layer")
