"""For every rule there is an adapter that breaks this rule and no other."""

import os

import pytest

from frameworks.oracle import OracleTrainer
from frameworks.workloads import initial_weights
from frameworks.workloads.datasets.mnist import MnistSettings
from workflows.certify.as_timed import FLOAT32_LOSS, wrong_again
from workflows.conformance.networks import SQUARE, Basis
from workflows.conformance.rules import RULES, certificates, truths
from workflows.conformance.rules.trainers import allowed_in_a_study, unlike
from workflows.conformance.worker import drawn, losses
from workflows.planning.entries import CertificateEntry
from workflows.records.folders import Folders
from workflows.records.schema import CertificateRow
from workflows.records.thresholds import AGAIN
from workflows.stages.prepare import prepare
from workflows.worker.recorded_run import SEED

SMALL = {"mlp": {"features": 20, "hidden": [8], "batch": 4}}
NEEDS_REFERENCE = {"certificate": SMALL}

# The framework, what must be among the words of what was seen, and of what is to be done.
FLAWS = [
    ("source", "hasty.py:3 imports time", "the harness has the clock"),
    ("build", "no dense layers, nor others", "build at least dense layers"),
    ("precision", "asked for float64: weights in float64, trained to float32", "precisions="),
    ("precision-undeclared", "float64, which is not declared", "raise Unavailable"),
    ("variant", "builds a network all the same", "raise a KeyError"),
    ("device", "asked for a GPU, which is not here, it silently uses the", "raise Unavailable"),
    ("settings", "lacks intra_threads", "SETTINGS"),
    ("settings-literal", "asked for float64, settings()['precision'] is 'float32'", "read it off"),
    ("read-back", "compilation is 'eager' at literal.py:16", "read it off"),
    ("weights", "dense1.kernel, once given away by weights(), changes", "weights() gives new"),
    ("batch", "where the arrays are left alone after put()", "copy in put()"),
    ("repeats", "another trainer from the same weights, with sgd: loss of step 3", "seed them"),
    (
        "repeats-restart",
        "a restart from the same weights, with adam: loss of step 3",
        "forgets all",
    ),
    ("interleaving", "in turns with another trainer: loss of step 1", "in the trainer, not in"),
    (
        "interleaving-optimiser",
        "in turns with another trainer: loss of step",
        "the optimiser's state",
    ),
    ("memory", "MB more for each trainer that is gone, of 19 MB", "keep no reference"),
    ("first-loss", "dense, dense, mean_squared_error: ", "a miniature of it"),
    ("vocabulary", "adam: ", "epsilon"),
    ("vocabulary-late", "adam: refused by a step only", "Adapter.trainer"),
    ("vocabulary-crash", "momentum: KeyError: 1; rmsprop: KeyError: 1", "NotImplementedError"),
    ("refusal", "conv2d: refused with 'cannot do this'", "NotImplementedError"),
    ("fence", "of them was left to be done", "wait in synchronise()"),
    ("fence-behind", "times as long as one in step() and synchronise()", "not in loss()"),
    ("asynchronous", "step() holds the caller up", "read nothing back"),
    ("threads", "asked for 1, ", "Conditions.threads"),
    ("loader-unnamed", "Framework.loader is False, and the adapter has a method", "set Framework."),
    ("loader-not-there", "Framework.loader is True, and the adapter has no", "set Framework."),
    ("loader", "inputs of mini-batch 1 are not those that were prepared", "in the order"),
    ("loader-memory", "inputs of mini-batch 1 are not those that were prepared", "no more"),
    ("loader-kept", "0 preparations for the", "nothing is kept"),
    ("loader-ahead", "7 mini-batches prepared ahead by 2 workers", "prepare 2 at most"),
    ("loader-workers", "asked for 2 workers, 1 prepared mini-batches at the same time", "threads"),
    ("certificate", "mlp: refused: loss differs by", "mlp: "),
]


