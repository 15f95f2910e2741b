"""Versions of one framework as contenders of a study."""

import re

import pytest
import yaml

from frameworks.registry import UnknownFramework, framework
from tests.conftest import ROOT
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.planning.isolated import environment, isolated
from workflows.planning.provenance import framework_key
from workflows.stages.detect import other_version


def study(*contenders, **changes):
    values = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    return parse({**values, "contenders": list(contenders), **changes})


JAX = {"framework": "jax", "version": ["0.9.2", "0.10.2"], "variants": ["tuned"]}


def test_each_version_is_a_framework_of_its_own():
    found = study(JAX, {"framework": "pytorch"})
    assert [entry.framework for entry in found.contenders] == ["jax-0.9.2", "jax-0.10.2", "pytorch"]
    assert {tuple(entry.variants) for entry in found.contenders[:2]} == {("tuned",)}
    assert parse(found.model_dump(mode="json")) == found
    described = framework("jax-0.9.2")
    assert (described.title, described.unversioned) == ("JAX 0.9.2", "jax")
    assert described.adapter == framework("jax").adapter


def test_a_version_has_its_own_environment_and_key():
    found = study(JAX, {"framework": "pytorch"})
    assert isolated(found, "jax-0.9.2") and not isolated(found, "pytorch")
    old, new = environment("jax-0.9.2"), environment("jax-0.10.2")
    assert "jax==0.9.2" in old.wanted and "jax==0.10.2" in new.wanted
    assert any(one.startswith("optax==") for one in old.wanted)
    assert "jaxlib==0.9.2\n" in old.constraints and "jaxlib==0.10.2\n" in new.constraints
    assert old.folder != new.folder
    assert framework_key(found, "jax-0.9.2") != framework_key(found, "jax-0.10.2")
    given = study(JAX, {"framework": "pytorch"}, interpreters={"jax-0.9.2": "/usr/bin/python3"})
    assert not isolated(given, "jax-0.9.2")


def test_a_marker_stays_behind_the_version():
    wanted = environment("tensorflow-2.20.0").wanted
    assert any(re.fullmatch(r"tensorflow-cpu==2\.20\.0; .*", one) for one in wanted)


def test_an_interpreter_with_another_version_is_not_taken():
    described = framework("jax-0.9.2")
    assert other_version(described, {"jax": "0.9.2", "jaxlib": "0.9.2"}) == ""
    assert other_version(described, {"jax": "0.10.2"}) == "its interpreter has version 0.10.2"
    assert other_version(framework("pytorch-2.13.0"), {"torch": "2.13.0+cpu"}) == ""
    assert other_version(framework("jax"), {"jax": "0.1"}) == ""


@pytest.mark.parametrize("version", [0.9, "new", "", "../1", [], None, "1/2"])
def test_a_version_is_a_number(version):
    wrong = {**JAX, "version": [version]}
    with pytest.raises(ConfigurationError, match="version"):
        study(wrong, {"framework": "pytorch"})


def test_a_version_of_nothing_is_unknown():
    with pytest.raises(UnknownFramework, match=r"unknown framework 'nothing-1\.0'"):
        framework("nothing-1.0")
