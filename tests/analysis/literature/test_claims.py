"""The list of claims is complete, judges by tables alone, and is what is committed."""

import csv
import math
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.data.reading import read as read_records
from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings, tables
from analysis.literature.__main__ import main
from analysis.literature.judging.arithmetic import CALCULATIONS, Calculation, vgg_19
from analysis.literature.judging.claims import UNBUILT, Judgement, claims, judge
from analysis.literature.judging.claims import tests as rules_of
from analysis.literature.page import PITFALLS, page
from analysis.literature.published.peaks import definitions, networks
from analysis.literature.published.table7 import cells, rows
from analysis.literature.studies import MeasuredRatio, Pair, StudyTables, Time, evidence, read
from analysis.literature.studies import study as of_tables
from analysis.literature.tables import tables_of
from tests.analysis.literature.test_rules import row
from tests.conftest import ROOT
from workflows.records.storage import RecordError

STUDIES = ("reference", "networks", "networks-tuned", "definitions", "stored-statistics",
           "threads", "oversubscribed", "sweep", "fence", "parts", "parallel", "operations",
           "transfer", "traps", "gpu")  # fmt: skip
NETWORKS = ["fcn-s", "alexnet-s", "resnet-50", "fcn-r", "alexnet-r", "resnet-56", "lstm"]


def judged(*studies: StudyTables) -> dict[str, Judgement]:
    return {one.claim.id: one for one in judge(studies)}


def write_tables(study: str, folder: Path) -> None:
    """All tables of a committed study whose report is brief, as a whole report has them."""
    (machine,) = (ROOT / "reports" / study / "machines").iterdir()
    (folder / "tables").mkdir(parents=True)
    for name, text in tables([Findings(read_records(machine))]).items():
        (folder / "tables" / f"{name}.csv").write_text(text)


def planted(*found: object, hardware: tuple[str, ...] = ("cpu",)) -> StudyTables:
    return StudyTables("planted", tuple(found), frozenset(hardware), {})  # type: ignore[arg-type]


def test_every_claim_is_there_with_a_short_quotation() -> None:
    assert [one.id for one in claims()] == [f"C{number:02}" for number in range(1, 66)]
    assert [one["claim"] for one in rows("rules.csv")] == [one.id for one in claims()]
    assert max(len(one.quote.split()) for one in claims()) <= 15
    assert {one.source for one in claims()} == {one["id"] for one in rows("sources.csv")}
    known = {one["study"] for one in rows("studies.csv")} | {"none planned"}
    assert {word for one in claims() for word in one.study.split(", ") if word} <= known
    assert all(one.study or one.calculation for one in claims())
    hardware = Counter(one.hardware for one in claims())
    assert (hardware.pop("cpu"), hardware.pop("gpu"), hardware.total()) == (32, 25, 8)


def test_without_a_study_calculations_alone_decide() -> None:
    found = judged()
    decided = {name for name, one in found.items() if not one.verdict.startswith("needs")}
    assert decided == {one.id for one in claims() if one.calculation in CALCULATIONS}
    assert all(found[name].why and not found[name].deciding for name in decided)


def test_claims_that_arithmetic_decides() -> None:
    found = judged()
    assert found["C21"].verdict == "does not hold here" and "31.5 TFLOP/s" in found["C21"].why
    assert found["C45"].verdict == "does not hold here" and "7.8 times" in found["C45"].why
    assert found["C57"].verdict == "does not hold here" and "143,667,240" in found["C57"].why
    assert found["C65"].verdict == "does not hold here" and "CUDA packages" in found["C65"].why
    assert len([name for name in vgg_19().parameter_shapes if name.endswith("kernel")]) == 19


