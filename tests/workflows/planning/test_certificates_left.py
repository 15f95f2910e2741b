"""The time to the last certificate, replayed from studies whose commands came in different orders.
What commands usually take is from the first two."""

import re

import pytest

from workflows.planning.configfiles import parse
from workflows.planning.plan import Plan, contenders
from workflows.planning.replicates import COMMAND_S, certifying
from workflows.planning.todo import CertificatesLeft, compiling_s, usual_s, work_s
from workflows.progress import about
from workflows.records.folders import Folders
from workflows.records.minutes import Spent
from workflows.records.storage import write_json

BOTH = {"variants": ["default", "tuned"]}
CONFIGURATION = {
    "study": "two-cores",
    "replicates": 5,
    "reference": "pytorch",
    "contenders": [{"framework": "pytorch", **BOTH}, {"framework": "tensorflow", **BOTH},
                   {"framework": "jax"}],
    "devices": ["cpu"],
    "threads": [1, 2],
    "workloads": {"mlp": {}, "mnist-cnn": {}},
}  # fmt: skip
# Seconds from the start of one command to that of the next, 24 November 2026.
MLP, CNN = "mlp", "mnist-cnn"
STUDIES = {
    "first": [
        (CNN, None, 6), (CNN, "jax", 22), (MLP, None, 10), (MLP, "tensorflow", 25),
        (MLP, "pytorch", 16), (CNN, "tensorflow", 20), (CNN, "pytorch", 9), (MLP, "jax", 11),
    ],
    "second": [
        (CNN, None, 6), (MLP, None, 8), (MLP, "pytorch", 16), (CNN, "pytorch", 12),
        (CNN, "tensorflow", 18), (CNN, "jax", 23), (MLP, "jax", 13), (MLP, "tensorflow", 21),
    ],
    # with JAX's tuned, and with 20 steps instead of 500
    "short": [
        (MLP, None, 5), (MLP, "tensorflow", 21), (CNN, None, 2.6), (CNN, "pytorch", 6.3),
        (CNN, "tensorflow", 13), (MLP, "jax", 17), (CNN, "jax", 27), (MLP, "pytorch", 13),
    ],
}  # fmt: skip


def planned(more=()):
    study = parse({**CONFIGURATION, "contenders": [*CONFIGURATION["contenders"], *more]})
    own = list(contenders(study, cores=2))
    return Plan(
        machine="here", command="", configuration=study.model_dump(mode="json"), contenders=own
    )


def seconds(text):
    """`2 min 30 s` as 150."""
    units = {"s": 1, "min": 60}
    return sum(int(n) * units[unit] for n, unit in re.findall(r"(\d+) (min|s)\b", text))


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("speed", [1, 2.5])
def test_the_time_left_is_right_within_a_third(tmp_path, name, speed):
    more = [{"framework": "jax", "variants": ["tuned"]}] if name == "short" else []
    folders, plan = Folders(tmp_path), planned(more)
    commands = [(workload, who, speed * took) for workload, who, took in STUDIES[name]]
    for place, (workload, who, took) in enumerate(commands):
        found = CertificatesLeft(plan, folders, workload, who)
        assert found.title.startswith(f"certificate {place + 1} of 8 · ")
        left, true = found.left_s(0), sum(took for *_, took in commands[place:])
        if place == 0:
            assert left is None
        else:
            assert seconds(about(left)) == pytest.approx(true, rel=1 / 3), (workload, who)
        result = folders.certificate(workload, who) if who else folders.reference(workload)
        result.mkdir(parents=True)
        write_json(folders.spent(certifying(workload, who)), Spent(seconds=took - COMMAND_S))


def test_unknown_frameworks_variants_and_workloads_take_what_others_take():
    assert usual_s(MLP, "autograd", "default") == pytest.approx((3.6 + 6.0 + 5.5) / 3)
    assert usual_s(MLP, "jax", "other") == usual_s(MLP, "jax", "default")
    assert usual_s("deep", "jax", "default") == pytest.approx((5.5 + 11.0) / 2)
    assert work_s(planned(), MLP, "jax") == pytest.approx(COMMAND_S + 2 * 5.5)


@pytest.mark.parametrize(
    ("workload", "name", "variant", "seconds"),
    [
        (MLP, "pytorch", "compile", 32 - 3.6),
        (MLP, "pytorch", "tuned", 0.0),
        (MLP, "autograd", "compile", 0.0),
        ("deep", "pytorch", "compile", 32 - (3.6 + 2.5) / 2),
    ],
)
def test_a_compiler_takes_what_its_certificate_takes_longer(workload, name, variant, seconds):
    assert compiling_s(workload, name, variant) == pytest.approx(seconds)
