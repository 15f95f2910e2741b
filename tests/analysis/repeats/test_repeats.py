"""Whole studies together: how far ratios move, what lasts, and what is no repeat."""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from analysis.data.occasions import boots, occasion, when
from analysis.data.reading import load
from analysis.data.series import read_series, with_others
from analysis.findings.fairness.settings import changed_settings
from analysis.findings.findings import Findings, tables
from analysis.findings.speed.movement import MOVEMENT, Movement, movements
from analysis.repeats.__main__ import main
from analysis.repeats.series import all_series, captures, contests, joint_tests, speeds
from analysis.report.first.grid import matrix
from analysis.report.first.trust import repeats
from analysis.report.page import write as write_report
from analysis.report.terminal import lines
from tests.analysis.recipe import ENVIRONMENT
from tests.conftest import ROOT
from workflows.records import storage
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import RecordError

Make = Callable[..., Path]
MACHINE = "machines/intel-xeon-2c-24gb-3681d7"


def rows_of(*folders: Path) -> list[Movement]:
    return movements([Findings(machine) for machine in read_series(folders)])


def step(ms: float) -> dict[tuple[str, str, str], float]:
    return {("mnist-cnn", "tensorflow", "default"): ms}


def test_a_difference_that_stays_lasts_from_three_occasions_on(study: Make) -> None:
    folders = [study(number) for number in (1, 2, 3)]
    (row,) = rows_of(*folders)
    assert row.lasting == "lasting faster" and not row.crossed and not row.contradicted
    ratios = [e.ratio for e in row.estimates if e and e.ratio]
    assert (row.studies, row.occasions, len(ratios)) == (3, 3, 3)
    logs = np.log(ratios)
    assert row.ratio.value == pytest.approx(math.exp(logs.mean()))
    half = 4.302653 * logs.std(ddof=1)  # Student's, two degrees of freedom
    assert row.next_occasion_low == pytest.approx(
        math.exp(logs.mean() - half * math.sqrt(4 / 3)), rel=1e-6
    )
    assert row.ratio.high == pytest.approx(math.exp(logs.mean() + half / math.sqrt(3)), rel=1e-6)
    (row,) = rows_of(*folders[:2])
    assert row.lasting == "not yet (2 occasions)" and row.ratio.low is None


def test_an_option_that_a_layer_got_later_has_its_default(study: Make) -> None:
    path = study(1) / "records.json"
    values = json.loads(path.read_text())
    layers = values["workloads"][0]["description"]["layers"]
    assert [layer["conv2d"].pop("bias") for layer in layers if "conv2d" in layer]
    path.write_text(json.dumps(values))
    (row,) = rows_of(path.parent, study(2))
    assert row.studies == 2


def test_studies_of_one_start_count_once(study: Make) -> None:
    folders = [study(1, "night"), study(2, "night"), study(3, "day"), study(4, "noon")]
    (row,) = rows_of(*folders)
    assert (row.studies, row.occasions) == (4, 3)
    logs = [math.log(e.ratio) for e in row.estimates if e and e.ratio]
    means = [(logs[0] + logs[1]) / 2, *logs[2:]]
    half = 4.302653 * np.std(means, ddof=1) * math.sqrt(4 / 3)
    assert row.next_occasion_high == pytest.approx(math.exp(np.mean(means) + half), rel=1e-6)


def test_a_start_without_a_name_is_its_date(study: Make) -> None:
    older = {"system_info": {**ENVIRONMENT, "system": {"kernel": "Linux 6.18"}}}
    one = load([study(1, **older)])[0]
    assert boots(one) == [] and occasion(one).start == "2021-01-02"
    assert occasion(load([study(2)])[0]).start == "start-2"


