"""The contests of a recipe: what each contender's turns took, and what it said of itself."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from frameworks.workloads import Workload
from frameworks.workloads import load as from_catalogue
from frameworks.workloads.sweeps import members
from tests.analysis.recipe import NO_GPU, VERSIONS, Recipe
from workflows.records import schema as r
from workflows.records.columns import BATCHES
from workflows.records.machine_records import MissingRow
from workflows.worker.probes import QUESTIONS


def load(recipe: Recipe, name: str) -> Workload:
    swept = {own: one.entry for sweep, entry in recipe.sweeps.items()
             for own, one in members(sweep, entry).items()}  # fmt: skip
    return from_catalogue(name, swept.get(name))


def make_contest(
    recipe: Recipe, workload: str, replicate: int, random: np.random.Generator
) -> tuple[pd.DataFrame, r.ContestRecord]:
    controls = [r.Contender(**c.identity()) for c, _ in recipe.control_entrants.values()]
    everybody = [*recipe.contenders, *controls]
    running = [c for c in everybody if (workload, replicate, c.name) not in recipe.absent]
    count = recipe.warmup + recipe.rounds * recipe.turn
    # The workloads of one contest share it.
    outside = np.random.default_rng((recipe.seed, replicate)) if recipe.together else random
    interference = np.exp(np.cumsum(outside.normal(0, 0.01, recipe.rounds + 1)))
    orders = [[running[i] for i in random.permutation(len(running))] for _ in interference]
    frames = []
    for contender in running:
        turns = np.arange(count - recipe.warmup)
        rounds = np.r_[np.zeros(recipe.warmup, int), 1 + turns // recipe.turn]
        within = np.r_[np.arange(recipe.warmup), turns % recipe.turn]
        noise = np.zeros(count)
        for i in range(1, count):
            noise[i] = 0.36 * noise[i - 1] + random.normal(0, recipe.batch_sd)
        process = random.normal(0, recipe.process_sd)
        cold = np.where(within == 0, 0.06, np.where(within == 1, 0.02, 0.0))
        spikes = random.random(count) < 0.02
        ms = (
            recipe.step_ms(workload, contender)
            * interference[rounds]
            * np.exp(process + noise + cold + 0.5 * spikes)
        )
        ms[0] *= 40 if contender.framework == "tensorflow" else 6
        step = (ms * 1e6).astype(np.int64)
        transfer = (random.gamma(4, 6, count) * 1e3).astype(np.int64) + 1
        transfer += int(1e6 * recipe.to_gpu_ms) if contender.device == "gpu" else 0
        data = (random.gamma(6, 40 if workload == "mlp" else 12, count) * 1e3).astype(np.int64)
        index = np.arange(count)
        frames.append(
            pd.DataFrame(
                {
                    "study": recipe.study,
                    "machine": recipe.machine,
                    "workload": workload,
                    "replicate": np.int16(replicate),
                    "contender": contender.name,
                    "framework": contender.framework,
                    "variant": contender.variant,
                    "device": contender.device,
                    "threads": np.int16(contender.threads),
                    "round": rounds.astype(np.int16),
                    "position": np.array(
                        [orders[n].index(contender) for n in rounds], dtype=np.int16
                    ),
                    "batch": (index % load(recipe, workload).batches).astype(np.int32),
                    "step": index.astype(np.int32),
                    "warmup": (rounds == 0) | (within < recipe.discarded),
                    "start_ns": 1_760_000_000_000_000_000 + began(step + data + transfer),
                    "data_ns": data,
                    "transfer_ns": transfer,
                    "step_ns": step,
                    "cpu_ns": ((step + data) * contender.threads * 0.97).astype(np.int64),
                    "switches": random.poisson(0.1, count).astype(np.int32),
                    # of the mini-batch alone, but for rounding
                    "loss": loss(index + replicate * (not recipe.float64_turns), within)
                    * (1 + random.normal(0, 1e-7, count))
                    * (1 + recipe.pitfall(contender)[2]),
                }
            )
        )
    contest = r.ContestRecord(
        study=recipe.study,
        machine=recipe.machine,
        workload=workload,
        group=group(recipe, workload),
        place=place(recipe, workload, replicate),
        replicate=replicate,
        started=f"{recipe.year}-01-0{1 + replicate % 9}T10:00:00+00:00",
        duration_s=31.5 + replicate,
        seed=1000 + replicate,
        order=[[c.name for c in order] for order in orders[1:]],
        code=r.Code(version="0.1.0", commit="1ebadd4c0ffee", dirty=False),
        configuration="c0ffee",
        system_info={**recipe.system_info, "load_average": [round(0.1 * replicate, 2), 0.1, 0.1]},
        contenders=[make_contender(recipe, workload, replicate, c) for c in everybody]
        + [r.ContenderRecord(**c.model_dump(), status="missing") for c in make_missing(recipe)],
    )
    return (pd.concat(frames) if frames else pd.DataFrame(columns=BATCHES.names)), contest


def loss(index: Any, within: Any) -> Any:
    return 2.3 * np.exp(-0.02 * within) + 0.1 * np.sin(index)


def float64_turns(recipe: Recipe) -> r.Float64Turns:
    """The same losses in float64, and weights that each of the turns has moved by 0.001."""
    sizes = [recipe.warmup, *[recipe.turn] * recipe.rounds]
    begins = itertools.accumulate(sizes[:-1], initial=0)
    start = np.linspace(-0.1, 0.1, 64).astype(np.float32).astype(float)
    return r.Float64Turns(
        read=max(recipe.rounds - 1, 1),
        losses=[
            [float(loss(begin + step, step)) for step in range(size)]
            for begin, size in zip(begins, sizes, strict=True)
        ],
        start={"dense1.kernel": start.tolist()},
        weights={"dense1.kernel": (start + 1e-3).tolist()},
    )


def make_missing(recipe: Recipe) -> list[MissingRow]:
    if "gpu" in recipe.devices:
        return []
    return [
        MissingRow(framework=f, variant=v, device="gpu", threads=t, reason=NO_GPU)
        for f, v, t in itertools.product(recipe.frameworks, recipe.variants, recipe.threads)
    ]


def group(recipe: Recipe, workload: str) -> str:
    """Records of controls that only wait are older than groups."""
    if recipe.paused:
        return ""
    return "+".join(recipe.workloads) if recipe.together else workload


def place(recipe: Recipe, workload: str, replicate: int) -> int:
    """Workloads take turns in which is the first to warm up."""
    together = len(recipe.workloads) if recipe.together and not recipe.paused else 1
    return (recipe.workloads.index(workload) + replicate) % together


def make_contender(
    recipe: Recipe, workload: str, replicate: int, contender: r.Contender
) -> r.ContenderRecord:
    control, _ = recipe.control_entrants.get(contender.name, (None, 1.0))
    runs, _, loader = contender.variant.rpartition("+")
    role = {"runs": runs, "loader": loader} if runs else {}
    if control:
        role = control.model_dump(include={"runs", "slowed_by", "idle"})
    absent = recipe.absent.get((workload, replicate, contender.name))
    if absent:
        absence: r.Status = "missing" if absent.startswith("does not apply") else "failed"
        return r.ContenderRecord(**contender.identity(), **role, status=absence, reason=absent)
    torch = contender.framework == "pytorch"
    tuned = recipe.original(contender).variant == "tuned"
    return r.ContenderRecord(
        **contender.identity(),
        **role,
        took_s=3.0,
        status="ok",
        versions=VERSIONS.get(contender.framework, {}),
        settings={
            "precision": "float32",
            "intra_threads": contender.threads,
            "inter_threads": 1,
            "tf32_matmul": "n/a",
            "tf32_convolution": "n/a",
            "cudnn_autotune": "n/a",
            "layout": ("channels last" if tuned else "NCHW") if torch else "NHWC",
            "compilation": "none" if torch else "tf.function",
            "debugging": "off",
            "denormals": "flushed",
            "optimiser": ("torch.optim.Adam(fused)" if tuned else "torch.optim.Adam")
            if torch
            else ("ResourceApplyAdam" if tuned else "keras.optimizers.Adam"),
            "onednn": True,
            "blas": "mkl" if torch else "oneDNN",
            "device": "cpu",
            "mode": "training" if torch else "n/a",
            "input_gradient": "not computed",
            "relu_and_pool": "n/a" if workload == "mlp" else "relu first",
            "gpu_memory": "n/a",
            "freed_memory": "kept",
            "huge_pages": "used",
            "max_pooling": "n/a" if workload == "mlp" else "reduce_window",
            "weights_memory": "reused",
            "learning_rate": 0.001 if torch or tuned else 0.0010000000474974513,
            **(make_behaviour(contender) if replicate == 1 and not control else {}),
        },
        cores=list(range(contender.threads)),
        weights=float64_turns(recipe).weights if recipe.float64_turns and replicate == 1 else {},
        build_s=0.2 if torch else 0.9,
        import_s=import_s(recipe, contender, replicate),
    )


def import_s(recipe: Recipe, contender: r.Contender, replicate: int) -> float | None:
    """Of each framework's first."""
    first = next(c for c in recipe.contenders if c.framework == contender.framework)
    own = 2.0 if contender.framework == "pytorch" else 4.0
    return own * (1 + 0.02 * replicate) if contender == first else None


def make_behaviour(contender: r.Contender) -> dict[str, r.Setting]:
    """What the probes find, in the first replicate."""
    keras = (contender.framework, contender.variant) == ("tensorflow", "default")
    return {
        **dict.fromkeys(QUESTIONS, "as it should be"),
        "effective_epsilon": 3.162e-7 if keras else 1e-8,
        "epsilon_place": "outside the root" + ", before bias correction" * keras,
        "computing_threads": contender.threads,
    }


def began(took: "np.typing.NDArray[np.int64]") -> "np.typing.NDArray[np.int64]":
    """When each of several mini-batches began, one after the other, from 0."""
    return np.cumsum(took) - took
