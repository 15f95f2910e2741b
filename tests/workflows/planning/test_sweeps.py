"""Sweeps in a configuration: one workload in several sizes."""

import pytest
import yaml

from frameworks.workloads.sweeps import members
from tests.conftest import ROOT
from workflows.planning.configfiles import ConfigurationError, parse

WIDTHS = {"from": "mlp", "batch": 8, "sizes": {"hidden": [[4], [8]], "features": [16, 32]}}


def study(**changes):
    values = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    return parse({**values, **changes})


def test_members_are_named_after_the_first_parameter():
    found = members("width", WIDTHS)
    assert {name: member.size for name, member in found.items()} == {"width-4": 4, "width-8": 8}
    assert found["width-8"].entry == {"from": "mlp", "batch": 8, "hidden": [8], "features": 32}


def test_a_sweep_is_of_the_workload_of_its_name_unless_it_says_another():
    found = members("mlp", {"sizes": {"batch": [8, 16]}})
    assert found["mlp-16"].entry == {"from": "mlp", "batch": 16}


def test_workloads_of_a_sweep_join_the_study():
    found = study(
        sweeps={"width": WIDTHS}, contest={"together": [["width", "mlp"]]}, workloads={"mlp": {}}
    )
    assert list(found.workloads) == ["mlp", "width-4", "width-8"]
    assert found.workload("width-8").dataset.shape == (32,)
    assert found.groups == {"width-4+width-8+mlp": ["width-4", "width-8", "mlp"]}
    again = parse(found.model_dump(mode="json"))
    assert again == found


@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        ({"from": "mlp"}, "needs `sizes`"),
        ({"sizes": {}}, "a list of values"),
        ({"sizes": {"batch": 8}}, "a list of values"),
        ({"sizes": {"batch": []}}, "a list of values"),
        ({"sizes": {"batch": [8, 16], "features": [3]}}, "batch has 2, features has 1"),
        ({"sizes": {"batch": [16, 8]}}, "from small to large"),
        ({"sizes": {"batch": [8, 8]}}, "each once"),
        ({"sizes": {"batch": ["a", "b"]}}, "whole numbers"),
        ({"sizes": {"batch": [True, 2]}}, "whole numbers"),
        ({"sizes": {"batch": [0, 2]}}, "above 0"),
        ({"batch": 3, "sizes": {"batch": [8, 16]}}, "also stands beside"),
        ({"from": "nothing", "sizes": {"batch": [8]}}, "not in the catalogue"),
        ({"from": "mlp", "sizes": {"batchs": [8]}}, "did you mean 'batch'"),
    ],
)
def test_a_wrong_sweep_is_refused_by_name(sweep, says):
    with pytest.raises(ConfigurationError, match="mlp") as error:
        study(sweeps={"mlp": sweep})
    assert says in str(error.value)


def test_a_sweep_cannot_take_the_name_of_a_workload():
    with pytest.raises(ConfigurationError, match="also among the workloads"):
        study(sweeps={"width": WIDTHS}, workloads={"mlp": {}, "width-4": {"from": "mnist-cnn"}})


def test_one_size_can_be_left_out():
    found = study(sweeps={"width": WIDTHS}, workloads={"width-4": False, "mlp": {}})
    assert list(found.workloads) == ["mlp", "width-8"]
    together = {"contest": {"together": [["width"]]}, "workloads": {"width-4": False}}
    assert study(sweeps={"width": WIDTHS}, **together).groups == {"width-8": ["width-8"]}


def test_a_sweep_can_be_left_out():
    assert list(study(sweeps={"width": False}).workloads) == ["mlp", "mnist-cnn"]