def test_opposite_verdicts_are_found(study: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [study(1), study(2, ms=step(42.0)), study(3)]
    (row,) = rows_of(*folders)
    assert row.contradicted and row.crossed and row.lasting == "cannot tell"
    assert row.spread == pytest.approx(row.highest / row.lowest - 1) and row.spread > 2
    assert main([str(folder) for folder in folders]) == 1
    printed = capsys.readouterr().out
    assert "with opposite verdicts in mnist-cnn, 1 thread, default, TensorFlow" in printed
    assert "Studies 1 to 3 differ by more than the scatter of their contests" in printed
    assert main([str(folders[0]), str(folders[2])]) == 0


def test_a_study_without_the_ratio_is_left_out_of_its_row(study: Make) -> None:
    lost = {("mnist-cnn", n, "tensorflow/default/cpu/1"): "out of memory" for n in range(1, 8)}
    (row,) = rows_of(study(1), study(2, absent=lost), study(3))
    assert row.estimates[1] is None and row.studies == row.occasions == 2
    assert rows_of(study(4), study(5, frameworks=("pytorch",))) == []


def test_intervals_of_moving_studies_miss_each_other(study: Make) -> None:
    still = all_series([study(n, "night") for n in (1, 2, 3)])
    (within,) = captures(still)
    assert (within.where, within.pairs) == ("of one occasion", 6)
    assert within.by_chance == pytest.approx(0.866, abs=0.002) and within.seen >= 4
    (joint,) = joint_tests(still[0])
    assert joint.contests == 21 and joint.p > 0.05
    moving = all_series([study(1), study(4, ms=step(13.0))])
    assert [(one.where, one.seen) for one in captures(moving)] == [
        ("of two occasions on one kind of processor", 0)
    ]


def test_settings_and_processors_that_changed_are_named(study: Make, tmp_path: Path) -> None:
    cpu = {**ENVIRONMENT["cpu"], "caches_kib": {"L2": 2048, "L3": 65536}}
    folders = [study(1), study(2, system_info={**ENVIRONMENT, "cpu": cpu}), study(3)]
    reconfigured(folders[1], partial(tensorflow_with, blas="Eigen"))
    (series,) = all_series(folders)
    assert {key: list(by) for key, by in changed_settings(series.studies).items()} == {
        ("tensorflow", "blas"): ["oneDNN", "Eigen"]
    }
    out = tmp_path / "page.md"
    assert main([*map(str, folders), "--out", str(out)]) == 0
    text = out.read_text()
    assert "TensorFlow's blas is oneDNN in studies 1 and 3 and Eigen in study 2" in text
    assert "AMD EPYC, L2 2,048 KiB, L3 65,536 KiB" in text
    assert "on 2 kinds of processor under this name" in text


def tensorflow_with(records: MachineRecords, **changed: str) -> None:
    for contest in records.contests:
        for contender in contest.contenders:
            if contender.framework == "tensorflow":
                contender.settings |= changed


def test_layers_that_are_computed_in_another_way_are_not_the_same_comparison(study: Make) -> None:
    folders = [study(1), study(2), study(3, ms=step(13.0))]
    (before,) = rows_of(*folders)
    assert before.studies == 3
    reconfigured(folders[2], partial(tensorflow_with, layout="patches"))
    assert rows_of(*folders) == [] and rows_of(*folders[:2])[0].studies == 2
    newest = study(4)
    reconfigured(newest, partial(tensorflow_with, layout="patches"))
    (series,) = all_series([*folders, newest])
    (row,) = series.rows
    assert [one is None for one in row.estimates] == [True, True, False, False]
    (pairs,) = captures([series])
    assert pairs.pairs == 4  # of the first two studies, and of the last two
    known = [np.isfinite(contests(series, study)).sum() for study in series.studies]
    assert known == [0, 0, 7, 7]


def test_a_setting_that_older_records_lack_leaves_no_study_out(study: Make) -> None:
    older, newer = study(1), study(2)
    reconfigured(older, partial(tensorflow_with, layout="NHWC"))
    reconfigured(newer, partial(tensorflow_with, layout="patches"))
    assert rows_of(older, newer) == []
    path = older / "records.json"
    values = json.loads(path.read_text())
    for contest in values["contests"]:
        for contender in contest["contenders"]:
            contender["settings"].pop("layout", None)
    path.write_text(json.dumps(values))
    assert rows_of(older, newer)[0].studies == 2


def test_the_page_and_its_figure_have_every_study(study: Make, tmp_path: Path) -> None:
    folders = [study(number) for number in (1, 2, 3)]
    out = tmp_path / "docs" / "repeatability.md"
    assert main([*map(str, folders), "--out", str(out)]) == 0
    text = out.read_text()
    for folder in folders:
        for row in Findings(load([folder])[0]).comparisons:
            if row.estimate.ratio:
                assert f"{row.estimate.ratio:.3f} (" in text
    assert "| lasting faster |" in text and "](repeatability.svg)" in text
    drawn = (tmp_path / "docs" / "repeatability.svg").read_text()
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme:dark" in drawn and "#010203" not in drawn
    before = text, drawn
    assert main([*map(str, reversed(folders)), "--out", str(out)]) == 0
    assert (out.read_text(), (out.with_suffix(".svg")).read_text()) == before


def test_speed_needs_other_contenders(study: Make) -> None:
    names = [study(number) for number in (1, 2, 3, 4, 5)]
    assert speeds(all_series(names)[0]) == []  # two contenders: nobody is left beside the pair
    more = [study(n, "one" if n < 9 else "", variants=("default", "tuned")) for n in range(6, 12)]
    found = speeds(all_series(more)[0])
    assert [one.where for one in found] == ["between all studies"] and not found[0].own
    assert found[0].by_chance == pytest.approx(1 / 5) and 0 <= found[0].share <= 1


def test_the_report_says_when_where_and_how_far_ratios_have_moved(
    study: Make, tmp_path: Path
) -> None:
    now, before, long_ago = study(3), study(2), study(1, ms=step(42.0))
    (alone,) = load([now])
    assert when(alone).endswith("January 2023 (UTC)")
    assert "one study, one hour, one machine" in repeats(Findings(alone)).text
    (machine,) = with_others([alone], [long_ago, before])
    findings = Findings(machine)
    assert MOVEMENT.of(findings) == rows_of(long_ago, before, now)
    chip = repeats(findings)
    assert chip.mark == "~" and chip.text.endswith(
        "Who is faster changed in 1 of 1, marked ~: TensorFlow to PyTorch † on the MNIST CNN, 1 "
        "thread."
    )
    ((_, rows),) = matrix(findings).groups
    assert {one.cells[0].relative.endswith("~") for one in rows} == {True}
    assert "~: in another study, the other was faster." in matrix(findings).caption
    assert "~" not in matrix(Findings(alone)).caption
    assert "movement" in tables([findings]) and "movement" not in tables([Findings(alone)])
    (chapter,) = write_report([machine], tmp_path / "report")
    assert chip.text in " ".join(" ".join(lines(chapter)).split())
    as_text = chip.text.replace("~", r"\~")  # no mark of Markdown
    assert as_text in (tmp_path / "report" / "report.md").read_text()
    assert ">Other times<" in (tmp_path / "report" / "report.html").read_text()
    table = (tmp_path / "report" / "tables" / "movement.csv").read_text().splitlines()
    assert len(table) == 2 and table[1].endswith("yes,yes,cannot tell")
    elsewhere = study(4, machine="laptop")
    with pytest.raises(RecordError, match="is of laptop, which is not in this report"):
        with_others([alone], [elsewhere])


def reconfigured(folder: Path, change: Callable[[MachineRecords], object]) -> Path:
    path = folder / "records.json"
    records = storage.read_json(path, MachineRecords)
    change(records)
    storage.write_json(path, records)
    return folder


def upgraded(records: MachineRecords) -> None:
    for contender in records.contests[0].contenders:
        contender.versions = {**contender.versions, "torch": "3.0"}


def wider(records: MachineRecords) -> None:
    records.workloads[0].description = {**records.workloads[0].description, "batch": 128}
    records.workloads[0].flops_per_step *= 2
    records.datasets[0].batches //= 2


def kept(value: str) -> dict[str, Any]:
    memory = {**ENVIRONMENT["memory"], "pages_kept_by_core": value}
    return {"system_info": {**ENVIRONMENT, "memory": memory}}


OTHERWISE: dict[str, tuple[dict[str, Any], Callable[[MachineRecords], object] | None, str]] = {
    "the same contests": ({"year": 2021}, None, "contest 1 of mnist-cnn, which started 2021"),
    "reference": ({"reference": "tensorflow"}, None, "reference is 'pytorch' in one"),
    "the fastest": ({"fastest": True}, None, "fastest is False in one and True"),
    "workload": ({}, wider, "workload mnist-cnn is "),
    "data": ({"mnist": "stand-in"}, None, "dataset mnist-cnn is 'mnist' in one and 'stand-in'"),
    "versions": ({}, upgraded, "torch is '2.13.0' in one and '2.13.0, 3.0' in the other"),
    "memory": (kept("1000"), None, "vm.percpu_pagelist_high_fraction is '0' in one and '1000'"),
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_what_is_no_repeat_is_refused(
    study: Make, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, change, reason = OTHERWISE[case]
    folders = [study(1, **kept("0")), study(2, **changes)]
    if change:
        reconfigured(folders[1], change)
    with pytest.raises(RecordError, match=re.escape(reason)):
        read_series(folders)
    folders.append(study(3))
    assert main([str(folder) for folder in folders]) == 2
    said = capsys.readouterr().err
    assert "not repeats of each other" in said and all(str(folder) in said for folder in folders)


def test_what_only_decides_how_precisely_may_differ(study: Make) -> None:
    other = study(2, replicates=5, rounds=4)
    assert len(read_series([study(1), other, study(3, machine="laptop")])) == 3


def test_one_study_is_too_few(study: Make) -> None:
    with pytest.raises(RecordError, match="two studies at least"):
        all_series([study(1)])


REPEATS = ROOT / "reports" / "repeats"
NIGHT = [REPEATS / "eight-replicates" / name / MACHINE for name in ("first", "second", "third")]
MORNING = [REPEATS / "morning" / name / MACHINE for name in ("first", "second", "third")]


def test_six_committed_studies_differ_as_an_audit_found() -> None:
    """Mean F of 1.80 over all six, 1.94 in the night and 0.99 in the morning, by code apart from
    this and with workloads permuted one by one."""
    (series,) = all_series([*NIGHT, *MORNING])
    together, night, morning = joint_tests(series)
    assert together.f == pytest.approx(1.80, abs=0.03) and together.p < 0.01
    assert night.f == pytest.approx(1.94, abs=0.03) and 0.01 < night.p < 0.06
    assert morning.f == pytest.approx(0.99, abs=0.03) and 0.5 < morning.p < 0.7
    seen = {one.where: one for one in captures([series])}
    assert seen["in all"].pairs == 360 and seen["in all"].seen == pytest.approx(254, abs=4)
    assert seen["in all"].by_chance == pytest.approx(0.862, abs=0.001)


@pytest.mark.all
def test_the_committed_page_is_of_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every committed study is in it, and it is what the command writes."""
    monkeypatch.chdir(ROOT)
    folders = [Path("reports/reference") / MACHINE]
    folders += sorted(Path("reports/repeats").glob("*/*/machines/*"))
    out = tmp_path / "repeatability.md"
    assert main([*map(str, folders), "--out", str(out)]) in (0, 1)
    page = (ROOT / "docs" / "repeatability.md").read_text()
    drawn = (ROOT / "docs" / "repeatability.svg").read_text()
    assert out.with_suffix(".svg").read_text() == drawn
    assert out.read_text().split("Written by")[0] == page.split("Written by")[0]
    assert all(str(folder) in page for folder in folders)
