"""The simulated studies: the contenders that are compared, and their noise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.judging import Floats, log_ratios
from benchmarks.simulation.noise import HARSH, HEAVY, SHARED, WILD, Noise, device, facts

# As in the default study: how many contenders are compared with each reference, `default`
# (TensorFlow and JAX) and `tuned` on one thread, then on two; workloads; and frameworks on a GPU.
WORKLOADS, PER_REFERENCE, ON_GPU = 2, (2, 1, 2, 1), 5
RATIOS = (0.8, 1.05, 2.0)


@dataclass(frozen=True)
class Setup:
    """The contests of one workload: noise and noise-free time of every contender, and the rows
    of the comparison table as places of contender and reference."""

    noises: tuple[Noise, ...]
    times: tuple[float, ...]
    pairs: tuple[tuple[int, int], ...]


Build = Callable[[Sequence[Noise], int], Setup]  # fitted noise, and a running number


@dataclass(frozen=True)
class Scenario:
    name: str
    what: str
    build: Build
    demanded: bool = True  # else the method is known to have no right to cover 95 %


def compared(
    sides: Callable[[int], tuple[Noise, Noise]],
    ratios: Sequence[float] = (1.0,),
    counts: Sequence[int] = PER_REFERENCE,
) -> Setup:
    """References with `counts` contenders compared with each. `sides` gives, by the reference's
    place, the noise of its contenders and its own; `ratios` go round from row to row."""
    noises: list[Noise] = []
    times: list[float] = []
    pairs: list[tuple[int, int]] = []
    for place, count in enumerate(counts):
        contender, reference = sides(place)
        base = len(noises)
        own = [ratios[(len(pairs) + row) % len(ratios)] for row in range(count)]
        pairs += [(base + row + 1, base) for row in range(count)]
        noises += [reference, *[contender] * count]
        times += [1.0, *own]
    return Setup(tuple(noises), tuple(times), tuple(pairs))


def recorded_noise(fits: Sequence[Noise], number: int) -> Noise:
    """One after the other, each pass from one further on, so that all come to all places."""
    return fits[(number + number // len(fits)) % len(fits)]


def fitted(fits: Sequence[Noise], number: int) -> Setup:
    """A reference and its contenders have the noise of one recorded contender."""

    def sides(place: int) -> tuple[Noise, Noise]:
        noise = recorded_noise(fits, len(PER_REFERENCE) * number + place)
        return noise, noise

    return compared(sides)


def always(noise: Noise) -> Build:
    return lambda _fits, _number: compared(lambda _place: (noise, noise))


def shared(_fits: Sequence[Noise], _number: int) -> Setup:
    """Each reference has three contenders, as with four frameworks, all in one contest."""
    return compared(lambda _place: (SHARED, SHARED), counts=(3, 3))


def different(fits: Sequence[Noise], number: int) -> Setup:
    """Both sides have noise of their own, from two contenders of the records."""

    def sides(place: int) -> tuple[Noise, Noise]:
        first = len(PER_REFERENCE) * number + place
        return recorded_noise(fits, first), recorded_noise(fits, first + 1)

    return compared(sides, RATIOS)


def harshly_different(_fits: Sequence[Noise], _number: int) -> Setup:
    """A contender of the noisiest kind against one that is quiet."""
    return compared(lambda _place: (HARSH, facts(0.01)), RATIOS)


def slow(_fits: Sequence[Noise], _number: int) -> Setup:
    """One side has, in one of ten, processes that are slow from start to end."""
    steady = facts(0.03)
    return compared(lambda _place: (replace(steady, slow=0.1, slowed=0.3), steady))


def devices(fits: Sequence[Noise], number: int) -> Setup:
    """A GPU eight times as fast, each contender against itself on the processor. Interference on
    the processor slows a GPU's process less, so what a contest's processes share does not
    cancel."""

    def sides(place: int) -> tuple[Noise, Noise]:
        noise = recorded_noise(fits, ON_GPU * number + place)
        return device(noise), noise

    return compared(sides, (1 / 8,), counts=(1,) * ON_GPU)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("fitted", "both sides of a pair have the noise of one recorded contender", fitted),
        Scenario(
            "harsh",
            "processes differ by 17 % (intraclass correlation 0.2), level shifts, drift",
            always(HARSH),
        ),
        Scenario(
            "heavy tails",
            "Student's t with 4 degrees of freedom between processes and 2 between turns and "
            "mini-batches, of which one in twenty is interrupted",
            always(HEAVY),
        ),
        Scenario(
            "shared",
            "processes of a contest share an effect of 25 % and have 5 % of their own; three "
            "contenders share each reference",
            shared,
        ),
        Scenario(
            "wild processes",
            "Student's t with 1.5 degrees of freedom between processes, so that a single one is "
            "often further off than all others together (no coverage is demanded)",
            always(WILD),
            demanded=False,
        ),
        Scenario(
            "different", "noise of two recorded contenders, true ratios 0.8, 1.05, 2", different
        ),
        Scenario(
            "harshly different",
            "processes of one side differ by 17 %, of the other by 1 %; true ratios 0.8, 1.05, 2",
            harshly_different,
        ),
        Scenario(
            "devices", "a GPU, eight times as fast, with other noise than its processor", devices
        ),
        Scenario(
            "slow processes",
            "one process in ten of one side is 35 % slower from start to end, where others differ "
            "by 3 %; the true ratio has them in it (no coverage is demanded)",
            slow,
            demanded=False,
        ),
    )
}
MIDDLING = Scenario(
    "middling",
    "processes differ by 2 %, so that about seven replicates are enough",
    always(facts(0.02)),
)
QUIET = Scenario(
    "quiet",
    "processes differ by 1 %, so that about four replicates are enough",
    always(facts(0.01)),
)
NO_DIFFERENCE = ("fitted", "harsh", "heavy tails", "shared", "wild processes")


SEED = 20161
PORTION = 125  # studies that are drawn at once, with the same noise


def studies(
    scenario: Scenario, fits: Sequence[Noise], deal: Deal, count: int, replicates: int
) -> Iterator[tuple[Floats, Floats]]:
    """Log-ratios (studies, replicates, rows of the comparison table) and their truth (rows,),
    portion by portion. A portion's numbers depend on its place and size alone."""
    for portion, begin in enumerate(range(0, count, PORTION)):
        here = min(PORTION, count - begin)
        random = np.random.default_rng([SEED, crc32(scenario.name.encode()), portion, replicates])
        ratios, truths = [], []
        for workload in range(WORKLOADS):
            setup = scenario.build(fits, WORKLOADS * portion + workload)
            logs = draw(setup.noises, setup.times, deal, here * replicates, random)
            one, other = np.array(setup.pairs).T
            ratios.append(log_ratios(logs, deal, setup.pairs).reshape(here, replicates, -1))
            own = np.log(setup.times) + [noise.slow * noise.slowed for noise in setup.noises]
            truths.append(own[one] - own[other])
        yield np.concatenate(ratios, axis=2), np.concatenate(truths)
