"""Small studies in copies of the repository, which Snakemake runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml

from benchmarks.kills.study import copy_code
from tests.conftest import PACKAGES, SMALL, python_path

FINISHED = {**SMALL, "replicates": 2, "devices": ["cpu", "gpu"]}
OUTPUT = "output.txt"
MEASURE = ("--until", "contest")  # arguments of a run without certificates and report


class Clone:
    """A copy of the repository with a small study in `config/study.yaml`, or a copy of another
    clone with everything that has been done in it."""

    def __init__(
        self, folder: Path, configuration: dict, machine: str = "here", of: Path | None = None
    ) -> None:
        self.folder = folder
        if of:
            shutil.copytree(of, folder)  # keeps the times of files, which Snakemake compares
        else:
            folder.mkdir()
            copy_code(folder)
            self.configure(configuration)
        self.variables = {
            **os.environ,
            "PYTHONPATH": python_path(PACKAGES / "abacus"),
            "SAMESTEP_MACHINE": machine,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        self.results = folder / "results" / machine / configuration["study"]
        self.report = folder / "reports" / configuration["study"]

    def configure(self, configuration: dict) -> None:
        """Replace the default study: a configuration laid over it cannot remove a key."""
        (self.folder / "config" / "study.yaml").write_text(yaml.safe_dump(configuration))

    def change(self, **changes) -> None:
        configuration = yaml.safe_load((self.folder / "config" / "study.yaml").read_text())
        self.configure({**configuration, **changes})

    def command(self, *arguments: str, cores: int = 1) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments]

    def snakemake(self, *arguments: str, cores: int = 1, fails: bool = False) -> str:
        """Run Snakemake and return what it prints. It must succeed, or fail if `fails`."""
        done = subprocess.run(
            self.command(*arguments, cores=cores),
            cwd=self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )
        output = done.stdout
        assert (done.returncode != 0) == fails, output
        return output

    def would_run(self) -> set[str]:
        """The rules that a dry run lists."""
        output = self.snakemake("--dry-run", "--quiet", "host", "reason")
        return {line.split()[1].rstrip(":") for line in output.splitlines()
                if line.startswith(("rule ", "localrule ", "checkpoint "))}  # fmt: skip

    def rows(self, workload: str = "mlp") -> pd.DataFrame:
        tables = sorted(self.results.glob(f"contests/{workload}/*.parquet"))
        return pd.concat([pd.read_parquet(table) for table in tables])

    def contests(self, workload: str = "mlp") -> list[dict]:
        found = sorted(self.results.glob(f"contests/{workload}/*.json"))
        return [one for path in found for one in json.loads(path.read_text())["contests"]]
