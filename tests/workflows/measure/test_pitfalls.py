"""Pitfalls: asked for by name, compared with another variant, and never required
to apply to a workload."""

import pytest

from frameworks.contract import Framework, Variant
from workflows.certify.summary import summary
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.stages.collect import collect
from workflows.stages.failures import failures

PAIR = [{"framework": "abacus", "variants": ["trap-epsilon", "trap-pooling", "default"]}]
RIGHT = Variant("right")
WHY = "does not apply to mlp: nothing is pooled"


@pytest.fixture
def trapped(study):
    return study(contenders=PAIR)


def test_what_does_not_apply_is_a_missing_row_and_the_others_play_on(trapped):
    record, rows = trapped.contest()
    assert {c.variant: (c.status, c.reason) for c in record.contenders} == {
        "trap-epsilon": ("ok", ""), "trap-pooling": ("missing", WHY), "default": ("ok", ""),
    }  # fmt: skip
    assert set(rows.variant) == {"trap-epsilon", "default"}
    assert rows.groupby("variant").size().nunique() == 1


def test_its_certificate_is_missing_and_that_of_a_pitfall_says_how_far_it_leads(trapped):
    found = {row.variant: row for row in trapped.certificate().rows}
    assert (found["trap-pooling"].status, found["trap-pooling"].reason) == ("missing", WHY)
    assert found["default"].status == "agrees"
    own, other = found["trap-epsilon"].losses, found["default"].losses
    assert len(own) == len(other) == 50
    assert own[0] == other[0] and abs(own[-1] / other[-1] - 1) > 1e-12
    assert found["trap-epsilon"].long and found["trap-epsilon"].long.loss[-1] > 1e-12
    assert not list(failures(trapped.folders, trapped.plan.study))


def test_one_that_does_not_wait_is_found_and_is_timed_all_the_same(study):
    made = study(contenders=[{"framework": "abacus", "variants": ["default", "trap-lazy"]}])
    certificate = made.certificate()
    found = {row.variant: row for row in certificate.rows}
    assert found["trap-lazy"].losses == found["default"].losses
    assert found["trap-lazy"].unfenced > 0.5 and found["trap-lazy"].status == "refused"
    assert "of the step still to be done" in found["trap-lazy"].reason
    assert [*summary(certificate.rows)][-1] == (
        "0 of 1 pitfall compute something else, 1 time only a part of the work"
    )
    _, rows = made.contest()
    times = rows[~rows.warmup].groupby("variant").step_ns.median()
    assert times["trap-lazy"] < 0.5 * times["default"]


def test_the_reference_is_never_one_with_a_pitfall(trapped):
    assert trapped.plan.reference.name == "abacus/default/cpu/1"


def test_records_say_what_each_falls_into(trapped):
    trapped.contest()
    records, _ = collect(trapped.folders)
    assert [(row.framework, row.variant, row.pitfall, row.beside) for row in records.pitfalls] == [
        ("abacus", "trap-epsilon", "a larger epsilon", "default"),
        ("abacus", "trap-pooling", "pooling the wrong way", "default"),
    ]


@pytest.mark.parametrize(
    ("contenders", "where"),
    [
        ([{"framework": "abacus", "variants": ["trap-epsilon"]}], "cpu with threads 1"),
        (
            [
                {"framework": "abacus", "variants": ["default"]},
                {"framework": "abacus", "variants": ["trap-epsilon"], "threads": [2]},
            ],
            "cpu with threads 2",
        ),
    ],
)
def test_a_pitfall_alone_is_refused_before_any_time_is_spent(abacus, small, contenders, where):
    with pytest.raises(ConfigurationError) as refused:
        parse({**small, "contenders": contenders})
    assert "trap-epsilon is compared with its 'default'" in str(refused.value)
    assert where in str(refused.value) and "add it" in str(refused.value)


@pytest.mark.parametrize(
    "variants",
    [
        {"default": RIGHT, "odd": Variant("wrong", pitfall="something")},
        {"default": RIGHT, "trap-odd": Variant("wrong")},
        {"default": RIGHT, "trap-odd": Variant("", pitfall="it", compared_with="tuned")},
        {"trap-odd": Variant("", pitfall="it", compared_with="trap-odd")},
        {"default": RIGHT, "odd": Variant("a part", part="forward")},
        {"default": RIGHT, "part-odd": Variant("no part")},
        {"default": RIGHT, "part-odd": Variant("", part="update")},
        {"part-odd": Variant("", part="forward", compared_with="part-odd")},
        {"part-odd": Variant("", part="forward")},
        {"default": RIGHT, "odd": Variant("", reduced="bfloat16")},
        {"default": RIGHT, "float16-odd": Variant("", reduced="float16")},
        {"default": RIGHT, "tf32-odd": Variant("", reduced="bfloat16")},
        {"bfloat16-odd": Variant("", reduced="bfloat16")},
    ],
)
def test_names_tell_pitfalls_parts_and_formats_and_each_has_what_it_is_compared_with(variants):
    with pytest.raises(ValueError, match="odd"):
        Framework("f", "F", (), "", "", variants)
