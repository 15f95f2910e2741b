"""Settings that stand in an adapter's source as literals, however they get there."""

import sys

import pytest

from frameworks.contract import SETTINGS, Framework, Variant
from frameworks.registry import framework
from tests.conftest import ROOT
from workflows.worker.sources import sources
from workflows.worker.written_down import literals, written_down


def found(tmp_path, monkeypatch, text, **settings):
    """What is written down in the adapter `writing.py`, of the settings in effect."""
    (tmp_path / "writing.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("writing", None)
    literals.cache_clear()
    described = Framework(
        name="writing",
        title="Writing",
        distributions=("writing",),
        install="pip",
        adapter="writing:Adapter",
        variants={"default": Variant("one")},
    )
    return written_down(described, settings)


WRITTEN = {
    "in the dict": 'def settings(self):\n    return {"compilation": "eager"}',
    "over another": 'def settings(self):\n    return {**base(), "compilation": "eager"}',
    "by a constant": 'NAME = "eager"\ndef settings(self):\n    return {"compilation": NAME}',
    "by a variable": 'def settings(self):\n    x = "eager"\n    return dict(compilation=x)',
    "by a function": 'def settings(self):\n    return {"compilation": how()}\n'
    'def how():\n    return "ea" + "ger"',
    "by an attribute": "class T:\n    def __init__(self):\n        self.how = 'eager'\n"
    "    def settings(self):\n        return {'compilation': self.how}",
    "of a class": "class T:\n    how = 'eager'\n"
    "    def settings(self):\n        return {'compilation': self.how}",
    "by an item": "def settings(self):\n    found = {}\n    found['compilation'] = 'eager'\n"
    "    return found",
    "by an update": "def settings(self):\n    found = {}\n    found.update(compilation='eager')\n"
    "    return found",
    "in a helper": "def settings(self):\n    return {**process(3)}\n"
    "def process(weight):\n    return {'compilation': 'eager'}",
    "in a table": "TABLE = {'compilation': 'eager'}\ndef settings(self):\n    return {**TABLE}",
    "or nothing": "def settings(self):\n    return {'compilation': 'eager' if gpu else 'n/a'}",
    "as a text": "def settings(self):\n    return {'compilation': f'eager'}",
}
READ = {
    "off an object": "def settings(self):\n    return {'compilation': self.model.mode}",
    "by a choice": "def settings(self):\n    return {'compilation': 'eager' if x.off else 'jit'}",
    "of a part": "def settings(self):\n    return {'compilation': f'{x.mode}'}",
    "by a library": "def settings(self):\n    return {'compilation': library.mode()}",
    "elsewhere": "def settings(self):\n    return {}\ndef other():\n"
    "    return {'compilation': 'eager'}",
    "of an argument": "def settings(self):\n    return {'compilation': how('eager')}\n"
    "def how(x):\n    return x",
    "of itself": "def settings(self):\n    return {'compilation': how()}\ndef how():\n"
    "    return how()",
    "another value": "def settings(self):\n    return {'compilation': 'jit'}",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_literal_is_found_however_it_gets_there(tmp_path, monkeypatch, text):
    written = found(tmp_path, monkeypatch, text, compilation="eager", blas="mkl")
    assert {name: one.value for name, one in written.items()} == {"compilation": "eager"}
    assert written["compilation"].place.startswith("writing.py:")


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_what_is_read_is_none(tmp_path, monkeypatch, text):
    assert not found(tmp_path, monkeypatch, text, compilation="eager")


def test_a_number_is_no_truth_value(tmp_path, monkeypatch):
    text = "def settings(self):\n    return {'intra_threads': 1, 'onednn': True}"
    assert {*found(tmp_path, monkeypatch, text, intra_threads=1, onednn=1)} == {"intra_threads"}


def test_a_source_that_cannot_be_read_writes_nothing_down(tmp_path, monkeypatch):
    assert not found(tmp_path, monkeypatch, "def settings(:", compilation="eager")


@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "jax", "keras"])
def test_our_own_adapters_write_nothing_down(name):
    """Keras' backends are imported by name, so that nothing finds their sources."""
    literals.cache_clear()
    written = literals(framework(name).adapter.partition(":")[0])
    assert not {*written} & {*SETTINGS, "device", "freed_memory", "huge_pages"}
    backends = ROOT / "frameworks" / "keras" / "backends"
    assert name != "keras" or not {*backends.glob("*.py")} & {*sources("frameworks.keras.adapter")}
