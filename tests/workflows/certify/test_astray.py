import numpy as np
import pytest

from frameworks.workloads.distance import REST, UPPER, astray, errors, hidden
from tests.workflows.certify.test_judge import judged


def trained(steps=4, count=1000, rate=1e-3):
    """Weights of a tensor before and after some steps, each as long as the rate, and in float32."""
    random = np.random.default_rng(1)
    start = random.uniform(-0.1, 0.1, count).astype(np.float32)
    exact, own = start.astype(float), start.copy()
    step = rate * random.choice([-1, 1], count)
    for _ in range(steps):
        exact, own = exact + step, own + step.astype(np.float32)
    return own, exact, start


def found(own, exact, start, steps=4):
    return astray({"w": own}, {"w": exact}, {"w": start}, steps)["w"]


def test_rounding_in_float32_leads_nobody_astray():
    own, exact, start = trained()
    assert found(own, exact, start) == (0, 0)  # no more than storing each step can change
    own[:5] += 2e-3  # a gradient near zero whose sign was another
    typical, off = found(own, exact, start)
    assert typical == 0 and off <= 0.01


def test_updates_that_are_wrong_in_float32_lead_astray():
    own, exact, start = trained()
    size = np.median(np.abs(exact - start))
    assert found(own + 1e-3 * size, exact, start).typical == pytest.approx(1e-3, rel=0.05)
    frozen = np.where(np.arange(own.size) < 300, start, own)
    assert found(frozen, exact, start).off > 0.15
    assert found(start, exact, start).typical == pytest.approx(1, rel=0.01)
    assert found(own * np.nan, exact, start) == (float("inf"), 1)


def test_a_tensor_that_moves_less_than_others_is_judged_by_its_own_move():
    """After a timed turn: a frozen layer under sigmoids moves a thousandth of the others."""
    own, exact, start = trained(rate=1e-3)
    slow, right, begin = trained(rate=5e-7)
    frozen = {"w": own, "slow": begin}
    both = [{"w": exact, "slow": right}, {"w": start, "slow": begin}, 4]
    assert np.median(errors({"w": own, "slow": slow}, *both, alone=True)["slow"]) < 0.01
    assert np.median(errors(frozen, *both, alone=True)["slow"]) == pytest.approx(1, rel=0.05)
    assert "slow" not in astray(frozen, *both)  # as certificates have it
    assert hidden(*both) == []


def test_what_storing_in_float32_loses_is_named():
    own, exact, start = trained(rate=1e-3)
    _, right, begin = trained(rate=1e-9)
    both = [{"w": exact, "slow": right, "idle": begin}, {"w": start, "slow": begin, "idle": begin}]
    assert hidden(*both, 4) == ["slow", "idle"]
    assert set(errors({"w": own, "slow": begin, "idle": begin}, *both, 4, alone=True)) == {"w"}


def test_small_tensors_are_judged_together():
    """A single number that rounding has sent elsewhere proves nothing."""
    own, exact, start = trained()
    small = {f"bias{n}": slice(9 * n, 9 * n + 9) for n in range(3)}

    def split(values):
        return {"w": values[100:], **{name: values[part] for name, part in small.items()}}

    assert set(astray(split(own), split(exact), split(start), 4)) == {"w", REST}
    own[:1] += 2e-3
    assert astray(split(own), split(exact), split(start), 4)[REST].off < 0.1
    assert set(astray(*({"b": each[:9]} for each in (own, exact, start)), 4)) == set()


@pytest.mark.parametrize(("noisy", "shows"), [(9, False), (11, True)])
def test_the_rest_of_a_network_is_as_noisy_as_its_noisier_tensors(noisy, shows):
    """Whether the median is one of theirs is chance, so that plain NumPy's is no limit."""
    own, exact, start = trained(count=20)
    own[:noisy] += 4e-6  # a thousandth of a move
    few = [{"a": each[:noisy], "b": each[noisy:]} for each in (own, exact, start)]
    assert (astray(*few, 4)[REST].typical > 5e-4) is shows
    assert astray(*few, 4, UPPER)[REST].typical == pytest.approx(1e-3, rel=0.1)


def test_one_kernel_may_go_astray_in_a_small_network():
    """One sample whose ReLU float32 decides differently moves a whole kernel."""
    rest = dict.fromkeys(("a", "b"), (1e-05, 0.0))

    def verdict(typical):
        return judged(astray={10: {**rest, "w": (typical, 0.0)}})[0]

    assert (verdict(2.5e-3), verdict(6e-3)) == ("agrees", "refused")


def test_a_tensor_that_hardly_moves_says_nothing():
    own, exact, start = trained()
    still = {"own": start[:9] + 1e-5, "exact": start[:9] + 1e-9, "start": start[:9]}
    names = ("own", "exact", "start")
    pairs = [{"w": w, "idle": still[n]} for n, w in zip(names, (own, exact, start), strict=True)]
    assert set(astray(*pairs, 4)) == {"w"}
