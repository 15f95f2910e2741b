import errno
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from frameworks.workloads import Workload, from_dict, initial_weights, load, narrowed
from frameworks.workloads.datasets import DataError, MnistSettings, mnist, open_batches
from workflows.records.machine_records import DatasetRecord
from workflows.records.storage import read_json
from workflows.stages import prepare as module
from workflows.stages.prepare import prepare

SETTINGS = MnistSettings("stand-in")
SMALL = load("mlp", {"features": 20, "hidden": [8], "outputs": 3, "samples": 70, "batch": 16})
WIDE = load("mlp", {"features": 2000, "hidden": [600], "samples": 40, "batch": 8})
DIGITS = load("mnist-cnn", {"samples": 100, "batch": 32, "filters": [2, 2], "units": 4})
TEXT = load("lstm", {"words": 50, "units": 4, "time": 6, "samples": 620, "batch": 100})
FILES = {"inputs.npy", "targets.npy", "weights.npz", "workload.json", "dataset.json"}


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def digits(**changes: Any) -> Workload:
    dataset = {"kind": "mnist", "samples": 100, "shape": [28, 28, 1], "classes": 10}
    description = {
        "name": "digits",
        "dataset": {key: changes.pop(key, value) for key, value in dataset.items()},
        "batch": 10,
        "layers": ["flatten", {"dense": 10}],
        "loss": "sparse_cross_entropy",
        "optimiser": "sgd",
    }
    return from_dict(description | changes)


def test_regression_on_normal_inputs(tmp_path: Path) -> None:
    record = prepare(SMALL, tmp_path / "mlp", 3, SETTINGS)
    inputs, targets = open_batches(tmp_path / "mlp")
    assert inputs.shape == (4, 16, 20), "the short fifth batch is dropped"
    assert targets.shape == (4, 16, 3)
    assert inputs.dtype == targets.dtype == np.float32
    assert not targets.any()
    assert abs(inputs.mean()) < 0.1
    assert abs(inputs.std() - 1) < 0.1
    assert set(content(tmp_path / "mlp")) == FILES
    assert record == read_json(tmp_path / "mlp" / "dataset.json", DatasetRecord)
    assert (record.kind, record.samples, record.batches, record.seed) == ("normal", 70, 4, 3)


def test_classification_on_normal_inputs(tmp_path: Path) -> None:
    workload = digits(kind="normal", shape=[6, 6, 2], classes=7)
    prepare(workload, tmp_path / "data", 0, SETTINGS)
    inputs, targets = open_batches(tmp_path / "data")
    assert inputs.shape == (10, 10, 6, 6, 2)
    assert targets.shape == (10, 10)
    assert targets.dtype == np.int32
    assert set(targets.ravel().tolist()) == set(range(7))


def test_digits_are_scaled_shuffled_and_keep_their_labels(tmp_path: Path) -> None:
    record = prepare(DIGITS, tmp_path / "cnn", 5, SETTINGS)
    inputs, targets = open_batches(tmp_path / "cnn")
    assert (inputs.shape, targets.shape) == ((3, 32, 28, 28, 1), (3, 32))
    assert inputs.dtype == np.float32
    assert targets.dtype == np.int32
    assert (record.kind, record.samples, record.batches) == ("stand-in", 100, 3)
    assert "stand-in for MNIST" in record.source

    images = mnist.load(SETTINGS, 100)
    place = {image.tobytes(): index for index, image in enumerate(images.images)}
    pixels = np.rint(inputs * 255).astype(np.uint8).reshape(96, 28, 28)
    order = [place[image.tobytes()] for image in pixels]
    assert len(set(order)) == 96, "no image twice"
    assert order != sorted(order)
    assert (images.labels[order] == targets.ravel()).all()


