"""What the harness asks of a kind of device stands in one file."""

import re

import pytest

from frameworks.contract import Conditions, Unavailable
from frameworks.device import DEVICES, GPU, HOST
from tests.conftest import ROOT
from workflows.planning.configuration import Configuration

COMPARED = re.compile(r"""[!=]= ["'](cpu|gpu)["']""")
# The tutorial of the contract, and JAX's name of its own platform.
ALLOWED = {"frameworks/contract.py", "frameworks/jax/settings.py"}


def test_one_kind_is_the_processor_that_runs_python() -> None:
    assert [device for device in DEVICES.values() if device.is_host] == [HOST]
    assert Conditions().on_host and not Conditions(device="gpu").on_host


def test_configurations_take_every_kind() -> None:
    devices = Configuration.model_json_schema()["properties"]["devices"]
    assert devices["items"]["enum"] == devices["default"] == list(DEVICES)


def test_what_only_a_gpu_has() -> None:
    Conditions(device=GPU.name).require_gpu("TF32")
    with pytest.raises(Unavailable, match="does not apply to a processor: TF32 is a GPU's"):
        Conditions().require_gpu("TF32")


def test_no_other_file_compares_the_names_of_devices() -> None:
    folders = ("frameworks", "workflows", "analysis", "samestep")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    comparing = {str(f.relative_to(ROOT)) for f in files if COMPARED.search(f.read_text())}
    assert comparing == ALLOWED
