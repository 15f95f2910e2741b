"""A part of a step is certified by the reference's whole step, and a wrong one is refused."""

import pytest

from tests.workflows.conftest import certified_once, several
from tests.workflows.conftest import rows as certified_rows
from workflows.records.schema import CertificateRow

PARTS = (
    "part-forward", "part-gradient", "part-skipping", "part-updating", "part-late", "part-doubled",
    "part-silent",
)  # fmt: skip


@pytest.fixture(scope="module")
def rows(surroundings, tmp_path_factory) -> dict[str, CertificateRow]:
    limits = {"steps": 10, "optimisers": []}
    return certified_once(tmp_path_factory, "parts", "default", *PARTS, certificate=limits)


def test_a_part_has_the_losses_and_gradients_of_the_whole_step(rows):
    for variant in ("part-forward", "part-gradient"):
        row = rows[variant]
        assert row.status == "agrees", row.reason
        assert len(row.full.loss) == 2 + 4 * 4 and row.full.worst_loss <= 1e-12
        assert row.long.weights[1]["dense1.kernel"] == 0 and row.unfenced <= 0.2
        assert [len(turn) for turn in row.turns.losses] == [2, 4, 4, 4, 4]
        assert row.turns.start == row.turns.weights
        assert row.losses == [] and row.optimisers == {} and row.cause == ""
    assert rows["part-forward"].gradients == {}
    gradients, rounding = rows["part-gradient"].gradients, rows["part-gradient"].rounding
    assert set(gradients) == set(rounding) == set(rows["default"].gradients)
    assert max(gradients.values()) <= 1e-12 < max(rounding.values()) < 1e-5


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("part-skipping", "loss differs by"),
        ("part-updating", "dense1.kernel changed: a part of a step leaves the weights"),
        ("part-late", "at the initial weights, the loss of mini-batch 5 of the turns differs by"),
        ("part-doubled", "first gradient: dense1.bias differs by"),
    ],
)
def test_a_wrong_part_is_refused(rows, variant, words):
    row = rows[variant]
    assert row.status == "refused"
    assert row.reason.startswith(words), row.reason


@pytest.mark.parametrize(("batch", "tried"), [(8, True), (6, False)])
def test_two_workers_gradients_of_both_halves_are_averaged(study, monkeypatch, batch, tried):
    """Abacus has no such variant; any other will do."""
    monkeypatch.setattr("workflows.certify.runs.TWO_WORKERS", "kept")
    mlp = {"features": 20, "hidden": [8], "samples": 400, "batch": batch}
    limits = {"steps": 10, "optimisers": []}
    found = certified_rows(study, "kept", workloads={"mlp": mlp}, certificate=limits)
    assert (found["kept"].quarters is not None) == tried
    assert (found["kept"].quarters or 0.0) <= 1e-12 and found["default"].quarters is None


def test_a_part_without_gradients_is_missing(rows):
    row = rows["part-silent"]
    assert (row.status, row.reason) == ("missing", "AbacusTrainer gives no gradients")


def test_the_reference_is_never_a_part(study):
    made = study(contenders=several("part-forward", "default"))
    assert made.plan.reference.name == "abacus/default/cpu/1"