def test_words_are_as_rare_as_zipf_has_it_and_the_next_ones_are_labels(tmp_path: Path) -> None:
    record = prepare(TEXT, tmp_path / "text", 2, SETTINGS)
    inputs, targets = open_batches(tmp_path / "text")
    assert inputs.shape == targets.shape == (6, 100, 6)
    assert inputs.dtype == targets.dtype == np.int32
    assert (inputs[..., 1:] == targets[..., :-1]).all()
    assert record.kind == "tokens" and "stand-in for the Penn Treebank" in record.source
    counts = np.bincount(inputs.ravel(), minlength=50)
    assert counts.shape == (50,) and counts.all()
    expected = 1 / (np.arange(50) + 3.7)
    expected *= counts.sum() / expected.sum()
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_weights_and_workload_are_stored(tmp_path: Path) -> None:
    prepare(DIGITS, tmp_path / "cnn", 5, SETTINGS)
    with np.load(tmp_path / "cnn" / "weights.npz") as stored:
        drawn = initial_weights(DIGITS, 5)
        assert list(stored) == list(drawn)
        assert all((stored[name] == drawn[name]).all() for name in drawn)
    assert from_dict(json.loads((tmp_path / "cnn" / "workload.json").read_text())) == DIGITS


@pytest.mark.parametrize(
    "workload", [SMALL, DIGITS, WIDE, TEXT], ids=["mlp", "cnn", "wide", "text"]
)
def test_the_seed_decides_every_byte(tmp_path: Path, workload: Workload) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        prepare(workload, tmp_path / name, seed, SETTINGS)
    assert content(tmp_path / "one") == content(tmp_path / "again")
    one, other = (open_batches(tmp_path / name)[0] for name in ("one", "other"))
    assert (one != other).any()
    before = content(tmp_path / "one")
    prepare(workload, tmp_path / "one", 1, SETTINGS)
    assert content(tmp_path / "one") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "one", "other"]


def test_inputs_do_not_repeat_the_weights(tmp_path: Path) -> None:
    prepare(SMALL, tmp_path / "mlp", 3, SETTINGS)
    same = np.random.default_rng(3).standard_normal((16, 20), np.float32)
    assert (open_batches(tmp_path / "mlp")[0][0] != same).any()


def test_the_narrow_copy(tmp_path: Path) -> None:
    prepare(WIDE, tmp_path / "mlp", 3, SETTINGS)
    narrow = tmp_path / "mlp" / "narrow"
    assert set(content(narrow)) == FILES
    assert open_batches(tmp_path / "mlp")[0].shape == (5, 8, 2000)
    assert open_batches(narrow)[0].shape == (5, 8, 512)
    assert from_dict(json.loads((narrow / "workload.json").read_text())) == narrowed(WIDE)
    with np.load(narrow / "weights.npz") as stored:
        assert stored["dense1.kernel"].shape == (512, 128)
    prepare(SMALL, tmp_path / "mlp", 3, SETTINGS)
    assert not narrow.exists(), "a former narrow copy goes with the former workload"


def test_fewer_images_than_asked_for_are_said(tiny_folder: Path, tmp_path: Path) -> None:
    settings = MnistSettings(folder=str(tiny_folder), split="test")
    record = prepare(digits(samples=60_000), tmp_path / "cnn", 1, settings)
    assert (record.kind, record.samples, record.batches) == ("mnist", 20, 2)
    assert "20 samples, all there are, of 60,000 asked for" in record.source
    assert len(open_batches(tmp_path / "cnn")[0]) == 2


