"""Variants in a reduced precision: float64 as ever, and the format where float32 is asked for."""

from pathlib import Path

import numpy as np
import pytest

from frameworks import formats
from frameworks.contract import Conditions, Unavailable
from frameworks.formats import FORMATS, Format
from frameworks.workloads.layers import Conv2D, Dense, Flatten, MaxPool, ReLU
from tests.adapters.training import AGREE, Contender, missing, small, started, train
from workflows.certify.reduced import depth, require_use, room
from workflows.worker.probes import probe

FRAMEWORKS = ("pytorch", "tensorflow", "jax")
NETWORK = small(Conv2D(3), ReLU(), MaxPool(2), Flatten(), Dense(8), ReLU(), Dense(4))


def losses(name: str, variant: str, precision: str) -> np.ndarray:
    return train(Contender(name, variant).trainer(NETWORK, precision), NETWORK)


@pytest.fixture
def able() -> None:
    if not formats.computes_bfloat16():
        pytest.skip("this processor has no instructions for bfloat16")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_bfloat16_is_seen_where_float32_is_asked_for_and_float64_is_as_ever(
    able: None, name: str
) -> None:
    exact, reduced = (losses(name, v, "float64") for v in ("default", "bfloat16"))
    np.testing.assert_allclose(reduced, exact, rtol=AGREE)
    middle, most = room(FORMATS["bfloat16"], NETWORK)
    off = np.abs(losses(name, "bfloat16", "float32") - exact) / exact
    assert off[0] <= middle and 1e-5 < off.max() <= most
    trainer = Contender(name, "bfloat16").trainer(NETWORK, "float32")
    assert {weight.dtype.name for weight in trainer.weights().values()} == {"float32"}
    assert trainer.settings()["precision"] == "float32"
    answers = probe(started(name, "cpu", "float32"), "bfloat16", NETWORK)
    require_use(FORMATS["bfloat16"], NETWORK, answers)
    assert answers["weights_kept"] == "float32"


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_default_is_not_reduced_by_a_variant_before_it(able: None, name: str) -> None:
    Contender(name, "bfloat16").trainer(NETWORK, "float32")
    answers = probe(started(name, "cpu", "float32"), "default", NETWORK)
    assert answers["dense_products"] == answers["convolution_products"] == "float32"
    with pytest.raises(Unavailable, match="this build does not use bfloat16: dense products are"):
        require_use(FORMATS["bfloat16"], NETWORK, answers)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_tf32_on_a_processor_is_a_reason(name: str) -> None:
    with pytest.raises(Unavailable, match="does not apply to a processor: TF32 is a GPU's"):
        Contender(name, "tf32").trainer(NETWORK)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_tf32_on_a_gpu_is_seen(name: str) -> None:
    if why := missing(name, "tf32", "gpu"):
        pytest.skip(why)
    answers = probe(started(name, "gpu", "float32"), "tf32", NETWORK)
    require_use(FORMATS["tf32"], NETWORK, answers)


def test_a_processor_without_the_instructions_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: "flags\t\t: fpu avx512f amx_tile\n")
    with pytest.raises(Unavailable, match="no instructions for bfloat16"):
        Conditions().in_format("bfloat16")
    monkeypatch.setattr(Path, "read_text", lambda _: "Features\t: fp asimd bf16\n")
    assert Conditions().in_format("bfloat16") == Conditions()


def test_the_bound_follows_from_the_format_and_the_depth() -> None:
    assert depth(NETWORK.stages) == 3
    assert room(Format("f", "F", 11), NETWORK) == (18 * 2**-11, 54 * 2**-11)
    deep = small(*[Dense(4)] * 40, shape=(4,))
    assert room(FORMATS["bfloat16"], deep) == (0.4, 0.4)
