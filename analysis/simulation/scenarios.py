"""The studies that are simulated: who is compared with whom, under which noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from analysis.simulation.conditions import HARSH, HEAVY, SHARED, WILD, device, facts
from analysis.simulation.noise import Noise

WORKLOADS, PAIRS = 2, 4  # eight contenders in each workload: the default study's but for JAX
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


def side_by_side(sides: Sequence[tuple[Noise, Noise, float]]) -> Setup:
    """Pairs of contender, reference and the ratio of their times."""
    noises = [noise for contender, base, _ in sides for noise in (contender, base)]
    times = [time for *_, ratio in sides for time in (ratio, 1.0)]
    pairs = [(2 * row, 2 * row + 1) for row in range(len(sides))]
    return Setup(tuple(noises), tuple(times), tuple(pairs))


def fitted(fits: Sequence[Noise], number: int) -> Setup:
    """Every pair has the noise of one recorded contender, on both sides."""
    chosen = [fits[(PAIRS * number + row) % len(fits)] for row in range(PAIRS)]
    return side_by_side([(noise, noise, 1.0) for noise in chosen])


def always(noise: Noise) -> Build:
    return lambda _fits, _number: side_by_side([(noise, noise, 1.0)] * PAIRS)


def shared(_fits: Sequence[Noise], _number: int) -> Setup:
    """Three contenders each share a reference, as with four frameworks, and all a contest."""
    pairs = tuple((base + other, base) for base in (0, 4) for other in (1, 2, 3))
    return Setup((SHARED,) * 8, (1.0,) * 8, pairs)


def different(fits: Sequence[Noise], number: int) -> Setup:
    """Both sides have noise of their own, from two contenders of the records."""
    return side_by_side(
        [
            (fits[place % len(fits)], fits[(place + 1) % len(fits)], RATIOS[place % len(RATIOS)])
            for place in range(PAIRS * number, PAIRS * (number + 1))
        ]
    )


def harshly_different(_fits: Sequence[Noise], number: int) -> Setup:
    """A contender of the noisiest kind against one that is quiet."""
    quiet = facts(0.01)
    return side_by_side([(HARSH, quiet, RATIOS[(number + row) % 3]) for row in range(PAIRS)])


def slow(_fits: Sequence[Noise], _number: int) -> Setup:
    """One side has, in one of ten, processes that are slow from start to end."""
    steady = facts(0.03)
    return side_by_side([(replace(steady, slow=0.1, slowed=0.3), steady, 1.0)] * PAIRS)


def devices(fits: Sequence[Noise], number: int) -> Setup:
    """A GPU eight times as fast. What drives it is not slowed by the processor's weather as
    much, so that what processes of a contest share does not cancel."""
    chosen = [fits[(PAIRS * number + row) % len(fits)] for row in range(PAIRS)]
    return side_by_side([(device(noise), noise, 1 / 8) for noise in chosen])


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
NO_DIFFERENCE = ("fitted", "harsh", "heavy tails", "shared", "wild processes")
