"""The first screen: its rules, on studies with planted ratios."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.data.results import Column
from analysis.findings.findings import Findings
from analysis.report.caveats.registry import caveats
from analysis.report.figures.style import Theme
from analysis.report.first.comparing import Race, Rival, fastest_and_others
from analysis.report.first.grid import matrix
from analysis.report.first.header import heading, named
from analysis.report.first.headline import NOTHING, headline, tuning, winner
from analysis.report.first.sentences import sentences, start
from analysis.report.first.sentences import tuning as gains
from analysis.report.first.trust import not_covered, repeats, same, self_test
from analysis.report.layout import Chapter
from analysis.stats.inference import Estimate
from tests.analysis.recipe import Recipe

Found = Callable[[Recipe], Findings]
CNN = Recipe(workloads=("mnist-cnn",), threads=(1,), rounds=4, replicates=6)
BASIC = replace(CNN, variants=("default",))
GROUPS = [
    "As in the tutorials: the loop that its own tutorial shows",
    "Tuned: the fastest way that we know",
]


def times(**ms: float) -> dict[tuple[str, str, str], float]:
    """`times(pytorch=30.0, tensorflow_tuned=20.0)` on the CNN."""
    return {
        ("mnist-cnn", name.partition("_")[0], name.partition("_")[2] or "default"): value
        for name, value in ms.items()
    }


def chapter(findings: Findings) -> Chapter:
    return Chapter(findings, Theme.of(findings.availability), 1, caveats(findings, 1))


def test_a_framework_with_a_declared_deviation_is_marked(findings: Findings) -> None:
    assert winner(findings) == "TensorFlow† is fastest everywhere."


def test_a_fastest_framework_that_is_too_fast_is_doubted(
    findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    doubt = "Steps of TensorFlow may leave out work: see the warning."
    first = next(line.id for line in findings.matrix if line.id == line.base)
    slow = next(line.id for line in findings.matrix if line.id.framework == "pytorch")
    assert first.framework == "tensorflow"
    for fast in ({}, {slow: 3.0}, {first: 3.0}):
        monkeypatch.setattr("analysis.report.first.headline.too_fast", lambda found, own=fast: own)
        assert (doubt in headline(findings)) is (first in fast)


def test_no_framework_wins_if_columns_differ(found: Found) -> None:
    recipe = Recipe(threads=(1,), rounds=4, variants=("default",),
                    ms={("mlp", "tensorflow", "default"): 150.0})  # fmt: skip
    findings = found(recipe)
    assert winner(findings) == "No framework is fastest everywhere."
    first, *_ = sentences(findings)
    assert first.startswith("As in the tutorials: PyTorch is fastest on the MLP †.")
    assert "TensorFlow is fastest on the MNIST CNN †. PyTorch takes 2.0 times as long †." in first


def test_a_tie_is_no_win(found: Found) -> None:
    findings = found(replace(BASIC, ms=times(pytorch=20, tensorflow=20.1)))
    assert winner(findings) == (
        "PyTorch and TensorFlow† are fastest, equivalent or without a significant difference."
    )
    (first,) = [text for text in sentences(findings) if "tutorials" in text]
    assert (
        "are fastest †, equivalent or without a significant difference." in first
        and "takes" not in first
    )


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (times(pytorch=60, tensorflow=55, pytorch_tuned=20, tensorflow_tuned=22),
         "On the MNIST CNN with 1 thread, tuning PyTorch gains more (3.0 times) than any "
         "change of framework (1."),
        (times(pytorch=60, tensorflow=20, pytorch_tuned=50, tensorflow_tuned=19),
         ""),
        (times(pytorch=60, tensorflow=30, pytorch_tuned=30, tensorflow_tuned=28),
         ""),
    ],
)  # fmt: skip
def test_tuning_is_weighed_against_the_framework(
    found: Found, ms: dict[tuple[str, str, str], float], words: str
) -> None:
    said = tuning(found(replace(CNN, ms=ms)))
    assert said.startswith(words) and bool(said) == bool(words)


def test_a_framework_without_a_tuned_variant_is_named(found: Found) -> None:
    three = found(replace(CNN, frameworks=("pytorch", "tensorflow"), opted=[("jax", "default")]))
    assert "JAX tuned" in not_covered(three).text
    assert "tuned and" not in not_covered(found(CNN)).text


def test_with_one_framework_there_is_nothing_to_win(found: Found) -> None:
    alone = found(replace(BASIC, frameworks=("pytorch",)))
    assert headline(alone) == (
        "Only PyTorch was measured, so no framework is compared with another."
    )
    title = "The same training step, timed in every framework"  # of configurations without one
    study = alone.machine.study.model_copy(update={"title": title})
    records = alone.machine.records.model_copy(update={"study": study})
    own = Findings(replace(alone.machine, records=records))
    assert heading(own) == "PyTorch: one training step, timed"
    assert heading(alone) == alone.machine.study.title != title
    assert same(alone).text == "No two frameworks were compared."


def test_one_that_others_reach_in_a_column_is_not_the_fastest_everywhere(found: Found) -> None:
    own = times(jax=300.0, tensorflow=100.0, pytorch=100.1)
    own |= {("mlp", name, "default"): ms for name, ms in
            (("jax", 300.0), ("tensorflow", 200.0), ("pytorch", 100.0))}  # fmt: skip
    findings = found(Recipe(threads=(1,), rounds=4, variants=("default",), ms=own))
    assert winner(findings) == "No framework is significantly faster than PyTorch anywhere."


def test_a_refused_rival_is_not_counted_as_beaten(found: Found) -> None:
    two = replace(BASIC, threads=(1, 2))
    assert winner(found(two)).endswith("is fastest everywhere.")
    half = found(replace(two, refused=("tensorflow/default/cpu/2",)))
    assert winner(half).endswith("is fastest where two frameworks have a ratio.")


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        ([{"name": "NVIDIA H100"}], " and NVIDIA H100"),
        ([{"name": "NVIDIA H100"}, {"name": "NVIDIA H100"}], " and 2 x NVIDIA H100"),
        ([{"name": 3}, "NVIDIA"], ""),
        ({"name": "NVIDIA"}, ""),
        (None, ""),
    ],
)
def test_the_gpus_of_the_records_are_named(gpus: object, words: str) -> None:
    assert named(gpus) == words


def test_tuning_is_told_in_milliseconds(found: Found) -> None:
    text = gains(found(replace(CNN, ms=times(pytorch=60, pytorch_tuned=20, tensorflow=30.0,
                                             tensorflow_tuned=30.0))))  # fmt: skip
    assert re.fullmatch(
        r"Tuning: on the MNIST CNN with 1 thread it cuts PyTorch's step from [56]\d to [12]\d ms\.",
        text,
    )  # fmt: skip
    assert gains(found(replace(BASIC, machine="other"))) == ""


def test_a_start_is_told_if_it_decides_a_short_run(findings: Findings) -> None:
    late = [row for row in findings.start if row.ahead == "from"]
    text = start(findings)
    assert bool(text) == bool(late)


def test_the_matrix_has_the_fastest_of_each_column(findings: Findings) -> None:
    shown = matrix(findings)
    rows = [row for _, held in shown.groups for row in held]
    assert [title for title, _ in shown.groups] == GROUPS
    assert shown.columns[0] == ("MLP", "1 thread")
    for number in range(len(shown.columns)):
        cells = [row.cells[number] for row in rows]
        fastest = [cell for cell in cells if cell.relative == "fastest"]
        assert len(fastest) == 1 and fastest[0].fastest
        assert float(fastest[0].time) == min(float(cell.time) for cell in cells)
        assert max(cell.share for cell in cells) == 1.0


def test_ratios_of_the_matrix_are_of_pairs_within_rounds(findings: Findings) -> None:
    pairs = {(row.id, row.base): row.estimate for row in findings.pairs}
    pairs |= {(base, one): estimate.inverse for (one, base), estimate in pairs.items()}
    for line in findings.matrix:
        if line.base and line.id != line.base and line.ms is not None:
            assert line.estimate.ends == pytest.approx(pairs[line.id, line.base].ends)


def test_refused_contenders_are_in_no_ratio(found: Found) -> None:
    findings = found(replace(BASIC, refused=("tensorflow/default/cpu/1",)))
    (row,) = [line for line in findings.matrix if line.id.framework == "tensorflow" and line.ms]
    assert row.estimate.ratio is None and "refused" in row.reason
    assert row.base and row.base.framework == "pytorch"
    assert headline(findings) == NOTHING
    chip = same(findings)
    assert chip.mark == "!" and "1 did not agree and has no ratio" in chip.text


def test_the_strip_says_what_was_tested_and_what_was_not(found: Found) -> None:
    findings = found(replace(CNN, controls=[(0.0, 1.0), (0.1, 1.1)]))
    chip = self_test(chapter(findings))
    assert chip.mark in "✓!" and "slowed by 10 %" in chip.text
    assert repeats(findings).mark == "~" and "one study, one hour" in repeats(findings).text
    assert not_covered(findings).text.startswith("GPUs, more than 1 thread")
    assert self_test(chapter(found(replace(CNN, machine="none")))).mark == "~"


def test_an_a_a_study_counts_its_intervals(found: Found) -> None:
    findings = found(replace(CNN, controls=[(0.0, 1.0)], alone=True))
    assert headline(findings).startswith("Each contender against itself: ")
    assert not matrix(findings)


OPT_IN = replace(
    CNN,
    frameworks=("pytorch", "tensorflow", "jax"),
    opted=[("pytorch", "compile"), ("tensorflow", "xla")],
    ms=times(
        pytorch=30, tensorflow=15, jax=60, pytorch_tuned=25, tensorflow_tuned=14, jax_tuned=50,
        pytorch_compile=6, tensorflow_xla=20,
    ),
)  # fmt: skip


def test_opt_in_variants_have_one_group_and_one_sentence(found: Found) -> None:
    findings = found(OPT_IN)
    shown = matrix(findings)
    assert [title for title, _ in shown.groups] == [*GROUPS, "Opt-in variants"]
    assert [row.title for row in shown.groups[-1][1]] == [
        "PyTorch, compiled", "TensorFlow, with XLA †",
    ]  # fmt: skip
    said = sentences(findings)
    (own,) = [text for text in said if "compiled" in text or "XLA" in text]
    assert re.fullmatch(
        r"Opt-in: against its own default, PyTorch, compiled, is [45]\.\d times as fast and "
        r"TensorFlow, with XLA, takes 1\.\d times as long †\.",
        own,
    )
    assert not any(re.search(r"PyTorch's step from \d+ to [56]\D", text) for text in said)


def test_many_opt_in_variants_are_counted(found: Found) -> None:
    four = [("pytorch", "compile"), ("tensorflow", "xla"), ("jax", "a"), ("jax", "b")]
    (text,) = [one for one in sentences(found(replace(OPT_IN, opted=four))) if "Opt-in" in one]
    assert text.endswith(" Variants has 2 more.")


def race(workload: str, winner: str, ratio: float = 2.0) -> Race:
    """Three others take as many times as long; TensorFlow's pairs are declared to differ."""
    slower = Estimate(ratio=ratio, verdict="slower")
    return Race(
        Column(workload, "cpu", 1),
        winner,
        tuple(
            Rival(name, slower, "tensorflow" in (name, winner))
            for name in ("pytorch", "tensorflow", "jax")
            if name != winner
        ),
    )


