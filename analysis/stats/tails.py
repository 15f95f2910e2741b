"""Tails of distributions and their inverses, from scipy.special: scipy.stats takes half a second
to import."""

from scipy import special


def t_above(value: float, freedom: float) -> float:
    """The probability that Student's t exceeds the value."""
    return float(special.stdtr(freedom, -value))


def t_exceeded(p: float, freedom: float) -> float:
    """The value that Student's t exceeds with this probability."""
    return float(-special.stdtrit(freedom, p))


def f_below(p: float, above: float, below: float) -> float:
    """The value that F does not exceed with this probability; `above` and `below` are the degrees
    of freedom of its numerator and denominator."""
    return float(special.fdtri(above, below, p))


def binomial_above(number: int, tries: int, p: float) -> float:
    """The probability of more than this number of successes."""
    return float(special.bdtrc(number, tries, p))
