from dataclasses import replace

import pytest
import yaml

from frameworks.jax import FRAMEWORK as JAX
from tests.conftest import ROOT
from workflows.planning.configfiles import ConfigurationError, merge, parse, read

CONFIG = ROOT / "config"


def default():
    return yaml.safe_load((CONFIG / "study.yaml").read_text())


@pytest.mark.parametrize("name", [p.name for p in sorted(CONFIG.glob("*.yaml"))])
def test_committed_configurations_are_valid(name):
    read([CONFIG / "study.yaml", CONFIG / name])


# What is laid over the default study, the key that the error must name, and a word of advice.
BAD = {
    "misspelt key": ({"replicats": 3}, "replicats", "did you mean 'replicates'"),
    "misspelt key in a section": ({"contest": {"round": 3}}, "contest.round", "'rounds'"),
    "no replicates": ({"replicates": 0}, "replicates", "greater than or equal to 1"),
    "replicates in words": ({"replicates": "five"}, "replicates", "'five'"),
    "unknown loader": ({"loaders": ["fork-1"]}, "loaders[0]", "inline"),
    "a loader without its workers": ({"loaders": ["framework"]}, "loaders[0]", "framework-2"),
    "no images to load": ({"loaders": ["inline"]}, "loaders", "not train on random images"),
    "negative seed": ({"seed": -1}, "seed", "-1"),
    "study with a slash": ({"study": "a/b"}, "study", "'a/b'"),
    "study with a space": ({"study": "a b"}, "study", "letters, digits, - and _ only"),
    "a workload of no other": (
        {"workloads": {"x": {"from": "mplx"}}}, "workloads", "x: from: 'mplx' is not in",
    ),
    "study without a name": ({"study": None}, "study", "string"),
    "study named ..": ({"study": ".."}, "study", "'..'"),
    "unknown framework": (
        {"contenders": [{"framework": "pytorhc"}]}, "contenders[0]", "known: ",
    ),
    "unknown variant": (
        {"contenders": [{"framework": "pytorch", "variants": ["quick"]}]},
        "contenders[0]", "it has: default, tuned",
    ),
    "a variant twice": (
        {"contenders": [{"framework": "pytorch", "variants": ["tuned", "tuned"]}]},
        "contenders[0].variants", "twice",
    ),
    "a contender twice": (
        {"contenders": [{"framework": "pytorch", "threads": [1]}, {"framework": "pytorch"}]},
        "contenders", "pytorch's default on cpu with threads 1 is listed twice",
    ),
    "no contenders": ({"contenders": []}, "contenders", "at least 1"),
    "contender without framework": (
        {"contenders": [{"variants": ["default"]}]}, "contenders[0].framework", "missing",
    ),
    "unknown device": ({"devices": ["tpu"]}, "devices[0]", "'cpu' or 'gpu'"),
    "no threads": ({"threads": [0]}, "threads[0]", "1"),
    "threads in words": ({"threads": ["some"]}, "threads[0]", "'some'"),
    "a thread count twice": ({"threads": [1, 1]}, "threads", "twice"),
    "reference that is not there": (
        {"reference": "mlx"}, "reference",
        "not among the contenders (known: fastest, pytorch, tensorflow, jax)",
    ),
    "unknown workload": ({"workloads": {"resnet": {}}}, "workloads", "not in the catalogue"),
    "workload from a list": ({"workloads": {"w": {"from": []}}}, "w: from", "a name"),
    "workload with a slash": ({"workloads": {"a/b": {"from": "mlp"}}}, "workloads", "letters"),
    "workloads with names too long for a folder": (
        {"workloads": {"a" * 120: {"from": "mlp"}, "b" * 120: {"from": "mlp"}}},
        "contest.together", "200 at most",
    ),
    "workloads that a report cannot tell apart": (
        {"workloads": {"mlp": {}, "MLP": {"from": "mlp"}}}, "workloads", "mlp and MLP have the same"
    ),
    "workload with another's title": (
        {"workloads": {"divide": {}, "Division": {"from": "mlp"}}}, "workloads", "rename one",
    ),
    "title of several lines": ({"title": "a\nb"}, "title", "one line"),
    "unknown parameter": (
        {"workloads": {"mlp": {"feature": 3}}}, "workloads", "did you mean 'features'",
    ),
    "unknown optimiser to certify": (
        {"certificate": {"optimisers": ["adamm"]}}, "certificate.optimisers", "did you mean 'adam'",
    ),
    "unknown MNIST source": ({"mnist": {"source": "web"}}, "mnist.source", "'auto'"),
    "a handicap of nothing": ({"controls": {"handicaps": [0]}}, "controls.handicaps[0]", "0"),
    "a handicap too small to see": (
        {"controls": {"handicaps": [1e-300]}}, "controls.handicaps[0]", "0.0001",
    ),
    "a handicap in percent": ({"controls": {"handicaps": [25]}}, "controls.handicaps[0]", "25"),
    "two handicaps of one name": (
        {"controls": {"handicaps": [0.05, 0.050000001]}}, "controls.handicaps", "'5%' is listed",
    ),
    "controls of nothing": (
        {"controls": {"twin": False, "handicaps": []}}, "controls", "`controls: false`",
    ),
    "controls of a variant that nobody has": (
        {"controls": {"variant": "nope"}}, "controls.variant", "'nope': `samestep list`"
    ),
    "controls of somebody": ({"controls": {"of": "some"}}, "controls.of", "'all'"),
    "an unknown workload in a contest": (
        {"contest": {"together": [["mlp", "resnet"]]}}, "contest.together", "'resnet' is not among",
    ),
    "a workload in two contests": (
        {"contest": {"together": [["mlp"], ["mlp", "mnist-cnn"]]}},
        "contest.together", "'mlp' is listed twice",
    ),
    "a contest twice": (
        {"contest": {"together": [["mlp"], ["mlp"]]}}, "contest.together", "'mlp' is listed twice",
    ),
    "a contest of nothing": ({"contest": {"together": [[]]}}, "contest.together", "lists of names"),
    "nothing but discarded": ({"contest": {"discard": 9}}, "contest", "leaves nothing"),
    "loose tolerance": ({"certificate": {"tolerance": 0.1}}, "certificate.tolerance", "0.1"),
    "margin of nothing": ({"margin": 0}, "margin", "equal to 0.000001"),
    "precision in percent": ({"precision": 3}, "precision", "less than 1"),
    "no time": ({"minutes": 0}, "minutes", "greater than 0"),
    "neither minutes nor replicates": (
        {"minutes": None, "replicates": None}, "replicates or minutes", "one of these keys",
    ),
    "confidence of one": ({"confidence": 1}, "confidence", "equal to 0.9999"),
    "confidence of nearly one": ({"confidence": 1 - 1e-16}, "confidence", "equal to 0.9999"),
    "precision of nothing": ({"precision": 1e-300}, "precision", "equal to 0.0001"),
    "interpreter for nobody": ({"interpreters": {"mlx": "/bin/python"}}, "", "interpreters: 'mlx'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_configurations_are_refused_by_key(case):
    overlay, key, advice = BAD[case]
    values = default()
    for replaced in ("contenders", "devices", "threads"):
        if replaced in overlay:
            values.pop(replaced)
    merge(values, overlay)
    with pytest.raises(ConfigurationError) as caught:
        parse(values)
    message = str(caught.value)
    assert key in message
    assert advice in message
    assert len(message.splitlines()) <= 15
    assert all(len(line) < 400 for line in message.splitlines())


def test_two_frameworks_with_one_title_are_refused(monkeypatch):
    """A copy of an adapter keeps its title, and no report could tell the two apart."""
    monkeypatch.setattr("frameworks.jax.FRAMEWORK", replace(JAX, title="PyTorch"))
    with pytest.raises(ConfigurationError, match="pytorch and jax both have the title 'PyTorch'"):
        parse({**default(), "contenders": [{"framework": "pytorch"}, {"framework": "jax"}]})


def test_a_long_name_is_cut_in_the_refusal():
    values = {**default(), "contenders": [{"framework": "pytorch"}]}
    values["contenders"][0]["variants"] = ["v" * 9000]
    with pytest.raises(ConfigurationError) as caught:
        parse(values)
    assert "has no variant 'vvv" in str(caught.value) and len(str(caught.value)) < 1200


@pytest.mark.parametrize("key", ["study", "reference", "contenders", "workloads"])
def test_missing_keys_are_named(key):
    values = default()
    del values[key]
    with pytest.raises(ConfigurationError, match=f"{key}: this key is missing"):
        parse(values)


def test_unreadable_files_are_named(tmp_path):
    (tmp_path / "broken.yaml").write_text("study: [")
    (tmp_path / "list.yaml").write_text("- study")
    for name, words in [("none", "No such file"), ("broken", "YAML"), ("list", "keys and values")]:
        with pytest.raises(ConfigurationError, match=words) as caught:
            read([tmp_path / f"{name}.yaml"])
        assert f"{name}.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("replicates: x", "margin: 0.1", "one.yaml: replicates: "),
        ("contest: {turn: 0}", "contest: {rounds: 3}", "one.yaml: contest.turn: "),
        ("contest: {turn: 3}", "contest: {turn: 0}", "two.yaml: contest.turn: "),
        ("threads: [0]", "smoke: true", "one.yaml: threads[0]: "),
        ("seed: 1", "sede: 1", "two.yaml: sede: unknown key"),
        ("workloads: {w: {layers: 1}}", "workloads: {v: {from: mlp}}", "one.yaml: workloads: w: "),
        ("seed: 1", "workloads: {off: {}}", "two.yaml: workloads.False: a key must be text"),
        ("contenders: [jax]", "seed: 1", "one.yaml: contenders[0]: keys with values are wanted"),
        ("controls: true", "seed: 1", "one.yaml: controls: keys with values are wanted"),
        ("contest: {together: mlp}", "seed: 1", "one.yaml: contest.together: true, false or lists"),
        ("contest: {together: [mlp]}", "seed: 1", "one.yaml: contest.together: true, false or"),
        ("contest: {together: [[]]}", "seed: 1", "one.yaml: contest.together: true, false or"),
        ("sweeps: {s: {from: mlp, sizes: {nope: [1, 2]}}}", "seed: 1", "one.yaml: sweeps.s: s-1: "),
        ("sweeps: {s: {from: nope, sizes: {batch: [1, 2]}}}", "seed: 1", "one.yaml: sweeps.s: s-1"),
        (
            f"sweeps: {{s: {{from: mlp, sizes: {{batch: {list(range(1, 300))}}}}}}}",
            "seed: 1",
            "one.yaml: sweeps.s: 299 entries, at most 200 are possible",
        ),
        (
            "machines: {a: {interpreters: {x: y}}}",
            "seed: 1",
            "one.yaml: machines.a.interpreters: 'x' is not among the contenders",
        ),
        ("seed: 1", "5: x", "two.yaml: 5: a key must be text"),
        ("true: x", "seed: 1", "one.yaml: True: a key must be text"),
    ],
)
def test_a_fault_is_one_line_that_names_its_file(tmp_path, first, second, said):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(first)
    two.write_text(second)
    with pytest.raises(ConfigurationError) as caught:
        read([CONFIG / "study.yaml", one, two])
    said = said.format(one=one, two=two)
    assert f"/{said}" in str(caught.value) and "\n" not in str(caught.value)


