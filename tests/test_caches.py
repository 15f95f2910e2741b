"""Whether a compiler's cache was warm is seen by its folder, wherever the environment has it."""

import pytest

from frameworks.caches import folder, states
from frameworks.description import Cache

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


def test_the_frameworks_own_are_named():
    from frameworks.registry import framework

    named = {name: [c.name for c in framework(name).caches] for name in ("jax", "pytorch", "keras")}
    assert named["jax"] == ["JAX's"] and named["pytorch"] == ["torch.compile's"]
    assert {*named["jax"], *named["pytorch"]} < {*named["keras"]}
