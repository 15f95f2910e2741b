"""Operations follow from the layers, and cells above their processor's peak are found."""

from dataclasses import replace

import pytest

from analysis.literature.published.peaks import networks, peak, share, shares
from analysis.literature.published.table7 import cells

# Parameters and GFLOP a step at the published batch size: counted by hand from the definitions.
KNOWN = {
    "FCN-S": (64, 117_997_696, 38.3),
    "AlexNet-S": (16, 62_378_344, 105.6),
    "ResNet-50": (16, 25_557_032, 388.8),
    "FCN-R": (1024, 14_205_962, 83.9),
    "AlexNet-R": (1024, 85_098, 60.9),
    "ResNet-56": (128, 853_018, 96.3),
    "LSTM": (128, 6_180_624, 88.7),
    "AlexNet-S of MXNet": (16, 11_135_720, 51.7),
    "AlexNet-S of Caffe": (16, 28_823_912, 55.4),
    "AlexNet-S of TensorFlow": (16, 76_009_832, 118.4),
    "AlexNet-R of Caffe": (1024, 89_578, 70.5),
    "FCN-R of CNTK": (1024, 13_714_442, 77.6),
    "ResNet-56 of CNTK": (128, 1_730_714, 194.3),
    "ResNet-50 of TensorFlow": (16, 25_557_032, 366.6),
    "ResNet-50 of Caffe": (16, 25_557_096, 355.3),
    "ResNet-56 of Caffe": (128, 863_242, 96.5),
}


@pytest.mark.parametrize("name", KNOWN)
def test_work_follows_from_the_layers(name: str) -> None:
    batch, parameters, gflop = KNOWN[name]
    assert networks()[name].parameters == parameters
    assert round(networks()[name].flops(batch) / 1e9, 1) == gflop
    assert networks().keys() == KNOWN.keys()


def test_a_processor_has_no_more_peaks_than_cores() -> None:
    assert peak("desktop-cpu", 1) == pytest.approx(60.8e9)
    assert peak("desktop-cpu", 8) == peak("desktop-cpu", 4) == pytest.approx(243.2e9)
    assert peak("server-cpu", 32) == pytest.approx(16 * 102.4e9)
    assert peak("gtx-1080", None) == pytest.approx(8.87e12, rel=1e-3)


def test_six_cells_exceed_the_peak() -> None:
    """The 2016 half of the figure `impossible`."""
    found = [(one.cell.network, one.cell.tool, *one.cell.column) for one in shares() if one.exceeds]
    assert found == [
        ("AlexNet-S", "Caffe", "desktop-cpu", 1),
        ("AlexNet-S", "MXNet", "gtx-980", None),
        *(("LSTM", "CNTK", *column) for column in
          [("desktop-cpu", 1), ("server-cpu", 1), ("server-cpu", 2), ("server-cpu", 4)]),
    ]  # fmt: skip
    most = max(shares(), key=lambda one: one.value)
    assert round(most.value, 1) == 7.8 and most.defined == pytest.approx(0.25, abs=0.01)
    assert sum(one.impossible for one in shares()) == 5  # not the one on a GPU


def test_a_share_whose_rounding_allows_less_than_the_peak_does_not_exceed_it() -> None:
    cell = next(c for c in cells() if (c.network, c.tool, c.device) == ("LSTM", "CNTK", "gtx-980"))
    at_peak = share(replace(cell, seconds=0.0178))
    assert at_peak.value > 1 > at_peak.low and not at_peak.exceeds
