"""Keep a study in few bytes. A default study joins those of docs/repeatability.md so:
`python -m benchmarks.keep reports/default/machines/m reports/repeats/evening/first/machines/m`
With `--report` it keeps more digits, for a study whose report is committed.

Comparisons rest on the sum of transfer and step, which is kept to one part in 4,000, with a report
in 16,000, and to 66 or 16 microseconds in long steps. Processor times of mini-batches are kept to
one part in 8, with a report to one in 64, memory and page faults to one in 256, times of turns to
512 microseconds, with a report to 64, and other times to 131, with a report to 4 to 33. Distances
of certificates are kept to one digit, with a report to two, float32 losses to six, and sampled
weights to seven. Keeping a folder twice changes nothing.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from workflows.output import printing
from workflows.records.machine_folder import read_machine, write_machine
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import RecordError

# Zeros in the low bits cost nothing in a compressed column.
MEMORY_BITS = 8  # and of page faults
SHORT = ("peak_mib", "minor_faults", "major_faults")
OF_TURNS = ("cpu_s", "waited_s", "other_s", "elsewhere_s", "pressure_s", "outside_s")
WEIGHT = 7  # digits, which is about what float32 has
LOSS = 6  # digits of float32 losses, whose limit is 1e-3


class Grain(NamedTuple):
    """`idle_ns`: of reading data, and between mini-batches. `transfer_ns`: of transfer, at the
    expense of the step. `sum_bits`: of both. `cpu_bits`: of processor times. `turn_us`: of times of
    turns. `digits`: of the distances in certificates."""

    idle_ns: int
    transfer_ns: int
    sum_bits: int
    cpu_bits: int
    turn_us: int
    digits: int


REPEATED, REPORTED = Grain(131_072, 131_072, 12, 3, 512, 1), Grain(32_768, 4096, 14, 6, 64, 2)


def thinned(batches: pa.Table, grain: Grain = REPEATED) -> pa.Table:
    """The mini-batches with times in whole grains, or of few bits."""
    transfer, step = (batches[name].to_numpy() for name in ("transfer_ns", "step_ns"))
    data, cpu = (batches[name].to_numpy() for name in ("data_ns", "cpu_ns"))
    total = leading(transfer + step, grain.sum_bits, grain.idle_ns // 2)  # or steps would overlap
    values = {"data_ns": grains(data, grain.idle_ns), "cpu_ns": leading(cpu, grain.cpu_bits)}
    values["transfer_ns"] = np.minimum(transfer // grain.transfer_ns * grain.transfer_ns, total)
    values["step_ns"] = total - values["transfer_ns"]
    given, took = batches["start_ns"].to_numpy(), values["data_ns"] + total
    values["start_ns"] = starts(given, took, grain.idle_ns)
    for name, value in values.items():
        place = batches.schema.get_field_index(name)
        batches = batches.set_column(place, name, pa.array(value))
    return batches


def grains(times: np.ndarray, grain: int) -> np.ndarray:
    return (times + grain // 2) // grain * grain


def leading(times: np.ndarray, bits: int, most: int = 2**62) -> np.ndarray:
    """Each rounded to its first bits, and to `most` nanoseconds at most."""
    _, exponents = np.frexp(times)
    grain = np.minimum(2 ** np.maximum(exponents - bits, 0).astype(np.int64), most)
    return (times + grain // 2) // grain * grain


def short(value: float) -> float:
    """A number of a turn, rounded to its first bits."""
    _, exponent = math.frexp(value)
    grain = 2.0 ** (exponent - MEMORY_BITS)
    whole = round(value / grain) * grain
    return int(whole) if isinstance(value, int) else round(whole, 6)


def starts(given: np.ndarray, took: np.ndarray, grain: int) -> np.ndarray:
    """The starts, moved so that the time since the mini-batch before is in whole grains. The rest
    goes on to the next start, so that no start moves by more than half a grain."""
    found, end = np.empty_like(given), 0
    for place, (start, lasts) in enumerate(zip(given.tolist(), took.tolist(), strict=True)):
        begins = end + (start - end + grain // 2) // grain * grain
        found[place], end = begins, begins + lasts
    return found


def rounded(value: Any, digits: int) -> Any:
    """What a certificate has measured, with few digits. The losses of turns stay as they are,
    because contests are compared with them."""
    if isinstance(value, dict):
        return {
            key: with_short_weights(own)
            if key == "turns"
            else rounded(own, LOSS if key == "float32" else digits)
            for key, own in value.items()
        }
    if isinstance(value, list):
        return [rounded(one, digits) for one in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def with_short_weights(turns: dict[str, Any] | None) -> dict[str, Any] | None:
    return turns and {**turns, **{key: rounded(turns[key], WEIGHT) for key in ("start", "weights")}}


def kept(records: MachineRecords, grain: Grain = REPEATED) -> MachineRecords:
    values = records.model_dump(mode="json")
    for certificate in values["certificates"]:
        certificate |= rounded({key: certificate[key] for key in ("rows", "turns")}, grain.digits)
    for contest in values["contests"]:
        for contender in contest["contenders"]:
            contender["weights"] = rounded(contender["weights"], WEIGHT)
        for turn in contest["turns"]:
            turn["start_ns"] = turn["start_ns"] // grain.idle_ns * grain.idle_ns
            for name in OF_TURNS:
                if turn[name] is not None:
                    turn[name] = round(turn[name] * 1e6 / grain.turn_us) * grain.turn_us / 1e6
            for name in SHORT:
                if turn[name] is not None:
                    turn[name] = short(turn[name])
    return MachineRecords.model_validate(values)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keep", description=__doc__)
    parser.add_argument("study", type=Path, help="the folder of a machine's records")
    parser.add_argument("to", type=Path, help="where to write the smaller ones")
    parser.add_argument("--report", action="store_true", help="its report is committed, too")
    given = parser.parse_args()
    grain = REPORTED if given.report else REPEATED
    try:
        records, batches = read_machine(given.study)
    except RecordError as error:
        print(f"keep: {error}", file=sys.stderr)
        return 2
    write_machine(given.to, kept(records, grain), thinned(batches, grain))
    return 0


if __name__ == "__main__":
    sys.exit(printing("keep", main))
