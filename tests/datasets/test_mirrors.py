import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from frameworks.workloads.datasets import DataError, MnistSettings, load, mirrors
from frameworks.workloads.datasets.mnist import expected
from tests.datasets.conftest import CLOSED, filled

Serve = Callable[[Path], str]
IMAGES = "train-images-idx3-ubyte.gz"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def use(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    monkeypatch.setattr(mirrors, "MIRRORS", addresses)


def altered(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content[:-1] + bytes([content[-1] ^ 1]) for name, content in files.items()}


def test_a_download_fills_the_cache(
    tiny: dict[str, bytes],
    serve: Serve,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = serve(filled(tmp_path / "mirror", tiny))
    use(monkeypatch, CLOSED[0], address)
    found = load(MnistSettings("mnist"))
    assert f"downloaded from {address}" in found.source
    assert sorted(path.name for path in cache.iterdir()) == [
        IMAGES,
        "train-labels-idx1-ubyte.gz",
    ], "only the split that was asked for"
    (line,) = capsys.readouterr().err.splitlines()
    assert "downloading from" in line

    use(monkeypatch, *CLOSED)
    again = load(MnistSettings("mnist"))
    assert "from the local cache" in again.source
    assert again.images.tobytes() == found.images.tobytes()
    assert capsys.readouterr().err == ""


def test_an_altered_mirror_is_passed_over(
    tiny: dict[str, bytes], serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = serve(filled(tmp_path / "bad", altered(tiny)))
    good = serve(filled(tmp_path / "good", tiny))
    use(monkeypatch, bad, good)
    found = load(MnistSettings())
    assert found.kind == "mnist"
    assert f"downloaded from {good}" in found.source


def test_altered_mirrors_alone_leave_nothing_behind(
    tiny: dict[str, bytes],
    serve: Serve,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = serve(filled(tmp_path / "bad", altered(tiny)))
    use(monkeypatch, bad)
    with pytest.raises(DataError) as error:
        load(MnistSettings("mnist"))
    assert f"{bad}{IMAGES} is truncated or altered" in str(error.value)
    assert list(cache.iterdir()) == []
    assert load(MnistSettings()).kind == "stand-in"


def test_a_mirror_that_lacks_the_second_file(
    tiny: dict[str, bytes], serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, serve(filled(tmp_path / "half", {IMAGES: tiny[IMAGES]})))
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte.gz: 404"):
        load(MnistSettings("mnist"))


def test_an_altered_cached_file_is_mended_or_refused_by_name(
    tiny: dict[str, bytes],
    serve: Serve,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled(cache, tiny | altered({IMAGES: tiny[IMAGES]}))
    with pytest.raises(DataError, match=f"{IMAGES} is truncated or altered"):
        load(MnistSettings("mnist"))
    assert load(MnistSettings()).kind == "stand-in"
    assert f"{IMAGES} is truncated or altered" in expected(MnistSettings())

    use(monkeypatch, serve(filled(tmp_path / "mirror", tiny)))
    assert load(MnistSettings("mnist")).kind == "mnist"
    assert (cache / IMAGES).read_bytes() == tiny[IMAGES]


def test_silent_mirrors_cost_their_patience_once(
    tiny: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        use(monkeypatch, address, address + "a/", address + "b/")
        monkeypatch.setattr(mirrors, "PATIENCE", 0.5)
        before = time.monotonic()
        with pytest.raises(DataError, match=r"no mirror answered within 0.5 s"):
            load(MnistSettings("mnist"))
        assert time.monotonic() - before < 1.2


def test_a_cache_that_cannot_be_written(
    tiny: dict[str, bytes], serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SAMESTEP_CACHE", str(tmp_path / "file" / "cache"))
    use(monkeypatch, serve(filled(tmp_path / "mirror", tiny)))
    with pytest.raises(DataError, match="Not a directory"):
        load(MnistSettings("mnist"))
    assert load(MnistSettings()).kind == "stand-in"
