"""What bringing numbers to a GPU changes, with planted times."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from analysis.data.reading import read
from analysis.findings.findings import Findings
from analysis.findings.speed.transferred import (
    BROUGHT,
    COPIED,
    CROSSOVER,
    FILLED,
    FILLED_AND_BROUGHT,
    MOVED,
    NO_CROSSOVER,
    RESIDENT,
    TRANSFERRED,
    VECTOR,
    TransferredLine,
)
from tests.analysis.recipe import Recipe
from tests.conftest import ROOT

Found = Callable[[Recipe], Findings]
SIZES = [16, 32, 64, 128, 256]
NAMES = tuple(f"mlp-{size}" for size in SIZES)
# On a processor each size takes 30 ms. A GPU takes 30 ms at 32, less above, and 15 ms at 64; so it
# takes 30 ms at 64 if bringing a mini-batch there takes 15 ms more.
SWEEP = Recipe(
    workloads=NAMES,
    frameworks=("pytorch",),
    variants=("default",),
    threads=(1,),
    together=True,
    process_sd=0.01,
    on_gpu={name: 32 / size for name, size in zip(NAMES, SIZES, strict=True)},
    to_gpu_ms=15.0,
    sweeps={"mlp": {"sizes": {"features": SIZES}}},
)
VECTORS = replace(
    SWEEP, workloads=("copy", "fill"), on_gpu={"copy": 0.1, "fill": 0.1}, sweeps={}, to_gpu_ms=120.0
)


def along(found: Findings, axis: str) -> list[TransferredLine]:
    return [row for row in TRANSFERRED.of(found) if row.axis == axis]


def ratios(rows: Sequence[TransferredLine]) -> list[float | None]:
    return [row.estimate.ratio for row in rows]


@pytest.fixture(scope="module")
def own(found: Found) -> Findings:
    return found(SWEEP)


def test_a_step_is_compared_with_and_without_transfer(own: Findings) -> None:
    alone, both = along(own, RESIDENT), along(own, MOVED)
    assert ratios(alone) == pytest.approx([2, 1, 0.5, 0.25, 0.125], rel=0.05)
    assert ratios(both) == pytest.approx([2.5, 1.5, 1, 0.75, 0.625], rel=0.05)
    assert {(row.id.device, row.one, row.against) for row in (*alone, *both)} == {
        ("gpu", "gpu", "cpu")
    }
    assert all(row.certificate and row.estimate.ratio_low for row in (*alone, *both))


def test_transfer_moves_the_size_from_which_a_gpu_is_faster(own: Findings) -> None:
    (row,) = along(own, CROSSOVER)
    low, high = row.estimate.ratio_low, row.estimate.ratio_high
    assert row.id.workload == "mlp" and row.certificate and low and high
    assert row.estimate.ratio == pytest.approx(2, rel=0.1)
    assert low < 2 < high and row.estimate.verdict == "slower"


def test_a_curve_that_does_not_cross_has_no_ratio(found: Found) -> None:
    (row,) = along(found(replace(SWEEP, on_gpu=dict.fromkeys(NAMES, 0.2))), CROSSOVER)
    assert (row.estimate.ratio, row.reason) == (None, NO_CROSSOVER)


def test_a_refused_pair_has_no_ratio(found: Found) -> None:
    refused = found(replace(SWEEP, refused=("pytorch/default/gpu/1",)))
    rows = along(refused, RESIDENT)
    assert {row.estimate.verdict for row in rows} == {"refused"}
    assert not any(row.certificate or row.estimate.ratio for row in rows)
    assert all("refused" in row.reason for row in rows) and not along(refused, CROSSOVER)


def test_a_vector_is_made_on_the_gpu_or_brought_there(found: Found) -> None:
    """30 ms on a processor, 3 ms on the GPU, and 120 ms for bringing two vectors."""
    copied, filled = along(found(VECTORS), VECTOR)
    assert (copied.one, copied.against) == (COPIED, BROUGHT)
    assert copied.estimate.ratio == pytest.approx(3 / 60, rel=0.05)
    assert (filled.one, filled.against) == (FILLED, FILLED_AND_BROUGHT)
    assert filled.estimate.ratio == pytest.approx(3 / 90, rel=0.05)


def test_a_study_without_a_gpu_has_no_row(findings: Findings) -> None:
    assert TRANSFERRED.of(findings) == []


def test_with_transfer_a_network_is_compared_as_in_pairs() -> None:
    (folder,) = (ROOT / "reports" / "gpu" / "machines").iterdir()
    found = Findings(read(folder))
    pairs = [row.estimate.ratio for row in found.pairs if row.axis == "device"]
    assert ratios(along(found, MOVED)) == pytest.approx(pairs, rel=0.05)
    assert all(
        alone < both
        for alone, both in zip(
            ratios(along(found, RESIDENT)), ratios(along(found, MOVED)), strict=True
        )
        if alone and both
    )