def flawed_rule(name):
    """The rule that a framework breaks, from its name: the longest that the name begins with."""
    return max((rule for rule in RULES if name.startswith(rule.replace(" ", "-"))), key=len)


def examined_with(examine, name, rule, **asked):
    if rule == "certificate":
        pytest.importorskip("torch")
    device = "gpu" if rule == "asynchronous" else "cpu"
    workloads = NEEDS_REFERENCE.get(rule, {})
    return examine(f"flawed-{name}", device=device, workloads=workloads, **asked)


def require_broken(examined, rule, rules, seen, mend):
    """Of these rules, exactly this one is broken."""
    found = {name: examined.finding(name) for name in dict.fromkeys([rule, *rules])}
    broken = {name: one for name, one in examined.findings.items() if one.status == "broken"}
    # A wrong first loss is a wrong element, too, and that rule names it.
    also = {"vocabulary"} & set(found) if rule == "first loss" else set()
    # A precision that is written down is wrong in float64, which is advice, and so is writing it.
    advised = {"read back"} if examined.finding(rule).advice else set()
    assert set(broken) - advised == {rule} | also, broken
    assert seen in broken[rule].seen
    assert mend in broken[rule].mend
    assert broken[rule].seen in examined.outcome(rule).paragraph()


FLAWED = pytest.mark.parametrize(("name", "seen", "mend"), FLAWS, ids=[name for name, *_ in FLAWS])


@pytest.mark.brief
@FLAWED
def test_that_rule_is_broken(examine, name, seen, mend):
    """In this process if it may."""
    rule = flawed_rule(name)
    examined = examined_with(examine, name, rule, isolated=RULES[rule].isolated)
    require_broken(examined, rule, [], seen, mend)


@pytest.mark.all
@FLAWED
def test_exactly_that_rule_is_broken(examine, name, seen, mend):
    rule = flawed_rule(name)
    require_broken(examined_with(examine, name, rule), rule, RULES, seen, mend)


def test_there_is_a_flaw_for_every_rule():
    named = {name for name, *_ in FLAWS} | {"description"}
    assert all(rule.replace(" ", "-") in named for rule in RULES)


