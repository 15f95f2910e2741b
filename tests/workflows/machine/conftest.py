import pytest

from workflows.machine import fingerprint, gpu


@pytest.fixture
def files(monkeypatch, tmp_path):
    """`files(name, text)` writes a file of a system that has no others."""
    monkeypatch.setattr(fingerprint, "SYSTEM", tmp_path)
    monkeypatch.setattr(gpu, "kept_open", lambda: False)

    def put(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return put