def test_fewer_images_than_one_batch(tiny_folder: Path, tmp_path: Path) -> None:
    settings = MnistSettings(folder=str(tiny_folder), split="test")
    with pytest.raises(DataError, match="20 images do not fill one batch of 30"):
        prepare(digits(batch=30, samples=40), tmp_path / "cnn", 1, settings)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": [784]}, r"mnist has shape \(28, 28, 1\).*asks for \(784,\)"),
        ({"loss": "mean_squared_error"}, "mnist has labels"),
        ({"classes": 9}, "asks for 9 classes"),
    ],
)
def test_digits_that_mnist_is_not(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        prepare(digits(**changes), tmp_path / "cnn", 1, SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_mnist_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not available"):
        prepare(DIGITS, tmp_path / "cnn", 1, MnistSettings("mnist"))
    assert not (tmp_path / "cnn").exists()


Break = Callable[[BaseException], None]


@pytest.fixture
def break_off(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Lets the writing of inputs fail at the third mini-batch."""

    def arrange(error: BaseException) -> None:
        whole = module.draw

        def failing(parts: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
            yield next(parts)
            yield next(parts)
            raise error

        def draw(*arguments: Any) -> Any:
            batches = whole(*arguments)
            object.__setattr__(batches.inputs, "parts", failing(batches.inputs.parts))
            return batches

        monkeypatch.setattr(module, "draw", draw)

    return arrange


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bug"), OSError(5, "I/O")])
def test_a_failure_half_way_leaves_what_was_there(
    tmp_path: Path, break_off: Break, error: BaseException
) -> None:
    prepare(SMALL, tmp_path / "data" / "mlp", 1, SETTINGS)
    before = content(tmp_path)
    break_off(error)
    expected = DataError if isinstance(error, OSError) else type(error)
    for name in ("mlp", "new"):
        with pytest.raises(expected):
            prepare(SMALL, tmp_path / "data" / name, 2, SETTINGS)
    assert content(tmp_path) == before
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["mlp"]


def test_what_a_killed_run_left_goes_with_the_next(tmp_path: Path) -> None:
    for name in (".mlp.partial", ".mlp.former"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "inputs.npy").write_bytes(b"half")
    prepare(SMALL, tmp_path / "mlp", 1, SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["mlp"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up(tmp_path: Path, break_off: Break, code: int) -> None:
    break_off(OSError(code, "No space left on device"))
    with pytest.raises(DataError) as error:
        prepare(WIDE, tmp_path / "mlp", 1, SETTINGS)
    assert str(error.value).startswith("disk full: workload mlp needs 6 MB in")
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000))
    with pytest.raises(DataError, match=r"needs 6 MB in .* only 2 MB are free there: make room"):
        prepare(WIDE, tmp_path / "mlp", 1, SETTINGS)
    assert list(tmp_path.iterdir()) == []


def test_the_space_asked_for_is_the_space_taken(tmp_path: Path) -> None:
    workloads = WIDE, narrowed(WIDE)
    settings = MnistSettings()
    needed = sum(module.size(w, module.draw(w, None, 1)) for w in workloads)
    prepare(WIDE, tmp_path / "mlp", 1, settings)
    taken = sum(len(file) for file in content(tmp_path).values())
    assert needed - 2 * module.SLACK < taken < needed


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"not replaced, because it also holds thesis.tex"):
        prepare(SMALL, tmp_path, 1, SETTINGS)
    assert list(content(tmp_path)) == ["thesis.tex"]


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file.*: Not a directory|file.*: File exists"):
        prepare(SMALL, tmp_path / "file" / "mlp", 1, SETTINGS)
    with pytest.raises(DataError, match="file: Not a directory"):
        prepare(SMALL, tmp_path / "file", 1, SETTINGS)


def test_readers_of_the_former_data_are_not_disturbed(tmp_path: Path) -> None:
    prepare(SMALL, tmp_path / "mlp", 1, SETTINGS)
    inputs, _ = open_batches(tmp_path / "mlp")
    before = inputs.tobytes()
    prepare(SMALL, tmp_path / "mlp", 2, SETTINGS)
    assert inputs.tobytes() == before


def test_mnist_proper(real_folder: str, tmp_path: Path) -> None:
    workload = load("mnist-cnn", {})
    record = prepare(workload, tmp_path / "cnn", 1, MnistSettings("mnist", real_folder, "test"))
    inputs, targets = open_batches(tmp_path / "cnn")
    assert inputs.shape == (156, 64, 28, 28, 1)
    assert (float(inputs.min()), float(inputs.max())) == (0, 1)
    assert targets.max() == 9
    assert (record.kind, record.samples) == ("mnist", 10_000)
