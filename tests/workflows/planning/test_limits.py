"""Configurations of any bytes and any values: refused by key, in a few lines, and at once."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workflows.planning.configfiles import ConfigurationError, parse, read

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 9)}]" for old, new in pairwise("abcdefgh")
)


MERGES = "a: &a {x: 1, y: 2}\n" + "\n".join(
    f"{new}: &{new} {{<<: [{', '.join(['*' + old] * 9)}]}}" for old, new in pairwise("abcdefg")
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00", "not in UTF-8"),
        (b"study: \xff", "not in UTF-8"),
        (b"\x80\x81", "not in UTF-8"),
        (b"study: a\x00b", "not readable as YAML"),
        (b"[" * 5000, "not readable as YAML: values are nested too deeply"),
        (b"{" * 5000 + b"}" * 5000, "not readable as YAML"),
        (b"study: 2001-99-99", "not readable as YAML"),
        (b"? [a]\n: b", "not readable as YAML"),
        (b"? {a: b}\n: b", "not readable as YAML"),
        (b"study: !!python/object/apply:os.system [ls]", "not readable as YAML"),
        (b"seed: " + b"9" * 5000, "not readable as YAML"),
        (b"seed: " + b"9" * 50, "seed: a number of more than 18 digits"),
        (b"minutes: .nan", "minutes: a number that is not finite"),
        (b"minutes: .inf", "minutes: a number that is not finite"),
        (b"workloads: {mlp: {batch: .inf}}", "workloads.mlp.batch: a number that is not finite"),
        (b"a: {a: {a: {a: {a: {a: .inf}}}}}", ": a.a.a.a.a: a number that is not finite"),
        (b"study: " + b"[" * 21 + b"]" * 21, "study: more than 20 levels deep"),
        (b"study: &a [*a]", "a value that contains itself in line 1"),
        (b"study: &a {<<: [*a, *a]}", "a value that contains itself in line 1"),
        (LAUGHS.encode(), ": more than 100,000 values in line 6"),
        (MERGES.encode(), ": more than 100,000 values in line 6"),
        pytest.param(
            b"devices: [" + b"1," * 100_000 + b"]",
            ": more than 100,000 values in line 1",
            marks=pytest.mark.all,
        ),
        (b"seed: 1" + b":1" * 5000, "a number of 10,001 characters, 100 are read in line 1"),
        (b"seed: !!int {=: 1" + b":1" * 5000 + b"}", "a number of 10,001 characters"),
        (b"study: !!timestamp a", "not a value of the kind timestamp in line 1"),
        (b"\nstudy: !!bool a", "not a value of the kind bool in line 2"),
        (b"study: !!int ''", "not a value of the kind int"),
        (b"study: !!float ''", "not a value of the kind float"),
        (b"study: !!bool {=: a}", "not a value of the kind bool"),
        (b'study: "\\UFFFFFFFF"', "not readable as YAML"),
        (
            b"seed: 1\n'seed': 2",
            "a second key 'seed' (remove it, or the first, in line 1) in line 2",
        ),
        (b"contest: {turn: 4, turn: 8}", "a second key 'turn'"),
        (b"title: " + b"x" * 30_000, "title: a text of 30,000 characters"),
        (b"minutes: 1:30", "1:30, which YAML reads as 90 (write 90) in line 1"),
        (b"margin: -1:00.5", "-1:00.5, which YAML reads as -60.5"),
        (b"\nreplicates: 010", "010, which YAML reads as 8 (write 8) in line 2"),
        (b"#" * 1_000_001, "more than 1,000,000 bytes"),
        (b"1: 2", "mine.yaml: 1: a key must be text"),
        (b"null: 2", "mine.yaml: None: a key must be text"),
        (b"", "keys and values are wanted"),
        ("study: ä".encode("utf-16"), "not in UTF-8"),
        ("study: ä".encode("latin-1"), "not in UTF-8"),
    ],
)
def test_any_bytes(tmp_path, content, said):
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError) as error:
        read([ROOT / "config" / "study.yaml", path])
    assert said in str(error.value) and len(str(error.value)) < 2000


def test_folders_devices_and_pipes_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, Path(os.devnull), tmp_path / "pipe"):
        with pytest.raises(ConfigurationError, match=f"{path}: not a file: name a YAML file"):
            read([path])


def test_a_key_may_stand_beside_a_merge_that_has_it(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("contest: {<<: {rounds: 3, turn: 6}, rounds: 7}")
    contest = read([ROOT / "config" / "study.yaml", path]).contest
    assert (contest.rounds, contest.turn) == (7, 6)


@pytest.mark.parametrize("place", ["{}: 1", "{}: .nan", "contest: {{{}: 1}}", "{}: [\u202e\u2028"])
def test_characters_that_steer_a_terminal_are_not_printed(tmp_path, place):
    path = tmp_path / "mine.yaml"
    path.write_text(place.format('"minute\\e[31m\\n\\r\u202e"'), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"minute.*\\u202e") as error:
        read([ROOT / "config" / "study.yaml", path])
    assert all(line.isprintable() for line in str(error.value).split("\n"))


HUGE = {"contest": ("warmup", "rounds", "turn", "discard", "timeout_s"),
        "certificate": ("steps", "full_steps", "tolerance", "rounding")}  # fmt: skip


@pytest.mark.parametrize(
    ("overlay", "key"),
    [
        *(
            ({section: {key: 10**9}}, f"{section}.{key}")
            for section in HUGE
            for key in HUGE[section]
        ),
        ({"contest": {"rounds": 9999, "turn": 999}}, "contest: more than 1,000,000 mini-batches"),
        ({"contest": {"turn": 1001}}, "contest.turn"),  # the reference trains every step
        ({"contest": {"warmup": 1001}}, "contest.warmup"),
        ({"replicates": 10**6}, "replicates"),
        ({"replicates": True}, "replicates: a number is wanted, not a truth value"),
        ({"minutes": True}, "minutes: a number is wanted"),
        ({"contest": {"rounds": True}}, "contest.rounds: a number is wanted"),
        ({"threads": [True]}, "threads[0]: a number is wanted"),
        ({"controls": {"handicaps": [0.1, True]}}, "controls.handicaps[1]: a number is wanted"),
        ({"minutes": 1e9}, "minutes"),
        ({"seed": 2**32}, "seed"),
        ({"threads": [10**6]}, "threads[0]"),
        ({"threads": list(range(1, 300))}, "threads"),
        ({"contenders": [{"framework": "abacus"}] * 300}, "contenders"),
        ({"workloads": {"mlp": {"features": 10**10}}}, "workloads"),
        ({"workloads": {"mlp": {"hidden": [10**8, 10**8]}}}, "workloads"),
        ({"workloads": {"mlp": {"hidden": [8], "samples": 10**9, "features": 10**9}}}, "workloads"),
        ({"workloads": {"mlp": {"from": ["mlp"]}}}, "workloads"),
        (
            {"workloads": {"mlp": {"hidden": [8] * 30_000}}},
            "workloads: mlp: its description has more than 100,000 values",
        ),
        (
            {"workloads": {"mlp": {"hidden": [10**5, 10**5], "batch": 10**9, "samples": 10**9}}},
            "workloads: mlp: 6e+19 floating-point operations in a step",
        ),
        (
            {"workloads": {"resnet-50": {"blocks": [10**9, 1]}}},
            "workloads: resnet-50: blocks: 1,000,000,001 in all, at most 1,000 are possible",
        ),
        (
            {"workloads": {"divide": {"repeat": 10**9}}},
            "workloads: divide: 1e+09 repeats of an operation, at most 1e+06",
        ),
        ({"contest": {"timeout_s": 1}}, "contest.timeout_s"),
        ({"certificate": {"tolerance": 1e-300}}, "certificate.tolerance"),
        ({"certificate": {"rounding": 1e-300}}, "certificate.rounding"),
        (
            {"workloads": {"mlp": {"optimiser": {"adam": {"beta1": 1}}}}},
            "workloads: mlp: optimiser (adam) beta1: a number below 1",
        ),
        (
            {"workloads": {"mlp": {"optimiser": {"rmsprop": {"decay": 1}}}}},
            "workloads: mlp: optimiser (rmsprop) decay: a number below 1",
        ),
        (
            {
                "contest": {"together": False},
                "workloads": {f"w{n}": {"from": "mlp", "hidden": [2] * 9000} for n in range(6)},
                "sweeps": {
                    "s": {"from": "mlp", "hidden": [2] * 9000, "sizes": {"batch": [1, 2, 3, 4, 5]}}
                },
            },
            "workloads, sweeps and all other keys: more than 100,000 values",
        ),
        ({"workloads": {f"w{n}": {"from": "mlp"} for n in range(300)}}, "workloads"),
        ({"interpreters": {"abacus": "/bin/\x00python"}}, "interpreters.abacus"),
        ({"mnist": {"folder": "a\nb"}}, "mnist.folder"),
        ({"controls": {"handicaps": [1e300]}}, "controls.handicaps[0]"),
    ],
)
def test_a_number_that_is_too_large(abacus, small, overlay, key):
    with pytest.raises(ConfigurationError, match="cannot be used") as error:
        parse({**small, **overlay})
    assert f"\n  {key}" in str(error.value) and len(str(error.value)) < 3000


@pytest.mark.parametrize(
    ("times", "controls", "number"),
    [(3, False, "1,341"), (2, {"handicaps": [n / 1000 for n in range(1, 200)]}, "1,094"),
     (1, {"of": "all"}, "1,341")],
)  # fmt: skip
def test_too_many_contenders_in_all(abacus, small, times, controls, number):
    many = [{"framework": "abacus", "variants": ["default", "kept", "slow"],
             "threads": list(range(1, 150))}] * times  # fmt: skip
    said = f"contenders: {number} with controls, at most 1,000 are possible"
    with pytest.raises(ConfigurationError, match=said):
        parse({**small, "contenders": many, "controls": controls})
