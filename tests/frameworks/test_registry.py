"""Finding and listing frameworks: folders, entry points, and packages that do not load."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from frameworks import registry
from frameworks.contract import SETTINGS, Cache, Deviation, Framework, Variant
from samestep.__main__ import main
from tests.conftest import ROOT

ABSENT = """
from frameworks.contract import Framework, Variant
FRAMEWORK = Framework("absent", "Absent", ("no-such-distribution",), "pip install it", "no:Where",
                      {"default": Variant("as it comes")}, devices=("cpu",))
"""


def offer(folder, monkeypatch, name, module):
    """An installed package `name` whose entry point leads to a module of this source."""
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[samestep.frameworks]\n{name} = {name}_it:FRAMEWORK\n")
    (folder / f"{name}_it.py").write_text(module)
    monkeypatch.syspath_prepend(str(folder))


def test_both_ways_in(abacus):
    assert {"pytorch", "tensorflow", "jax", "abacus"} <= set(registry.names())
    for name in ("pytorch", "tensorflow", "jax", "abacus"):
        found = registry.framework(name)
        assert isinstance(found, Framework) and found.name == name
        assert {"default"} <= set(found.variants)


def test_unknown_names_name_the_known(abacus):
    with pytest.raises(
        registry.UnknownFramework,
        match="known: abacus, jax, keras, machine, noop, numpy, pytorch, tensorflow",
    ):
        registry.framework("torhc")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("FRAMEWORK = 3", "its FRAMEWORK is no Framework: 3"),
        ("", "AttributeError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class Odd(BaseException): pass\nraise Odd('so')", "Odd: so"),
    ],
)
def test_a_broken_package_breaks_nobody_else(tmp_path, monkeypatch, module, message):
    offer(tmp_path, monkeypatch, f"broken{len(module)}", module)
    name = f"broken{len(module)}"
    assert registry.framework("pytorch").title == "PyTorch"
    with pytest.raises(registry.UnknownFramework, match=f"(?s){name}.*{message}"):
        registry.framework(name)


def test_a_package_that_is_added_or_removed_later_is_noticed(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, "earlier", "")
    assert "earlier" in registry.names() and "later" not in registry.names()
    folder = tmp_path / "later-1.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[samestep.frameworks]\nlater = later:FRAMEWORK\n")
    assert {"earlier", "later"} <= {*registry.names()}
    shutil.rmtree(folder)
    assert "earlier" in registry.names() and "later" not in registry.names()


def test_ctrl_c_during_an_import_stops_the_command(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, "stopped", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        registry.framework("stopped")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import os; os._exit(0)", r"ends the process \(exit code 0\)"),
        ("import os; os.kill(os.getpid(), 11)", r"ends the process \(signal 11\)"),
        ("import time; time.sleep(1000)", "has not ended after 2 s"),
    ],
)
def test_an_import_that_ends_its_process_ends_no_other(tmp_path, monkeypatch, module, message):
    name = f"fatal{len(module)}"
    offer(tmp_path, monkeypatch, name, module)
    monkeypatch.setattr(registry, "LOADING_S", 2.0)
    monkeypatch.setenv(registry.LOADED, "")
    registry.try_to_load(name)
    assert re.search(f"importing {name}_it {message}", registry.framework(name).unloadable)


def test_an_import_that_somebody_kills_is_tried_again_and_then_an_error(tmp_path, monkeypatch):
    """It says nothing about the package, so no study may go on without it."""
    killed = "import os, pathlib\ntries = pathlib.Path({!r})\ntries.open('a').write('.')\n"
    killed += "if tries.stat().st_size <= {}: os.kill(os.getpid(), 9)\n"
    monkeypatch.setenv(registry.LOADED, "")
    for name, times in (("once", 1), ("always", 9)):
        offer(tmp_path, monkeypatch, name, killed.format(str(tmp_path / f"{name}.tries"), times))
    registry.try_to_load("once")
    assert "AttributeError" in registry.framework("once").unloadable
    with pytest.raises(registry.UnknownFramework, match=r"always_it was killed twice \(signal 9\)"):
        registry.try_to_load("always")
    assert "always_it:FRAMEWORK" not in json.loads(os.environ[registry.LOADED])


@pytest.mark.parametrize("value", ["", "{", "[1]", "3", '{"pytorch": null}'])
def test_what_somebody_else_has_put_into_the_variable_is_no_matter(monkeypatch, value):
    monkeypatch.setenv(registry.LOADED, value)
    registry.try_to_load("pytorch")
    assert registry.framework("pytorch").title == "PyTorch"


def test_a_machine_without_memory_says_nothing_about_a_package(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, "greedy", "raise MemoryError")
    monkeypatch.setenv(registry.LOADED, "")
    with pytest.raises(registry.UnknownFramework, match="MemoryError"):
        registry.try_to_load("greedy")


def test_a_framework_that_cannot_be_loaded_has_the_variants_that_are_asked_for(
    tmp_path, monkeypatch
):
    offer(tmp_path, monkeypatch, "raising", "raise RuntimeError('a\\n\\x1b b' + 'c' * 2000)")
    monkeypatch.setenv(registry.LOADED, "")
    registry.try_to_load("raising")
    found = registry.framework("raising")
    assert found.unloadable.startswith("framework 'raising' cannot be loaded: RuntimeError: a bc")
    assert len(found.unloadable) <= registry.REASON
    assert "odd" in found.variants and found.variants["odd"].ranked
    assert registry.framework("raising-1.0").unloadable == found.unloadable
    assert not registry.framework("pytorch").unloadable


def test_an_import_is_tried_once_for_a_study_and_all_its_jobs(tmp_path, monkeypatch):
    offer(tmp_path, monkeypatch, "counted", f"open({str(tmp_path / 'tries')!r}, 'a').write('.')")
    monkeypatch.setenv(registry.LOADED, '{"another": ""}')
    for _ in range(2):
        registry.try_to_load("counted-1.0")
    assert (tmp_path / "tries").read_text() == ".."  # in its own process, and in this one
    known = json.loads(os.environ[registry.LOADED])
    assert known.keys() == {"another", "counted_it", "counted_it:FRAMEWORK"}
    assert registry.framework("counted").unloadable == known["counted_it:FRAMEWORK"] != ""


def test_the_contract_names_each_setting_once():
    assert len(set(SETTINGS)) == len(SETTINGS)


@pytest.mark.parametrize(
    ("component", "limits", "message"),
    [
        ("layer.relu", {}, "begins with optimiser. or state."),
        ("optimiser.adam", {"loss_within": float("nan")}, "loss_within is nan"),
        ("state.batch_norm.variance", {"state_within": -1.0}, "state_within is -1.0"),
    ],
)
def test_a_deviation_that_nothing_can_judge_is_refused(component, limits, message):
    with pytest.raises(ValueError, match=message):
        Deviation(component, "a reason", **limits)


def with_deviations(*deviations, name="default", title="Mine"):
    return Framework(
        name="mine", title=title, distributions=("mine",), install="pip install mine",
        adapter="mine:Adapter", variants={name: Variant("a", deviations=deviations)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("ODD", "a\ud800"), ("ODD", "a\0b"), ("ODD", 4), ("O=DD", "a"), ("", "a"), ("ODD\n", "a")],
)
def test_what_cannot_be_an_environment_variable_is_refused(name, value):
    """A process could not be started with it, or no record could name it."""
    own = {"default": Variant("a"), "odd": Variant("b", variables={name: value})}
    with pytest.raises(ValueError, match=r"no environment variable|not printed"):
        Framework(
            name="mine", title="Mine", distributions=("mine",), install="pip install mine",
            adapter="mine:Adapter", variants=own,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value", "asked"),
    [
        ("distributions", "odd", "a tuple of str"),
        ("devices", "cpu", "a tuple of str"),
        ("precisions", ("float32", 64), "a tuple of str"),
        ("variants", [Variant("a")], "a dict of Variant"),
        ("variants", {"default": "plain"}, "a dict of Variant"),
    ],
)
def test_a_field_of_another_kind_is_named(key, value, asked):
    fields = {
        "name": "mine", "title": "Mine", "distributions": ("mine",), "install": "pip",
        "adapter": "mine:Adapter", "variants": {"default": Variant("a")},
    }  # fmt: skip
    with pytest.raises(TypeError, match=rf"{key}=.*: {asked} is asked for"):
        Framework(**fields | {key: value})


def test_deviations_of_another_kind_are_named():
    one = Deviation("optimiser.adam", "why", 0.1)
    with pytest.raises(TypeError, match=r"deviations=Deviation.*: a tuple of Deviation"):
        Variant("a", deviations=one)
    with pytest.raises(ValueError, match=r"loss_within is 0\.1, no number"):
        Deviation("optimiser.adam", "why", "0.1")


@pytest.mark.parametrize("folder", ["{", "{nope}", "{user.__class__}", "{user!r}"])
def test_a_cache_that_names_no_folder_is_refused(folder):
    Cache("a compiler's", "FOLDER", otherwise="kept-{user}")
    with pytest.raises(ValueError, match=r"cache a compiler's: .* may have \{user\} in braces"):
        Cache("a compiler's", "FOLDER", otherwise=folder)


def test_a_text_that_no_record_could_hold_is_refused():
    with pytest.raises(ValueError, match="mine: a text of 40,000 characters, 1,000 are shown"):
        with_deviations(Deviation("optimiser.adam", "why " * 10_000))


def test_an_optimiser_may_deviate_in_several_ways_and_a_tensor_of_state_in_one():
    with_deviations(Deviation("optimiser.adam", "a"), Deviation("optimiser.adam", "b"))
    twice = Deviation("state.batch_norm.mean", "a"), Deviation("state.batch_norm.mean", "b")
    message = "'default' has several deviations of state.batch_norm.mean; a tensor deviates in one"
    with pytest.raises(ValueError, match=message):
        with_deviations(*twice)


@pytest.mark.parametrize(
    ("title", "variant", "reason"),
    [
        ("Mine\x1b[31m", "default", "a"),
        ("Mine\u200b", "default", "a"),
        ("Mine", "de\x1bfault", "a"),
        ("Mine", "default", "one\ntwo"),
    ],
)
def test_texts_that_steer_a_terminal_or_hide_are_refused(title, variant, reason):
    with pytest.raises(ValueError, match="characters that are not printed"):
        with_deviations(Deviation("optimiser.adam", reason), name=variant, title=title)


def listed(capsys, *words):
    assert main(["list", "--json", *words]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


def test_the_list_has_everybody_and_why_some_cannot_be_used(tmp_path, monkeypatch, capsys, abacus):
    offer(tmp_path, monkeypatch, "broken", "import no_such_module")
    offer(tmp_path, monkeypatch, "absent", ABSENT)
    rows = listed(capsys)
    assert {"pytorch", "tensorflow", "jax", "abacus", "broken", "absent"} <= set(rows)
    assert rows["pytorch"]["origin"] == "frameworks/pytorch/"
    assert rows["abacus"]["origin"] == "package abacus 0.1 (abacus:FRAMEWORK)"
    assert rows["abacus"]["versions"] == {"abacus": "0.1"} and rows["abacus"]["problem"] == ""
    assert rows["abacus"]["variants"]["default"] == "plain NumPy"
    assert set(rows["abacus"]["pitfalls"]) == {"trap-epsilon", "trap-lazy", "trap-pooling"}
    assert not set(rows["abacus"]["pitfalls"]) & set(rows["abacus"]["variants"])
    assert "No module named 'no_such_module'" in rows["broken"]["problem"]
    assert rows["absent"]["problem"] == "not installed: pip install it"
    assert rows["absent"]["devices"] == ["cpu"]


def test_the_table_says_the_same_for_people(tmp_path, monkeypatch, capsys, abacus):
    offer(tmp_path, monkeypatch, "unusable", "raise OSError('[red]no library[/]')")
    assert main(["list", "abacus", "unusable"]) == 0
    table = capsys.readouterr().out
    for words in ("abacus 0.1", "default: plain NumPy", "cpu", "and 3 pitfalls",
                  "OSError: [red]no library[/]", "package unusable 1"):  # fmt: skip
        assert words in table, table
    assert "\x1b" not in table and "pytorch" not in table


def test_detection_opens_each_device(capsys, abacus):
    assert listed(capsys, "abacus", "--detect")["abacus"]["detected"] == {
        "cpu": "",
        "gpu": "an abacus has no GPU",
    }
    assert listed(capsys, "abacus")["abacus"]["detected"] == {}


def test_the_list_imports_no_framework(abacus):
    code = (
        "import sys\nfrom samestep.__main__ import main\nmain(['list'])\n"
        "print([m for m in ('torch', 'tensorflow', 'jax', 'workflows') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