def test_a_time_below_the_peak_may_be_that_of_another_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Caffe at 0.35 of Torch: a definition that takes a third explains it, one that takes half is
    shown, but explains a part only. A time beyond the peak needs no explanation."""

    def study(ratio: float) -> StudyTables:
        pair = Pair("workload", "alexnet-s-caffe", "alexnet-s")
        return planted(*(
            row(ratio, pair=pair, workload=pair.one, framework=name)
            for name in ("pytorch", "tensorflow")
        ))  # fmt: skip

    beyond = judged(study(0.55))["C47"]
    assert beyond.verdict == "does not hold here" and "1.1 times the peak" in beyond.why
    assert [round(one.known.ratio, 2) for one in beyond.deciding] == [0.55, 0.55]
    possible = {**CALCULATIONS, "peak of Caffe's AlexNet-S": lambda: Calculation(True, "half")}
    monkeypatch.setattr("analysis.literature.judging.claims.CALCULATIONS", possible)
    assert judged(study(0.33))["C47"].verdict == "does not hold here"
    assert judged(study(0.55))["C47"].verdict == judged()["C47"].verdict == "holds here"


def test_what_a_claim_needs_beside_hardware_is_said() -> None:
    for hardware in (("cpu",), ("cpu", "gpu")):
        found = judged(replace(planted(hardware=hardware), name="fence"))["C28"]
        assert found.verdict.startswith("needs") and not found.deciding
        assert found.why.endswith("; not built yet: a contender that CUDA events time")
    on_a_gpu = [one for one in claims() if one.hardware == "gpu"]
    without = {one.id for one in on_a_gpu if not (rules_of(one) or one.calculation)}
    assert without == {*UNBUILT, "C20"}  # for which no study is planned


def test_rows_decide_a_claim_in_its_direction() -> None:
    """PyTorch faster than TensorFlow in each of nine workloads: one row against it is enough, and
    eight for it are not."""
    fast = [row(0.7, workload=name) for name in ["mlp", "mnist-cnn", *NETWORKS]]
    assert judged(planted(*fast))["C39"].verdict == "holds here"
    assert judged(planted(*fast[1:]))["C39"].verdict == "needs a study that has not been run"
    against = judged(planted(fast[0], row(1.5, workload="mnist-cnn")))["C39"]
    assert against.verdict == "does not hold here"
    assert [one.id.workload for one in against.deciding] == ["mnist-cnn"]
    turned = judged(planted(row(1.5, workload="mlp").inverse))["C39"]
    assert turned.deciding[0].known.ratio == pytest.approx(1.5, rel=0.01)


def test_a_variant_that_says_something_else_says_it() -> None:
    pair = Pair("framework", "tensorflow", "pytorch")

    def study(default: float) -> StudyTables:
        of = {"default": default, "tuned": 2.0, "two-workers": 0.5}
        return planted(*(
            row(ratio, pair=pair, workload="alexnet-r", variant=own) for own, ratio in of.items()
        ))  # fmt: skip

    found = judged(study(0.5))["C43"]
    assert found.verdict == "does not hold here"
    assert found.why == "default alone: holds here; tuned alone: does not hold here"
    assert judged(study(2.0))["C43"].why == ""


def test_a_median_is_judged_in_each_framework() -> None:
    def rows_of(framework: str, *ratios: float) -> list[object]:
        return [
            row(ratio, pair=Pair("threads", "2", "1"), threads=2, workload=name,
                framework=framework)
            for name, ratio in zip(NETWORKS, ratios, strict=True)
        ]  # fmt: skip

    good, bad = [0.55] * 4 + [0.9] * 3, [0.55] * 3 + [0.9] * 4
    holds = judged(planted(*rows_of("pytorch", *good), *rows_of("jax", *good)))["C30"]
    assert holds.verdict == "holds here" and len(holds.deciding) == 2
    assert [one.known.ratio for one in holds.deciding] == [pytest.approx(0.55, rel=0.02)] * 2
    falls = judged(planted(*rows_of("pytorch", *good), *rows_of("jax", *bad)))["C30"]
    assert falls.verdict == "does not hold here"


def test_who_gains_more_from_threads_is_a_ratio_of_ratios() -> None:
    def study(tensorflow: float) -> StudyTables:
        of = {"pytorch": 0.7, "tensorflow": tensorflow}
        return planted(*(
            row(ratio, pair=Pair("threads", "2", "1"), threads=2, workload=name, framework=who)
            for name in NETWORKS for who, ratio in of.items()
        ))  # fmt: skip

    found = judged(study(0.6))["C36"]
    (one,) = found.deciding
    assert found.verdict == "holds here" and one.known.ratio == pytest.approx(6 / 7, rel=0.02)
    assert judged(study(0.8))["C36"].verdict == "does not hold here"
    near = judged(study(0.701))["C36"]
    assert near.verdict == "cannot tell"
    # Its error is that of both, as if neither knew of the other's.
    (one,), own = near.deciding, row(1.0)
    assert math.log(one.known.high / one.known.low) == pytest.approx(
        2**0.5 * math.log(own.known.high / own.known.low)
    )
    refused = planted(*study(0.6).ratios[1:], replace(study(0.6).ratios[0], certificate=""))
    assert judged(refused)["C36"].verdict == "cannot tell"


def test_a_network_is_set_beside_each_other_one() -> None:
    def study(lstm: float, *others: float) -> StudyTables:
        named = zip(["lstm", *NETWORKS], [lstm, *others], strict=False)
        return planted(*(row(ratio, workload=name).inverse for name, ratio in named))

    others = [0.8, 1.3, 1.0, 1.1, 1.2, 0.9]  # the median is 1.05
    found = judged(study(0.85, *others))["C52"]
    (one,) = found.deciding
    assert found.verdict == "holds here"
    assert one.known.ratio == pytest.approx(0.85 / 1.05, rel=0.01)
    # Its error: LSTM's, and that of the mean of the two in the middle.
    own = row(1.0)
    assert math.log(one.known.high / one.known.low) == pytest.approx(
        1.5**0.5 * math.log(own.known.high / own.known.low)
    )
    assert "PyTorch over TensorFlow on LSTM over the median of 6 other networks 0.81" in page(
        [found], [], []
    )
    assert judged(study(1.15, *others))["C52"].verdict == "does not hold here"
    lacking = study(0.5, *others[1:])
    assert judged(lacking)["C52"].verdict == "needs a study that has not been run"
    # What another study has of some networks is not a median over all.
    assert judged(study(0.85, *others), study(2.0, *others[1:]))["C52"] == found
    refused = replace(study(0.85, *others).ratios[1], certificate="", reason="differs in a bias")
    unsure = judged(planted(*study(0.85, *others).ratios[:1], refused,
                            *study(0.85, *others).ratios[2:]))["C52"]  # fmt: skip
    assert (unsure.verdict, unsure.why) == ("cannot tell", "differs in a bias")


def test_the_fixed_cost_of_a_step_is_bounded_by_the_smallest_step() -> None:
    def study(name: str, **milliseconds: float) -> StudyTables:
        pair = Pair("framework", "jax", "pytorch")
        proven = [row(0.7, workload=own, pair=pair, threads=2) for own in milliseconds]
        times = tuple(
            Time(BenchmarkId(own, framework, "default", "cpu", 2), ms, ms * 0.9, ms * 1.1)
            for own, ms in milliseconds.items() for framework in ("pytorch", "jax")
        )  # fmt: skip
        return replace(planted(*proven), name=name, times=times)

    large = study("networks", **dict.fromkeys(NETWORKS, 90.0))
    for small, verdict in ((0.5, "holds here"), (4.5, "cannot tell")):
        assert judged(large, study("sweep", tiny=small, less=2 * small))["C56"].verdict == verdict
    lacking = "needs a study that has not been run"
    assert judged(large, study("other", tiny=0.5))["C56"].verdict == lacking
    assert judged(large)["C56"].verdict == lacking
    uncertified = replace(study("sweep", tiny=0.5), ratios=())
    assert judged(large, uncertified)["C56"].verdict == lacking


def test_a_refused_contender_makes_it_cannot_tell() -> None:
    fast = [row(0.7, workload=name) for name in ["mlp", *NETWORKS]]
    refused = row(2.0, workload="mnist-cnn", certificate="", reason="pytorch differs in a bias")
    found = judged(planted(*fast, refused))["C39"]
    assert (found.verdict, found.why) == ("cannot tell", "pytorch differs in a bias")


def test_hardware_is_missing_until_a_study_has_it() -> None:
    assert judged()["C41"].verdict == "needs hardware that is not here"
    gpu = [
        row(0.7, workload=name, device="gpu").inverse for name in NETWORKS if name != "lstm"
    ]  # TensorFlow over PyTorch
    found = judged(planted(*gpu, hardware=("cpu", "gpu")))
    assert found["C41"].verdict == "holds here"
    found = judged(replace(planted(*gpu, hardware=("cpu", "gpu")), name="networks"))
    assert found["C44"].verdict == "needs a study that has not been run"


def test_a_study_without_a_gpu_is_said_to_need_one() -> None:
    """A GPU in another study does not help."""
    none = replace(planted(), name="networks", missing={"gpu": "PyTorch sees no GPU"})
    other = replace(planted(hardware=("cpu", "gpu")), name="gpu")
    decided = judge([none, other])
    found = {one.claim.id: one for one in decided}
    needed = {"C44": "networks on a GPU", "C08": "networks and sweep on a GPU",
              "C34": "threads on a processor with SMT",
              "C22": "a TPU; no study is planned"}  # fmt: skip
    for name, why in needed.items():
        assert (found[name].verdict, found[name].why) == ("needs hardware that is not here", why)
    text = page(decided, [none, other], [])
    assert "Only [gpu](../gpu/report.md) had a GPU. Elsewhere PyTorch sees no GPU." in text
    assert "No machine here has the other hardware that rows name." in text
    hardware = [one for one in decided if one.verdict == "needs hardware that is not here"]
    assert "needs a study" not in page(hardware, [none], [])
    assert "No study had a GPU: PyTorch sees no GPU." in page(hardware, [none], [])


def test_both_variants_of_a_claim_are_said() -> None:
    pair = Pair("framework", "pytorch", "tensorflow")
    rows_of = [row(1.5), row(1.2, variant="tuned"), row(1.9, variant="tuned", threads=2)]
    found = judged(planted(*rows_of))["C38"]
    assert found.claim.pair == pair and found.verdict == "does not hold here"
    assert [(one.id.variant, one.id.threads) for one in found.deciding] == [
        ("default", 1),
        ("tuned", 2),
    ]


UNFENCED = Pair("variant", "trap-unsynchronised", "default")


def unfenced(ratio: float, framework: str, workload: str, **changed: Any) -> MeasuredRatio:
    own = {"pair": UNFENCED, "variant": UNFENCED.one, "framework": framework, "workload": workload}
    return row(ratio, spread=0.5, **{**own, **changed})


def test_a_claim_about_frameworks_is_said_of_each() -> None:
    """JAX returns before the work is done; the others are the control."""
    found = [
        unfenced(ratio, name, workload)
        for name, ratio in (("pytorch", 1.0), ("tensorflow", 1.01), ("jax", 0.05))
        for workload in ("mlp", "mnist-cnn")
    ]
    said = judged(planted(*found))
    assert (said["C23"].verdict, len(said["C23"].deciding)) == ("holds here", 1)
    assert said["C24"].verdict == "holds here"
    assert [one.id.framework for one in said["C24"].deciding] == ["pytorch", "tensorflow", "jax"]
    assert said["C24"].why == (
        "PyTorch alone: does not hold here; TensorFlow alone: does not hold here; JAX alone: holds "
        "here"
    )
    text = page([said["C24"]], [], {})
    assert "JAX, 1 thread: unsynchronised over default 0.05" in text and PITFALLS in text
    control = judged(planted(*found[:4], *(unfenced(1.0, "jax", w) for w in ("mlp", "mnist-cnn"))))
    assert {control[name].verdict for name in ("C23", "C24")} == {"does not hold here"}
    # What may not decide does not stand among what decides, however far it is off.
    strange = unfenced(0.8, "tensorflow", "mlp", threads=2, certificate="", reason="no work left")
    with_it = judged(planted(*found, strange))["C24"]
    assert with_it.deciding == said["C24"].deciding
    alone = judged(planted(*found[:4]))
    assert alone["C24"].verdict == "needs a study that has not been run"


@pytest.mark.parametrize(
    ("verdict", "off", "proven", "reason"),
    [
        ("refused", 0.0, "the same losses; work was left", ""),
        ("equivalent", 0.0, "the same losses", ""),
        ("refused", 1e-9, "", "not shown to have the losses of default"),
        ("refused", None, "", "not shown to have the losses of default"),
        ("faster", 0.0, "", "is faster, but no work was left"),
    ],
)
def test_what_a_ratio_of_a_pitfall_rests_on(
    verdict: str, off: float | None, proven: str, reason: str
) -> None:
    loss = "" if off is None else str(off)
    own = dict.fromkeys(("loss_1", "loss_10", "loss_100", "loss_last"), loss)
    names = {"framework": "jax", "variant": "trap-unsynchronised", "beside": "default"}
    found = evidence({**own, **names, "verdict": verdict})
    assert found[0].startswith(proven) and bool(found[0]) == bool(proven) and reason in found[1]


def test_pitfalls_are_read_from_a_study_as_they_stand() -> None:
    study = read(ROOT / "reports" / "traps")
    flushed = study.of(Pair("variant", "trap-denormals", "default"))
    assert [one.id.workload for one in flushed if one.usable] == ["mlp", "mnist-cnn"]
    assert not any(one.usable for one in study.of(Pair("variant", "trap-weights", "default")))
    missing = study.of(UNFENCED)
    assert {one.id.device for one in missing} == {"gpu"} and not any(one.usable for one in missing)


@pytest.mark.all
def test_the_committed_verdicts_follow_from_the_committed_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    studies = [f"reports/{name}" for name in STUDIES]
    assert main([*studies, "--out", str(tmp_path)]) == 0
    for name in ("claims.md", *(one.name for one in tmp_path.glob("*.csv"))):
        assert (tmp_path / name).read_bytes() == (ROOT / "reports/literature" / name).read_bytes()
    drawing = (tmp_path / "impossible.svg").read_text()
    assert ">ResNet-56</text>" in drawing.replace("\n", "")
    assert {one.name for one in tmp_path.iterdir()} == {
        one.name for one in (ROOT / "reports/literature").iterdir()
    }


def test_more_threads_than_cores_say_only_what_these_bring() -> None:
    found = of_tables("oversubscribed", tables_of(ROOT / "reports" / "reference"))
    assert {one.pair.axis for one in found.ratios} == {"threads"}
    assert not found.times and not found.memory


def test_a_folder_without_tables_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="give a report's folder"):
        read(tmp_path)
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 1


def test_intervals_at_another_confidence_are_refused(tmp_path: Path) -> None:
    """A narrower interval would make rows look more certain than they are."""
    shutil.copytree(ROOT / "reports/reference/tables", tmp_path / "tables")
    pairs = tmp_path / "tables" / "pairs.csv"
    assert "1.1079,1.1546" in pairs.read_text()
    pairs.write_text(pairs.read_text().replace("1.1079,1.1546", "1.118,1.144"))
    with pytest.raises(RecordError, match="not at 95%"):
        read(tmp_path)


def committed() -> dict[str, str]:
    """The verdict of each claim in the committed list, which follows from the committed tables."""
    found, verdict = {}, ""
    for line in (ROOT / "reports/literature/claims.md").read_text().splitlines():
        if line.startswith("## "):
            verdict = line.removeprefix("## ").lower()
        elif row := re.match(r"\| (C\d\d) \|", line):
            found[row[1]] = verdict
    return found


def test_the_page_says_what_was_judged() -> None:
    page = " ".join((ROOT / "docs/literature.md").read_text().split())
    verdicts = committed()
    assert sorted(verdicts) == [one.id for one in claims()]
    lacking = {name for name, said in verdicts.items() if said.startswith("needs")}
    assert {verdicts[name] for name in lacking} == {"needs hardware that is not here"}
    calculated = {one.id for one in claims() if one.calculation in CALCULATIONS}
    assert {verdicts[name] for name in calculated} == {"does not hold here"}
    assert len(calculated) == 5
    measured = {name: said for name, said in verdicts.items() if name not in lacking | calculated}
    assert measured == {
        **dict.fromkeys(
            ["C27", "C29", "C38", "C39", "C40", "C42", "C43", "C46", "C48", "C54", "C55", "C59"],
            "does not hold here",
        ),
        **dict.fromkeys(
            ["C03", "C04", "C23", "C24", "C25", "C37", "C53", "C56", "C58", "C64"], "holds here"
        ),
        **dict.fromkeys(
            ["C12", "C30", "C31", "C32", "C33", "C35", "C36", "C52", "C63"], "cannot tell"
        ),
    }
    for words in (
        "They make 65 claims",
        "Of its 455 cells, 376 can be used",
        "Six times need more",
        "needs 7.8 times the peak",
        "decide five claims, and none holds",
        "decide 22 more",
        f"{len(lacking)} claims need hardware",
        "Cannot tell**: six claims about threads, one that",
    ):
        assert words in page
    for (network, tool), own in definitions().items():
        work = networks()[own["layers"]].flops(int(own["samples"]))
        batch = next(c.batch for c in cells() if c.network == network)
        share = work / networks()[network].flops(batch)
        shown = f"{share:.2f}" if share > 0.1 else f"{share:.2g}"
        assert re.search(rf"\| {network}, {tool} \|[^|]*\|[^|]*\| {shown} \|", page)


def test_the_page_is_short_and_near_the_front_door() -> None:
    page = (ROOT / "docs/literature.md").read_text()
    assert page.count("<picture>") == 3
    seen = re.sub(r"<picture>.*?</picture>|\]\([^)]*\)", "", page, flags=re.S)
    assert sum(bool(re.search(r"\w", word)) for word in seen.split()) <= 1200
    screen = (ROOT / "README.md").read_text().splitlines()[:40]
    assert any("docs/literature.md" in line for line in screen)


def test_ratios_are_read_from_a_study_as_they_stand() -> None:
    study = read(ROOT / "reports" / "reference")
    with (ROOT / "reports/reference/tables/pairs.csv").open(newline="") as file:
        own = [one for one in csv.DictReader(file) if one["axis"] == "framework"]
    found = study.of(Pair("framework", "tensorflow", "pytorch"))
    assert sorted(f"{one.estimate.ratio:.6g}" for one in found if one.estimate.ratio) == sorted(
        one["ratio"]
        for one in own
        if {one["framework"], one["against"]} == {"tensorflow", "pytorch"}
    )
    threads = study.of(Pair("threads", "2", "1"))
    assert threads and all(one.known.ratio < 1.1 for one in threads)
    assert study.missing["gpu"] and study.hardware == {"cpu"}
    assert replace(found[0], certificate="").usable is False
