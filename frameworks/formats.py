"""Formats with fewer digits than float32, in which a variant may compute its products."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Instructions for products of bfloat16, as Linux names them on x86 and on Arm.
INSTRUCTIONS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


@dataclass(frozen=True)
class Format:
    """`digits` are the binary digits of a number, with the leading one, which is not stored."""

    name: str
    title: str
    digits: int

    @property
    def roundoff(self) -> float:
        """How far rounding moves a number at most, relative."""
        return 2.0**-self.digits


BFLOAT16 = Format("bfloat16", "bfloat16", 8)
TF32 = Format("tf32", "TF32", 11)

FORMATS: Mapping[str, Format] = {one.name: one for one in (BFLOAT16, TF32)}


def computes_bfloat16() -> bool:
    """Whether this processor multiplies numbers of bfloat16, and does not only emulate it."""
    try:
        known = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False  # another system than Linux
    flags = re.search(r"^(?:flags|Features)\s*:(.*)", known, re.M)
    return flags is not None and not INSTRUCTIONS.isdisjoint(flags[1].split())