def test_few_sentences_say_each_ratio() -> None:
    assert fastest_and_others([race("mlp", "jax")]) == [
        "JAX is fastest †.",
        "PyTorch takes 2.0 times as long.",
        "TensorFlow takes 2.0 times as long †.",
    ]


def test_two_columns_of_a_workload_have_a_ratio_each() -> None:
    two = race("mlp", "pytorch", 1.6)
    found = [race("mlp", "pytorch", 2.04), replace(two, column=Column("mlp", "cpu", 2))]
    assert fastest_and_others(found)[1:] == [
        "TensorFlow takes 2.0 or 1.6 times as long (1 or 2 threads) †.",
        "JAX takes 2.0 or 1.6 times as long (1 or 2 threads).",
    ]
    near = race("mlp", "pytorch", 1.1)
    assert fastest_and_others([near, found[1]])[2] == "JAX takes 1.1 to 1.6 times as long."


def test_many_sentences_are_summed_up() -> None:
    assert fastest_and_others([race("mlp", "pytorch", 1.12), race("mnist-cnn", "jax")]) == [
        "PyTorch is fastest on the MLP †.",
        "JAX is fastest on the MNIST CNN †.",
        "Where slower, TensorFlow takes 1.1 to 2.0 times as long, JAX 12 % longer and PyTorch 2.0 "
        "times as long †.",
    ]
    many = [
        race(f"net-{n}", name) for n, name in enumerate(("jax", "pytorch", "keras", "jax", "a"))
    ]
    first, *rest = fastest_and_others(many)
    assert first.startswith(
        "Fastest, or equivalent to it, or not significantly slower, in 5 columns: JAX"
    )
    assert len(rest) == 1 and len(first.split()) <= 30


def test_variants_that_were_left_out_are_named(found: Found) -> None:
    findings = found(OPT_IN)
    left_out = {"tensorflow": ["eager", "xla"], "jax": ["tuned"]}
    study = findings.machine.study.model_copy(update={"left_out": left_out})
    records = findings.machine.records.model_copy(update={"study": study})
    text = not_covered(Findings(replace(findings.machine, records=records))).text
    assert text.endswith(" Variants not measured: TensorFlow eager and with XLA; JAX tuned.")
    assert "besides" not in text and "besides" in not_covered(findings).text
