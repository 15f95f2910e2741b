"""Certify random networks, and print how many were tried and which were refused.

`python -m benchmarks.alarms --networks 250` takes about 20 minutes. It ends with 1 if a certificate
refuses a network: an alarm, because samestep's own adapters are correct. A network is uncertain
if the certificate says that NumPy's own results scatter too much. Frameworks take networks in turn,
beside the reference. `--seed`, `--networks` and `--only NUMBER` repeat a network, and
`--first NUMBER` goes on where a run was stopped.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from benchmarks.alarms.networks import workloads
from benchmarks.alarms.study import TRIED, Certifier, Outcome
from benchmarks.options import at_least
from frameworks.workloads import Workload, to_dict
from workflows.output import printing

NAMES = list(TRIED)
SOMETIMES = 50  # networks between two lines of progress


class Alarms:
    """What was tried, and what was refused."""

    def __init__(self) -> None:
        self.statuses: Counter[tuple[str, str]] = Counter()
        self.alarms: list[str] = []
        self.tried = 0

    def certify(self, certifier: Certifier, number: int, workload: Workload) -> None:
        name = NAMES[number % len(NAMES)]
        try:
            outcomes = list(certifier.certify(workload, name))
        except Exception as error:  # of the benchmark itself, or of the reference
            outcomes = [Outcome(name, "failed", f"{type(error).__name__}: {error}")]
        for outcome in outcomes:
            self.statuses[outcome.contender, outcome.status] += 1
            if outcome.status == "uncertain":
                print(f"network {number}, {outcome.contender}: {outcome.why}", flush=True)
            if outcome.alarm:
                text = f"network {number}, {outcome.contender} {outcome.status}: {outcome.why}"
                self.alarms.append(f"{text}\n{entry(workload)}")
                print(self.alarms[-1], flush=True)
        self.tried += 1
        if self.tried % SOMETIMES == 0:
            print(f"{self.tried} networks, {len(self.alarms)} alarms", flush=True)

    def said(self) -> str:
        statuses = ("agrees", "declared", "missing", "diverges", "uncertain", "refused", "failed")
        lines = [f"{'contender':22}{'tried':>8}" + "".join(f"{one:>10}" for one in statuses)]
        for name in sorted({contender for contender, _ in self.statuses}):
            numbers = [self.statuses[name, status] for status in statuses]
            lines.append(f"{name:22}{sum(numbers):8}" + "".join(f"{n:10}" for n in numbers))
        lines.append(f"alarms: {len(self.alarms)}")
        return "\n".join([*lines, *self.alarms])


def drawn(count: int, seed: int) -> list[Workload]:
    """`count` different networks."""
    found: dict[Workload, None] = {}

    @seeded(seed)
    @settings(
        max_examples=2 * count + 100,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
    )
    @given(workload=workloads())
    def keep(workload: Workload) -> None:
        found[workload] = None

    keep()
    return [replace(one, name=f"random-{n}") for n, one in enumerate([*found][:count])]


def entry(workload: Workload) -> str:
    """The workload as YAML, to be pasted into a configuration."""
    description = to_dict(workload)
    named = {"workloads": {description.pop("name"): description}}
    return yaml.safe_dump(named, sort_keys=False, default_flow_style=None)


def certify_all(alarms: Alarms, numbered: list[tuple[int, Workload]], jobs: int) -> None:
    """Certify in `jobs` threads, because nothing is timed."""

    def share(place: int) -> None:
        with tempfile.TemporaryDirectory(prefix="alarms-") as folder:
            certifier = Certifier(Path(folder).resolve())
            try:
                for number, workload in numbered[place::jobs]:
                    alarms.certify(certifier, number, workload)
            finally:
                certifier.close()

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(share, range(jobs)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alarms", description=__doc__)
    parser.add_argument("--networks", type=at_least(1), default=30, help="how many (default: 30)")
    parser.add_argument("--seed", type=int, help="of the networks (default: another each time)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this network alone")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="begin with it")
    parser.add_argument("--jobs", type=at_least(1), default=2, help="side by side (default: 2)")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    numbered = list(enumerate(drawn(options.networks, seed)))
    if options.only is not None:
        if not 0 <= options.only < options.networks:
            parser.error(f"--only {options.only}: networks are 0 to {options.networks - 1}")
        numbered = [numbered[options.only]]
    numbered = [one for one in numbered if one[0] >= options.first]
    alarms, begin = Alarms(), time.monotonic()
    certify_all(alarms, numbered, options.jobs)
    print(alarms.said())
    print(f"{len(numbered)} networks in {time.monotonic() - begin:.0f} s")
    return bool(alarms.alarms)


if __name__ == "__main__":
    sys.exit(printing("alarms", main))
