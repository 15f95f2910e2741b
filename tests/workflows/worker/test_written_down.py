"""Settings that stand in an adapter's source as entries_of, however they get there."""

import sys

import pytest

from frameworks.contract import SETTINGS, Framework, Variant
from frameworks.registry import framework
from tests.conftest import ROOT
from workflows.worker.sources import sources
from workflows.worker.written_down import entries_of, written_down


def found(tmp_path, monkeypatch, text, **settings):
    """What is written down in the adapter `writing.py`, of the settings in effect."""
    (tmp_path / "writing.py").write_text(text)
    (tmp_path / "writing_modes.py").write_text('HOW = "eager"')
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("writing", None)
    entries_of.cache_clear()
    return written_down(described("writing:Adapter"), settings)


def described(adapter):
    return Framework(
        name="writing",
        title="Writing",
        distributions=("writing",),
        install="pip",
        adapter=adapter,
        variants={"default": Variant("one")},
    )


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
    "of the object's class": "class T:\n    HOW = 'eager'\n"
    "    def settings(self):\n        return {'compilation': type(self).HOW}",
    "of its class by another name": "class T:\n    HOW = 'eager'\n"
    "    def settings(self):\n        return {'compilation': self.__class__.HOW}",
    "by an item": "def settings(self):\n    found = {}\n    found['compilation'] = 'eager'\n"
    "    return found",
    "by an update": "def settings(self):\n    found = {}\n    found.update(compilation='eager')\n"
    "    return found",
    "in a helper": "def settings(self):\n    return {**process(3)}\n"
    "def process(weight):\n    return {'compilation': 'eager'}",
    "in a table": "TABLE = {'compilation': 'eager'}\ndef settings(self):\n    return {**TABLE}",
    "or nothing": "def settings(self):\n    return {'compilation': 'eager' if gpu else 'n/a'}",
    "as a text": "def settings(self):\n    return {'compilation': f'eager'}",
    "for many": "def settings(self):\n    return dict.fromkeys(['compilation', 'x'], 'eager')",
    "for each": "def settings(self):\n    return {x: 'eager' for x in ('compilation',)}",
    "of several": "def settings(self):\n    a, b = 'eager', 1\n    return {'compilation': a}",
    "by a method": "def settings(self):\n    return {'compilation': 'EAGER'.lower()}",
    "formatted": "def settings(self):\n    return {'compilation': '%s' % 'eager'}",
    "by variant": "MODES = {'x': 'eager'}\ndef settings(self):\n"
    "    return {'compilation': MODES[self.variant]}",
    "if a variant": "def settings(self):\n"
    "    return {'compilation': 'eager' if self.variant == 'x' else 'jit'}",
    "by default": "def settings(self, how='eager'):\n    return {'compilation': how}",
    "of a module": "import writing_modes\ndef settings(self):\n"
    "    return {'compilation': writing_modes.HOW}",
    "from a module": "from writing_modes import HOW\ndef settings(self):\n"
    "    return {'compilation': HOW}",
    "of an enumeration": "from enum import Enum\nclass Mode(Enum):\n    EAGER = 'eager'\n"
    "def settings(self):\n    return {'compilation': Mode.EAGER.value}",
    "of another class": "class T:\n    HOW = 'eager'\n"
    "def settings(self):\n    return {'compilation': T.HOW}",
    "by pairs": "def settings(self):\n    return dict([('compilation', 'eager')])",
    "unless set": "def settings(self):\n    found = {}\n"
    "    found.setdefault('compilation', 'eager')\n    return found",
    "by a constructor": "class T:\n    def __init__(self, how):\n        self.how = how\n"
    "    def settings(self):\n        return {'compilation': self.how}\n"
    "def trainer():\n    return T('eager')",
    "by getattr": "def settings(self):\n    return {'compilation': getattr(self, 'x', 'eager')}",
    "of an argument": "def settings(self):\n    return {'compilation': how('eager')}\n"
    "def how(x):\n    return x",
    "by a property": "class T:\n    @property\n    def how(self):\n        return 'eager'\n"
    "    def settings(self):\n        return {'compilation': self.how}",
    "by a cached property": "import functools\nclass T:\n    @functools.cached_property\n"
    "    def how(self):\n        return 'eager'\n"
    "    def settings(self):\n        return {'compilation': self.how}",
    "by a variable named like a function": "def how():\n    return x.mode\n"
    "def settings(self):\n    how = 'eager'\n    return {'compilation': how}",
    "by an attribute named like a method": "class T:\n    def __init__(self):\n"
    "        self.how = 'eager'\n"
    "    def settings(self):\n        return {'compilation': self.how}\n"
    "class Other:\n    def how(self):\n        return x.mode",
    "as it was asked for": "class T:\n    def __init__(self, conditions, variant):\n"
    "        self.asked = conditions.precision + variant\n"
    "    def settings(self):\n        return {'compilation': self.asked}",
}
WHOLE = {
    "by a data class": "from dataclasses import asdict, dataclass\n@dataclass\nclass S:\n"
    "    compilation: str = 'eager'\ndef settings(self):\n    return asdict(S())",
    "by a named tuple": "from typing import NamedTuple\nclass S(NamedTuple):\n"
    "    compilation: str = 'eager'\ndef settings(self):\n    return S()._asdict()",
    "by an object's variables": "class S:\n    def __init__(self):\n"
    "        self.compilation = 'eager'\ndef settings(self):\n    return vars(S())",
    "by an object's dict": "class S:\n    compilation = 'eager'\ndef settings(self):\n"
    "    s = S()\n    return s.__dict__",
    "by zip": "def settings(self):\n    return dict(zip(['compilation'], ['eager']))",
    "by keywords": "class S:\n    compilation = 'eager'\ndef settings(self):\n"
    "    return dict(**vars(S()))",
    "by JSON": "import json\ndef settings(self):\n"
    """    return json.loads('{"compilation": "eager"}')""",
}
READ = {
    "off an object": "def settings(self):\n    return {'compilation': self.model.mode}",
    "by a choice": "def settings(self):\n    return {'compilation': 'eager' if x.off else 'jit'}",
    "of a part": "def settings(self):\n    return {'compilation': f'{x.mode}'}",
    "by a library": "def settings(self):\n    return {'compilation': library.mode()}",
    "elsewhere": "def settings(self):\n    return {}\ndef other():\n"
    "    return {'compilation': 'eager'}",
    "by a condition": "import x\ndef settings(self):\n    return {'compilation': how()}\n"
    "def how():\n    if x.compiles:\n        return 'jit'\n    return 'eager'",
    "of an attribute": "import x\nclass T:\n    def f(self):\n        self.a, b = x.net(), 1\n"
    "    def settings(self):\n        return {'compilation': how(self.a)}\n"
    "def how(a):\n    return 'eager' if a else 'jit'",
    "of the weights": "class T:\n    def restart(self, weights):\n"
    "        self.w = {n: w.astype('int8') for n, w in weights.items()}\n"
    "    def settings(self):\n        return {'compilation': str(self.w['x'].dtype)}",
    "by a model of its own": "import x\nclass Net(x.Module):\n    pass\ndef settings(self):\n"
    "    return {'compilation': Net().mode}",
    "by name": "import x\ndef settings(self):\n    return {n: x.get(n) for n in NAMES}",
    "after all": "def settings(self):\n    return {'compilation': 'x', **super().settings()}",
    "by a property": "class T:\n    @property\n    def how(self):\n        return self.net.mode\n"
    "    def settings(self):\n        return {'compilation': self.how}",
    "as a whole": "import x\nclass T:\n    def settings(self):\n        return x.settings()",
    "by pairs": "import x\ndef settings(self):\n    return dict(zip(x.names(), x.values()))",
    "by JSON": "import json, x\ndef settings(self):\n    return json.loads(x.show())",
    "beside a table of functions": "import x\ndef compile(net):\n    return net\n"
    "def settings(self):\n    return {**x.settings(), **{n: n for n in TABLE}}\n"
    "TABLE = {'compilation': compile}",
    "another value": "def settings(self):\n    return {'compilation': 'jit'}",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_literal_is_found_however_it_gets_there(tmp_path, monkeypatch, text):
    written = found(tmp_path, monkeypatch, text, compilation="eager", blas="mkl")
    assert {name: one.value for name, one in written.items()} == {"compilation": "eager"}
    assert written["compilation"].place.startswith("writing.py:")


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_whatever_such_a_dict_holds_is_written_down(tmp_path, monkeypatch, text):
    """Its settings have no entries in the source, and nothing in it reaches a framework."""
    assert {*found(tmp_path, monkeypatch, text, compilation="eager")} == {"compilation"}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_what_is_read_is_none(tmp_path, monkeypatch, text):
    assert not found(tmp_path, monkeypatch, text, compilation="eager")


def test_a_number_is_no_truth_value(tmp_path, monkeypatch):
    text = "def settings(self):\n    return {'intra_threads': 1, 'onednn': True}"
    assert {*found(tmp_path, monkeypatch, text, intra_threads=1, onednn=1)} == {"intra_threads"}


NOT_HAD = {
    "in the dict": "def settings(self):\n    return {'mode': 'n/a', 'blas': x.blas()}",
    "for all": "def settings(self):\n    return {**dict.fromkeys(NAMES, 'n/a'), 'blas': x.blas(),\n"
    "            **{n: x.get(n) for n in OTHERS}}",
    "for a variant": "def settings(self):\n"
    "    return {'mode': 'n/a' if self.variant else 'training', 'blas': x.blas()}",
}
HAD = {
    "by a choice": "def settings(self):\n    return {'mode': 'training' if x.on else 'n/a'}",
    "off an object": "def settings(self):\n    return {'mode': x.mode() if x.gpu else 'n/a'}",
    "over another": "def settings(self):\n"
    "    return {**dict.fromkeys(NAMES, 'n/a'), 'mode': x.mode()}",
}


@pytest.mark.parametrize("text", NOT_HAD.values(), ids=NOT_HAD)
def test_not_having_a_setting_is_written_down_too(tmp_path, monkeypatch, text):
    assert {*found(tmp_path, monkeypatch, text, mode="n/a", blas="n/a")} == {"mode"}


@pytest.mark.parametrize("text", HAD.values(), ids=HAD)
def test_not_having_a_setting_may_be_read(tmp_path, monkeypatch, text):
    assert not found(tmp_path, monkeypatch, text, mode="n/a")


def test_no_package_around_an_adapter_is_imported(tmp_path, monkeypatch):
    """A coordinator looks for what is written down; what a framework's package does there when it
    is imported, only a worker may run."""
    inside = tmp_path / "outer" / "inner"
    inside.mkdir(parents=True)
    (tmp_path / "outer" / "__init__.py").write_text("")
    (inside / "__init__.py").write_text("raise RuntimeError('imported')")
    (inside / "adapter.py").write_text(WRITTEN["in the dict"])
    monkeypatch.syspath_prepend(str(tmp_path))
    entries_of.cache_clear()
    outer = described("outer.inner.adapter:Adapter")
    assert {*written_down(outer, {"compilation": "eager"})} == {"compilation"}
    sys.modules.pop("outer", None)


def test_a_source_that_cannot_be_read_writes_nothing_down(tmp_path, monkeypatch):
    assert not found(tmp_path, monkeypatch, "def settings(:", compilation="eager")


def test_no_source_takes_long_or_cannot_be_read(tmp_path, monkeypatch):
    """A function that gives one of two others, thirty deep; a text that doubles as often; and a
    formatted text without parts."""
    twice = "def f{0}(x):\n    if x:\n        return f{1}(x)\n    return f{1}(x)"
    lines = [twice.format(n, n + 1) for n in range(30)]
    lines += [f"def g{n}(): return g{n + 1}() + g{n + 1}()" for n in range(30)]
    lines += ["def f30(x): return 'eager'", "def g30(): return 'longer'", 'EMPTY = f""']
    lines += ["def settings(self):\n    return {'compilation': f0(1), 'mode': g0()}"]
    written = found(tmp_path, monkeypatch, "\n".join(lines), compilation="eager", mode="other")
    assert {*written} == {"compilation", "mode"}


def test_what_the_workload_says_is_no_reading(tmp_path, monkeypatch):
    text = (
        "from dataclasses import asdict\nclass T:\n    def __init__(self, workload):\n"
        "        self.workload = workload\n    def settings(self):\n"
        "        return {**asdict(self.workload.optimiser), 'denormals': self.x.kept, 'y': 1}"
    )
    effective = {"epsilon": 1e-8, "beta1": 0.9, "denormals": "kept", "blas": "n/a"}
    assert {*found(tmp_path, monkeypatch, text, **effective)} == {*effective} - {"denormals"}


@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "jax", "keras"])
def test_our_own_adapters_write_nothing_down(name):
    """But what they answer "n/a", and what JAX says itself."""
    entries_of.cache_clear()
    module = framework(name).adapter.partition(":")[0]
    given = entries_of(module)
    settings = [*SETTINGS, "device", "freed_memory", "huge_pages", "max_pooling", "weights_memory"]
    for setting in settings if name != "jax" else {*settings} - {"optimiser"}:
        own = [one for one in given.get(setting, []) if one.values != {"n/a"}]
        assert all(one.read for one in own), (setting, own)
    assert any(one.read for one in given[""])
    backends = ROOT / "frameworks" / "keras" / "backends"
    assert name != "keras" or {*backends.glob("*.py")} <= {*sources(module)}