def test_two_faults_are_two_lines(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("margin: 5\nreplicates: x")
    with pytest.raises(ConfigurationError) as caught:
        read([CONFIG / "study.yaml", path])
    lines = [line.split(": ")[:2] for line in str(caught.value).split("\n  ")]
    assert sorted(lines) == [[str(path), "margin"], [str(path), "replicates"]]


def test_later_files_go_over_earlier_ones_key_by_key(tmp_path):
    (tmp_path / "over.yaml").write_text("contest: {rounds: 3}\nworkloads: {mlp: {batch: 16}}\n")
    study = read([CONFIG / "study.yaml", tmp_path / "over.yaml"])
    assert study.contest.rounds == 3
    assert study.contest.turn == default()["contest"]["turn"]
    assert study.workload("mlp").batch == 16
    assert "mnist-cnn" in study.workloads


def test_a_workload_can_be_written_in_the_configuration():
    values = default()
    values["workloads"] = {
        "tiny": {
            "dataset": {"kind": "normal", "samples": 3200, "shape": [8, 8, 3], "classes": 4},
            "batch": 32,
            "layers": [{"conv2d": {"filters": 4, "padding": "same"}}, "relu",
                       "global_average_pool", {"dense": 4}],
            "loss": "sparse_cross_entropy",
            "optimiser": {"momentum": {"learning_rate": 0.1}},
        }
    }  # fmt: skip
    workload = parse(values).workload("tiny")
    assert [stage.output_shape for stage in workload.stages] == [
        (8, 8, 4), (8, 8, 4), (4,), (4,),
    ]  # fmt: skip
    assert workload.optimiser.momentum == 0.9


@pytest.mark.parametrize(
    ("together", "groups"),
    [
        (True, {"a+b+c": ["a", "b", "c"]}),
        (False, {"a": ["a"], "b": ["b"], "c": ["c"]}),
        ([["c", "a"]], {"c+a": ["c", "a"], "b": ["b"]}),
        ([["a"], ["b", "c"]], {"a": ["a"], "b+c": ["b", "c"]}),
    ],
)
def test_workloads_share_contests_as_configured(together, groups):
    values = {**default(), "workloads": {name: {"from": "mlp"} for name in "abc"}}
    values["contest"] = {"together": together}
    assert parse(values).groups == groups


def test_controls_are_on_unless_they_are_switched_off():
    assert parse(default()).controls.kinds == [("twin", 0.0), ("10%", 0.1)]
    values = default()
    del values["controls"]
    assert parse(values).controls.kinds == [("twin", 0.0), ("10%", 0.1)]
    for word in (False, None):
        assert parse({**default(), "controls": word}).controls is None
        again = parse({**default(), "controls": word}).model_dump(mode="json")
        assert parse(again).controls is None


def test_the_a_a_study_has_every_contender_of_the_default_study():
    study = read([CONFIG / "study.yaml", CONFIG / "aa.yaml"])
    assert study.contenders == read([CONFIG / "study.yaml"]).contenders
    assert (study.controls.of, study.controls.alone) == ("all", True)
    assert study.controls.kinds == [("twin", 0.0)]


def test_an_optimiser_that_no_workload_uses_is_proven_on_the_cheapest():
    def proven(**workloads):
        study = parse({**default(), "workloads": workloads})
        return {name: study.other_optimisers(name) for name in workloads}

    others = ["sgd", "momentum", "rmsprop"]
    assert proven(**{"mnist-cnn": {}, "mlp": {}}) == {"mlp": others, "mnist-cnn": []}
    assert proven(**{"mnist-cnn": {}}) == {"mnist-cnn": others}
    sgd = {"optimiser": {"sgd": {"learning_rate": 0.01}}}
    assert proven(**{"mnist-cnn": sgd, "mlp": {}}) == {"mlp": others[1:], "mnist-cnn": []}


def test_schema_for_editors_is_current():
    from workflows.planning.configfiles import schema

    assert (CONFIG / "schema.json").read_text() == schema()


def test_former_names_of_keys_are_read_and_said(small, abacus, tmp_path, capsys):
    former = {**small, "harness": False, "precision": 0.01, "contest": {"settle": 1, "turn": 4}}
    former = {key: value for key, value in former.items() if key != "noop"}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(former))
    study = read([path])
    assert (study.noop, study.target_precision, study.contest.discard) == (False, 0.01, 1)
    assert capsys.readouterr().err.splitlines() == [
        f"{path}: `harness` is now called `noop`; the old name still works.",
        f"{path}: `precision` is now called `target_precision`; the old name still works.",
        f"{path}: `contest.settle` is now called `contest.discard`; the old name still works.",
    ]
    assert parse(former) == study
