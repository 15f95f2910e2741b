"""Noise that scenarios are made of."""

from dataclasses import replace

from benchmarks.simulation.noise import Noise


def facts(cv: float, icc: float = 0.2, lag1: float = 0.36, shifting: float = 0.15) -> Noise:
    """Noise with the figures of a benchmark of PyTorch against itself on a cloud machine: `cv`
    of processes, intraclass correlation, lag-1 autocorrelation within a process. `shifting` is
    the share of the variance within a process that level shifts have, one in 100 mini-batches;
    they are persistent, so mini-batches themselves need less autocorrelation."""
    within = cv * ((1 - icc) / icc) ** 0.5
    return Noise(
        process=cv,
        contest=cv,
        drift=0.02,
        shift=within * shifting**0.5,
        shifts=0.01,
        batch=within * (1 - shifting) ** 0.5,
        autocorrelation=(lag1 - 0.99 * shifting) / (1 - shifting),
        cold=(0.06, 0.02),
        warmup=(2.0, 0.3, 0.1, 0.05, 0.02),
    )


def device(noise: Noise) -> Noise:
    """Made up, since no GPU has been measured: steadier than the processor that drives it, but
    for interruptions and slow first mini-batches, which last as long and so weigh more."""
    return replace(
        noise,
        process=noise.process / 4,
        turn=noise.turn / 4,
        shift=noise.shift / 4,
        batch=noise.batch / 4,
        drift=noise.drift / 4,
        contest=noise.contest / 4,
        spikes=max(noise.spikes, 0.02),
        spike=max(noise.spike, 0.1),
        cold=tuple(3 * excess for excess in noise.cold),
    )


HARSH = facts(0.17)
HEAVY = replace(
    facts(0.05),
    process_tails=4.0,
    turn=0.05,
    turn_tails=2.0,
    batch_tails=2.0,
    spikes=0.05,
    spike=2.0,
)
WILD = replace(facts(0.03), process_tails=1.5)
SHARED = replace(facts(0.05), contest=0.25)
