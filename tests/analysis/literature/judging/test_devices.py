"""Claims about a processor and a GPU beside each other."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.literature.judging.claims import Judgement, claims
from analysis.literature.judging.devices import DEVICES
from analysis.literature.page import page
from analysis.literature.studies import MeasuredRatio, Start, StudyTables, Time, read
from tests.analysis.literature.conftest import write_tables
from tests.analysis.literature.judging.test_claims import judged, planted
from tests.analysis.literature.judging.test_rules import row
from tests.conftest import ROOT


def on_gpu(workload: str = "mnist-cnn", **changed: object) -> MeasuredRatio:
    return row(0.5, pair=DEVICES, workload=workload, device="gpu", **changed)


def study(starts: dict[str, float], steps: dict[str, float], spread: float = 0.01) -> StudyTables:
    """Seconds of a start and milliseconds of a step of the CNN, by device."""
    on = {own: on_gpu().id._replace(device=own) for own in ("cpu", "gpu")}
    times = tuple(
        Time(on[device], ms, ms * (1 - spread), ms * (1 + spread)) for device, ms in steps.items()
    )
    began = {
        on[device]: Start(s, s * (1 - spread), s * (1 + spread), 4) for device, s in starts.items()
    }
    return replace(planted(on_gpu(), hardware=("cpu", "gpu")), times=times, starts=began)


def test_an_epoch_is_a_start_and_its_steps() -> None:
    steps = {"cpu": 10.0, "gpu": 1.0}  # 9.37 s and 0.937 s
    found = judged(study({"cpu": 1.0, "gpu": 9.0}, steps))["C12"]
    (one,) = found.deciding
    assert found.verdict == "holds here"
    assert one.known.ratio == pytest.approx(10.37 / 9.937)
    side = math.hypot(0.01 * 1, 0.01 * 9.37) / 10.37, math.hypot(0.01 * 9, 0.01 * 0.937) / 9.937
    assert math.log(one.known.high / one.known.ratio) == pytest.approx(math.hypot(*side))
    assert "CNN, PyTorch, default, 1 thread: an epoch on CPU over an epoch on GPU 1.0" in page(
        [found], [], []
    )
    assert judged(study({"cpu": 1.0, "gpu": 1.0}, steps))["C12"].verdict == "does not hold here"
    assert judged(study({"cpu": 1.0, "gpu": 9.0}, steps, 0.9))["C12"].verdict == "cannot tell"
    assert judged(study({"cpu": 1.0}, steps))["C12"].verdict.startswith("needs hardware")


def test_devices_agree_if_certificates_and_gradients_do() -> None:
    def found(rounded: float, *rows: MeasuredRatio) -> Judgement:
        far = {one.id._replace(device=device): rounded for one in rows for device in ("cpu", "gpu")}
        return judged(replace(planted(*rows, hardware=("cpu", "gpu")), gradients=far))["C64"]

    holds = found(1e-6, on_gpu(), on_gpu("mlp", framework="jax"))
    assert holds.verdict == "holds here"
    assert holds.why.startswith("only PyTorch and JAX on MNIST CNN and MLP: ")
    assert "1.0e-14 of the reference's in float64, and gradients in float32 within 1.0e-6" in (
        holds.why
    )
    assert found(2e-5, on_gpu()).verdict == "does not hold here"
    assert found(1e-6, on_gpu(certificate="agrees to 2.0e-12")).verdict == "does not hold here"
    refused = on_gpu("mlp", certificate="", reason="jax/default/gpu/1 refused: loss differs")
    assert found(1e-6, on_gpu(), refused).verdict == "does not hold here"
    declared = on_gpu("mlp", certificate="declared: optimiser.adam")
    assert found(1e-6, on_gpu(), declared).verdict == "holds here"
    for nothing in ((), (declared,), (on_gpu(certificate="", reason="sees no GPU"),)):
        assert found(1e-6, *nothing).verdict.startswith("needs hardware")
    assert not next(one for one in claims() if one.id == "C64").pair


def test_a_brief_reports_tables_come_from_its_records(tmp_path: Path) -> None:
    own = read(ROOT / "reports" / "gpu")
    assert {key[3] for key in own.gradients} == {key[3] for key in own.starts} == {"cpu", "gpu"}
    assert 0 < max(own.gradients.values()) < 1e-5
    write_tables("gpu", tmp_path / "gpu")
    assert read(tmp_path / "gpu") == own