def offer(folder, monkeypatch, description):
    """A package whose description is this, and whose framework is the module `heavy`."""
    (folder / "heavy-1.dist-info").mkdir()
    (folder / "heavy-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: heavy\n")
    (folder / "heavy-1.dist-info" / "top_level.txt").write_text("heavy\n")
    (folder / "heavy-1.dist-info" / "entry_points.txt").write_text(
        "[samestep.frameworks]\nlight = light:FRAMEWORK\n"
    )
    (folder / "heavy.py").write_text("")
    (folder / "light.py").write_text(
        "from frameworks.contract import Framework, Variant\n"
        f"{description[0]}\n"
        "FRAMEWORK = Framework(name='light', title='Light', distributions=('heavy',), "
        f"install='pip', adapter='flawed_adapters:{description[1]}', "
        f"variants={{'{description[2]}': Variant('one')}})\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]))


@pytest.mark.parametrize(
    ("description", "seen"),
    [
        (("import heavy", "Flawed", "default"), "heavy is not to be imported by the description"),
        (("", "NoSuch", "default"), "'flawed_adapters:NoSuch' does not start: AttributeError"),
        (("", "Flawed", "Default"), "variant 'Default': lower-case letters"),
    ],
)
def test_a_description_that_does_not_hold(examine, tmp_path, monkeypatch, description, seen):
    offer(tmp_path, monkeypatch, description)
    found = examine("light", variant=description[2])
    assert found.finding("description").status == "broken"
    assert seen in found.finding("description").seen
    assert found.finding("build").tried == (description[1:] == ("Flawed", "default"))


def test_a_framework_without_a_default(examine, tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, ("", "AbacusAdapter", "kept"))
    found = examine("light", variant="kept")
    assert found.finding("variant").status == "broken"
    assert "there is no variant 'default'" in found.finding("variant").seen
    assert found.finding("repeats").status == "holds"


def test_a_description_without_its_framework(examine, tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, ("", "Flawed", "default"))
    found = examine("light").finding("description")
    assert found.status == "holds" and "readable without heavy" in found.seen


@pytest.mark.parametrize(("variant", "words"), [("killed", "SIGKILL"), ("hangs", "within 4 s")])
def test_a_process_that_ends_or_hangs_is_a_broken_rule(examine, variant, words):
    examined = examine("abacus", variant=variant, timeout_s=4)
    found = examined.finding("repeats")
    assert found.status == "broken" and words in found.seen
    assert examined.finding("interleaving").seen == "not tried before 'repeats' holds"
    assert examined.finding("batch").status == "holds"  # in a process of its own


@pytest.mark.parametrize("quick", [True, False])
def test_a_certificate_begins_in_a_fresh_process_unless_it_is_quick(
    examine, monkeypatch, tmp_path, quick
):
    """What an adapter has learnt in float64 cannot help it then."""
    pytest.importorskip("torch")
    subject = examine("abacus", workloads=SMALL, quick=quick).subject
    used = subject.opened("float64", "cpu", 1)
    handed = []

    class Looked:
        def __init__(self, runner, own, *others):
            handed.extend(runner.workers.values())

        def row(self):
            return None

    monkeypatch.setattr(certificates, "examining", lambda plan, name: lambda contender: Looked)
    folders = Folders(tmp_path / "here" / "conformance")
    plan = certificates.planned(subject, "pytorch", folders)
    workload = plan.study.workload("mlp")
    prepare(workload, folders.data / "mlp", 1, MnistSettings(source="stand-in"))
    certificates.examined(subject, plan, "mlp", folders)
    assert handed == ([used] if quick else [])
    assert bool(subject.processes) == quick


def test_a_loss_that_is_not_finite_is_named_and_nothing_else_is_blamed():
    """A loss that is NaN differs from itself. That is no fault of settings() or put()."""

    class Unfinished(OracleTrainer):
        def loss(self):
            return float("nan") if self.steps == 2 else super().loss()

        def step(self, batch):
            super().step(batch)
            self.steps = getattr(self, "steps", 0) + 1

    network = Basis("mean_squared_error", "sgd").network((6,), SQUARE)
    trainer = Unfinished(network, initial_weights(network, SEED))
    with pytest.raises(ValueError, match=r"^loss\(\) gave nan at step 2 of a small network$"):
        losses(trainer, drawn(network, 3))


def test_the_study_and_the_check_allow_as_much():
    """A kernel that adds in another order changes last bits, which is no flaw."""
    assert unlike([0.5, float("nan")], [0.5 + 4e-5, float("nan")], [AGAIN] * 2) == ""
    assert "loss of step 1 is 0.5001, was 0.5 (allowed 1e-04" in unlike([0.5], [0.5001], [AGAIN])
    network = Basis("mean_squared_error", "sgd").network((6,), SQUARE)
    true = losses(OracleTrainer(network, initial_weights(network, SEED)), drawn(network, 3))
    off = [loss * (1 + error) for loss, error in zip(true, (0, 2e-4, 0.1), strict=True)]
    assert allowed_in_a_study(network, off) == pytest.approx([AGAIN, 6e-4, FLOAT32_LOSS])
    who = {"framework": "f", "variant": "v", "device": "cpu", "threads": 1}
    row = CertificateRow(**who, status="agrees", float32=[0, 2e-4, 0.1], again=[0, 5e-4, 9e-4])
    assert wrong_again(row) == "" != wrong_again(row.model_copy(update={"again": [0, 7e-4]}))
    assert {"float64": CertificateEntry().tolerance, "float32": FLOAT32_LOSS} == truths.ALLOWED


def test_a_restart_that_changes_a_last_bit_is_as_good_for_the_check_as_for_a_study(examine):
    assert examine("flawed-last-bit", isolated=False).finding("repeats").status == "holds"
