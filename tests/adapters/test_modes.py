"""Modes of a framework are read back from what runs, whoever has switched them on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from frameworks.workloads.layers import Dense
from tests.adapters.training import Contender, small, train

SMALL = small(Dense(4), shape=(6,))


@contextmanager
def torch_anomaly() -> Iterator[None]:
    import torch

    with torch.autograd.detect_anomaly(check_nan=False):
        yield


@contextmanager
def torch_deterministic() -> Iterator[None]:
    import torch

    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@contextmanager
def onednn_deterministic() -> Iterator[None]:
    import torch

    torch.backends.mkldnn.deterministic = True
    yield
    torch.backends.mkldnn.deterministic = False


@contextmanager
def torch_profiler() -> Iterator[None]:
    import torch

    with torch.autograd.profiler.profile():
        yield


@contextmanager
def numerics_checked() -> Iterator[None]:
    import tensorflow as tf

    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


@contextmanager
def functions_eager() -> Iterator[None]:
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def jax_option(name: str) -> Any:
    @contextmanager
    def switched() -> Iterator[None]:
        import jax

        jax.config.update(name, True)
        yield
        jax.config.update(name, False)

    return switched


@pytest.mark.parametrize(
    ("name", "mode", "setting", "value"),
    [
        ("pytorch", torch_anomaly, "debugging", "anomaly detection"),
        ("pytorch", torch_deterministic, "debugging", "deterministic algorithms"),
        ("pytorch", onednn_deterministic, "debugging", "deterministic oneDNN"),
        ("pytorch", torch_profiler, "debugging", "profiler"),
        ("tensorflow", numerics_checked, "debugging",
         "callbacks on operations and checks in the graph"),
        ("tensorflow", functions_eager, "compilation", "eager"),
        ("jax", jax_option("jax_debug_nans"), "debugging", "debug_nans"),
        pytest.param("jax", jax_option("jax_check_tracer_leaks"), "debugging", "check_tracer_leaks",
                     marks=pytest.mark.all),
        ("jax", jax_option("jax_disable_jit"), "compilation", "eager"),
    ],
)  # fmt: skip
def test_a_mode_is_a_setting(name: str, mode: Any, setting: str, value: str) -> None:
    def settings() -> dict[str, Any]:
        trainer = Contender(name, "default").trainer(SMALL)
        train(trainer, SMALL, 1)
        return trainer.settings()

    before = settings()
    assert before["debugging"] == "off" and before["compilation"] != value
    with mode():
        assert settings()[setting] == value
    left = settings()
    assert {**left, "huge_pages": before["huge_pages"]} == before  # which the kernel may grant late


def test_a_graph_keeps_the_checks_that_it_was_traced_with() -> None:
    trainer = Contender("tensorflow", "tuned").trainer(SMALL)
    with numerics_checked():
        train(trainer, SMALL, 1)
    assert trainer.settings()["debugging"] == "checks in the graph"


def test_a_hook_is_seen() -> None:
    trainer: Any = Contender("pytorch", "default").trainer(SMALL)
    trainer._network[0].register_forward_hook(lambda *given: None)
    assert trainer.settings()["debugging"] == "hooks"


@pytest.mark.parametrize(
    ("variant", "compilation"),
    [("default", "tf.function"), ("tuned", "tf.function"), ("eager", "eager"),
     ("xla", "tf.function, XLA")],
)  # fmt: skip
def test_tensorflow_says_what_is_stepped(variant: str, compilation: str) -> None:
    trainer: Any = Contender("tensorflow", variant).trainer(SMALL)
    train(trainer, SMALL, 1)
    assert trainer.settings()["compilation"] == compilation
    trainer._train_step = getattr(trainer._train_step, "traced", trainer._train_step)
    if variant == "eager":  # it would be traced if it were stepped so
        assert trainer.settings()["compilation"] == "tf.function"


def test_torch_says_what_is_stepped() -> None:
    torch = pytest.importorskip("torch")
    from frameworks.pytorch.settings import compilation

    network = torch.nn.Linear(2, 2)
    assert compilation(network) == "eager"
    assert compilation(torch.jit.script(network)) == "torch.jit"
    compiled = torch.compile(network)
    assert compilation(compiled) == compilation(torch.compile(lambda x: x)) == "torch.compile"
    with torch._dynamo.config.patch(disable=True):
        assert compilation(compiled) == "eager"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"mode": "max-autotune-no-cudagraphs"}, "max_autotune=True"),
        ({"options": {"shape_padding": False}}, "shape_padding=False"),
        ({"backend": "eager"}, "backend=another"),
        ({"dynamic": True}, "dynamic=True"),
        ({"dynamic": False}, "dynamic=False"),
        ({"fullgraph": True}, "fullgraph=True"),
        ({"fullgraph": True, "mode": "max-autotune-no-cudagraphs"}, "max_autotune=True"),
    ],
)
def test_torch_says_how_it_was_asked_to_compile(asked: dict[str, Any], said: str) -> None:
    torch = pytest.importorskip("torch")
    from frameworks.pytorch.settings import compilation

    for step in (torch.nn.Linear(2, 2), lambda x: x):
        found = compilation(torch.compile(step, **asked)).split(", ")
        assert said in found and ("backend" in asked or "backend=another" not in found)


def test_torch_says_if_what_is_compiled_is_run_otherwise() -> None:
    torch = pytest.importorskip("torch")
    from frameworks.pytorch.settings import compilation

    step = torch.compile(lambda x: x)
    for stance, said in (
        ("force_eager", "eager"),
        ("eager_on_recompile", "torch.compile, stance=eager_on_recompile"),
    ):
        with torch.compiler.set_stance(stance):
            assert compilation(step) == said
    assert compilation(step) == "torch.compile"


def test_jax_says_how_it_was_asked_to_compile() -> None:
    jax = pytest.importorskip("jax")
    from frameworks.jax.settings import compilation

    options = {"xla_cpu_enable_fast_math": True}
    step = jax.jit(lambda x: x, compiler_options=options)
    assert compilation(step) == "jax.jit (XLA), xla_cpu_enable_fast_math=True"
    assert compilation(jax.jit(lambda x: x)) == "jax.jit (XLA)"


def test_tensorflow_says_what_its_optimiser_was_asked_for() -> None:
    tf = pytest.importorskip("tensorflow")
    trainer: Any = Contender("tensorflow", "default").trainer(SMALL)
    train(trainer, SMALL, 1)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        said = trainer.settings()["compilation"]
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    assert said == "tf.function, disable_meta_optimizer=True"


@pytest.mark.parametrize("channels", ["NHWC", "NCHW"])
def test_jax_reads_the_layout_off_its_program(channels: str) -> None:
    jax = pytest.importorskip("jax")
    from frameworks.jax.settings import layout

    def network(x: Any) -> Any:
        kernel = jax.numpy.ones((3, 3, 2, 2))
        return jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=(channels, "HWIO", channels)
        )

    shape = (1, 2, 8, 8) if channels == "NCHW" else (1, 8, 8, 2)
    assert layout(network, jax.numpy.ones(shape)) == channels
