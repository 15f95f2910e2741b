import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from frameworks.workloads.datasets import DataError, open_batches
from frameworks.workloads.datasets.batches import Column, store


def column(shape: tuple[int, ...]) -> Column:
    return Column(shape, np.float32, (np.full(shape[1:], i) for i in range(shape[0])))


def test_stored_mini_batches_open_read_only_and_mapped(tmp_path: Path) -> None:
    digest = hashlib.sha256()
    store(tmp_path / "inputs.npy", column((5, 4, 3)), digest)
    store(tmp_path / "targets.npy", column((5, 4)), digest)
    inputs, targets = open_batches(tmp_path)
    assert isinstance(inputs, np.memmap)
    assert (inputs.shape, targets.shape) == ((5, 4, 3), (5, 4))
    assert (inputs[3] == 3).all()
    with pytest.raises(ValueError, match="read-only"):
        inputs[0] = 1
    files = (tmp_path / "inputs.npy").read_bytes() + (tmp_path / "targets.npy").read_bytes()
    assert digest.hexdigest() == hashlib.sha256(files).hexdigest()


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"inputs.npy: no such file; delete .*, and the next run"):
        open_batches(tmp_path)
    store(tmp_path / "inputs.npy", column((5, 4, 3)), hashlib.sha256())
    store(tmp_path / "targets.npy", column((6, 4)), hashlib.sha256())
    with pytest.raises(DataError, match="do not match"):
        open_batches(tmp_path)
    whole = (tmp_path / "targets.npy").read_bytes()
    for damaged in (b"", whole[:-4], b"rubbish"):
        (tmp_path / "targets.npy").write_bytes(damaged)
        with pytest.raises(DataError, match=r"targets.npy: cannot be opened"):
            open_batches(tmp_path)


def test_opening_takes_numpy_alone() -> None:
    heavy = "pooch", "sklearn", "scipy", "pydantic", "requests", "pyarrow"
    code = (
        "import sys; from frameworks.workloads.datasets import open_batches; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
