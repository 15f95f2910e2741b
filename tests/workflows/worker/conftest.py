"""A worker that is asked in this process."""

import pytest

from workflows.worker.handlers import Handlers

CONDITIONS = {"device": "cpu", "threads": 1, "precision": "float32", "tf32": False}


@pytest.fixture
def worker(study, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    made = study()
    worker = Handlers()
    worker.open("abacus", **CONDITIONS)
    worker.load(str(made.folders.data / "mlp"))
    worker.build("default")
    return worker
