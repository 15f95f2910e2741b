"""Keep a default study among those of docs/repeatability.md, in few bytes, for example:
`python -m benchmarks.keep reports/default/machines/m reports/repeats/evening/first/machines/m`

The sum that comparisons rest on, transfer and step of a mini-batch, stays as it was measured. Its
division and all other times are kept to a few microseconds, distances of certificates to two
digits. A folder that has been kept can be kept again and stays what it is.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from workflows.records.machine_folder import read_machine, write_machine
from workflows.records.machine_records import MachineRecords

GRAIN_NS = 4096  # zeros in the low bits cost nothing in a compressed column
CPU_NS = 32768  # of processor times, of which only sums are shown
DISTANCE = 2  # digits
LOSS = 6  # digits of float32 losses, whose limit is 1e-3


def thinned(batches: pa.Table) -> pa.Table:
    """Times in whole grains, but for the sum of transfer and step."""
    transfer, step = (batches[name].to_numpy() for name in ("transfer_ns", "step_ns"))
    data, cpu = (batches[name].to_numpy() for name in ("data_ns", "cpu_ns"))
    values = {"data_ns": grains(data), "cpu_ns": grains(cpu, CPU_NS)}
    values["transfer_ns"] = transfer // GRAIN_NS * GRAIN_NS
    values["step_ns"] = transfer + step - values["transfer_ns"]
    values["start_ns"] = starts(batches["start_ns"].to_numpy(), values["data_ns"] + transfer + step)
    for name, value in values.items():
        place = batches.schema.get_field_index(name)
        batches = batches.set_column(place, name, pa.array(value))
    return batches


def grains(times: np.ndarray, grain: int = GRAIN_NS) -> np.ndarray:
    return (times + grain // 2) // grain * grain


def starts(given: np.ndarray, took: np.ndarray) -> np.ndarray:
    """The starts, moved so that the time since the mini-batch before is in whole grains. The rest
    goes on to the next start, so that none is moved by more than half a grain."""
    found, end = np.empty_like(given), 0
    for place, (start, lasts) in enumerate(zip(given.tolist(), took.tolist(), strict=True)):
        begins = end + (start - end + GRAIN_NS // 2) // GRAIN_NS * GRAIN_NS
        found[place], end = begins, begins + lasts
    return found


def rounded(value: Any, digits: int = DISTANCE) -> Any:
    """Everything in a row of a certificate but its turns, which losses of contests are compared
    with."""
    if isinstance(value, dict):
        return {
            key: own if key == "turns" else rounded(own, LOSS if key == "float32" else digits)
            for key, own in value.items()
        }
    if isinstance(value, list):
        return [rounded(one, digits) for one in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def kept(records: MachineRecords) -> MachineRecords:
    values = records.model_dump(mode="json")
    for certificate in values["certificates"]:
        certificate["rows"] = rounded(certificate["rows"])
    for contest in values["contests"]:
        for turn in contest["turns"]:
            turn["start_ns"] = turn["start_ns"] // GRAIN_NS * GRAIN_NS
    return MachineRecords.model_validate(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path, help="the folder of a machine's records")
    parser.add_argument("to", type=Path, help="where to write the smaller ones")
    given = parser.parse_args()
    records, batches = read_machine(given.study)
    given.to.mkdir(parents=True, exist_ok=True)
    write_machine(given.to, kept(records), thinned(batches))


if __name__ == "__main__":
    main()
