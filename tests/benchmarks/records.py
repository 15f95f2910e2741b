"""Records, as a study leaves them, of which the times come from the noise model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.data.loading import load
from analysis.data.results import Machine
from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.noise import Noise
from tests.analysis.synthetic import Recipe, write
from workflows.records.storage import read_batches, write_batches

MS = 20.0


def simulated(
    folder: Path, recipe: Recipe, noises: Sequence[Noise], seed: int = 3
) -> tuple[Machine, dict[str, np.ndarray]]:
    """A machine, and what was drawn for it: logarithms of the times over 20 ms by workload,
    (replicates, contenders, mini-batches); contenders as in `recipe.contenders`."""
    write(folder, recipe)
    path = folder / "batches.parquet"
    rows = read_batches(path).to_pandas()
    random = np.random.default_rng(seed)
    deal = Deal(recipe.warmup, recipe.rounds, recipe.turn, recipe.discarded)
    names = [contender.name for contender in recipe.contenders]
    drawn = {}
    for workload in recipe.workloads:
        own = rows[rows["workload"] == workload]
        own = own.sort_values(
            ["replicate", "contender", "step"],
            key=lambda c: c.map(names.index) if c.name == "contender" else c,
        )
        shape = (recipe.replicates, len(names), len(deal.round))
        first = np.flatnonzero(np.r_[True, np.diff(deal.round) > 0])
        order = own["position"].to_numpy().reshape(shape)[..., first].astype(np.int64)
        logs = draw(noises, [1.0] * len(names), deal, shape[0], random, order)
        rows.loc[own.index, "step_ns"] = np.rint(
            1e6 * MS * np.exp(logs.astype(float)).ravel() - own["transfer_ns"]
        )
        drawn[workload] = logs
    assert (rows["step_ns"] > 0).all()
    write_batches(path, {name: rows[name].to_numpy() for name in rows.columns})
    return load([folder])[0], drawn
