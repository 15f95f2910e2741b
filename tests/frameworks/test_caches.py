"""Whether a compiler's cache was warm is seen by its folder, wherever the environment has it."""

from dataclasses import replace

import pytest

from frameworks import registry
from frameworks.caches import folder, states
from frameworks.description import Cache
from frameworks.registry import framework
from workflows.worker.handlers import Handlers

PLAIN = Cache("plain", "PLAIN_CACHE")
OPTION = Cache("option", "XLA_OPTIONS", option="--cache_directory")
OTHERWISE = Cache("otherwise", "OTHER_CACHE", otherwise="kept_{user}")


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    for cache in (PLAIN, OPTION, OTHERWISE):
        monkeypatch.delenv(cache.variable, raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.setattr("getpass.getuser", lambda: "ada")


def test_where_it_is(monkeypatch, tmp_path):
    assert folder(PLAIN) == folder(OPTION) == ""
    assert folder(OTHERWISE) == str(tmp_path / "tmp" / "kept_ada")
    monkeypatch.setenv("OTHER_CACHE", "/mine")
    monkeypatch.setenv("XLA_OPTIONS", "--a=1 --cache_directory=/x/y --b")
    assert folder(OTHERWISE) == "/mine" and folder(OPTION) == "/x/y"


def test_a_file_in_it_makes_it_warm(monkeypatch, tmp_path):
    monkeypatch.setenv("PLAIN_CACHE", str(tmp_path / "plain"))
    wanted = {"plain": "cold", "option": "off", "otherwise": "cold"}
    assert states((PLAIN, OPTION, OTHERWISE)) == wanted
    (tmp_path / "plain" / "ab").mkdir(parents=True)
    assert states((PLAIN,)) == {"plain": "cold"}
    (tmp_path / "plain" / "ab" / "graph").touch()
    assert states((PLAIN,)) == {"plain": "warm"}


def test_only_variants_that_compile_name_a_cache():
    named = {
        f"{name}/{variant}"
        for name in ("jax", "pytorch", "tensorflow", "keras")
        for variant, one in framework(name).variants.items()
        if one.caches
    }
    assert named == {
        *(f"jax/{variant}" for variant in framework("jax").variants),
        *("pytorch/compile", "pytorch/trap-compiled", "tensorflow/xla", "tensorflow/trap-xla"),
        *("keras/tensorflow", "keras/fit", "keras/jax"),
    }


def test_a_worker_looks_at_the_caches_of_its_variant(abacus, monkeypatch):
    own = framework("abacus")
    compiled = {**own.variants, "kept": replace(own.variants["kept"], caches=(PLAIN,))}
    monkeypatch.setattr(registry, "framework", lambda name: replace(own, variants=compiled))
    asked = {"device": "cpu", "threads": 1, "precision": "float32", "tf32": False}
    opened = [Handlers().open("abacus", variant=name, **asked) for name in ("default", "kept")]
    assert [one["caches"] for one in opened] == [{}, {"plain": "off"}]
