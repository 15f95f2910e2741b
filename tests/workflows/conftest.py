"""Stages of small studies, run in this process as the command line would run them."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings
from frameworks.workloads.datasets.mnist import MnistSettings
from tests.conftest import SMALL, built_once, package
from workflows.certify.stage import certify, make_reference
from workflows.measure.contest import hold
from workflows.measure.contest_file import ContestFile
from workflows.planning.configfiles import parse
from workflows.planning.plan import Plan, load_plan, write_request
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.schema import CertificateRecord, CertificateRow, ContestRecord
from workflows.records.storage import read_batches, read_json, write_batches, write_json
from workflows.stages.collect import collect
from workflows.stages.detect import detect
from workflows.stages.prepare import prepare


@dataclass
class SmallStudy:
    plan: Plan
    folders: Folders

    def prepare(self) -> "SmallStudy":
        study = self.plan.study
        for name in study.workloads:
            folder = self.folders.data / name
            prepare(study.workload(name), folder, study.seed, MnistSettings(source="stand-in"))
        return self

    def contest(
        self, replicate: int = 1, workload: str = "mlp"
    ) -> tuple[ContestRecord, pd.DataFrame]:
        groups = self.plan.study.groups
        (group,) = (group for group, names in groups.items() if workload in names)
        hold(self.plan, group, replicate, self.folders)
        return contest_on(self.folders, group, workload, replicate)

    def certificate(self, framework: str = "abacus", workload: str = "mlp") -> CertificateRecord:
        with Progress(1, "test") as progress:
            if not self.folders.reference(workload).exists():
                make_reference(self.plan, workload, self.folders, progress)
            record = certify(self.plan, workload, framework, self.folders, progress)
        write_json(self.folders.certificate(workload, framework), record)
        return record

    def measured(self, folder: Path) -> Findings:
        """The findings of a certificate and two replicates."""
        self.certificate()
        for replicate in (1, 2):
            self.contest(replicate)
        return self.findings(folder)

    def findings(self, folder: Path) -> Findings:
        """What is found in its records, collected in a folder."""
        records, batches = collect(self.folders)
        write_json(folder / "records.json", records)
        write_batches(folder / "batches.parquet", batches)
        return Findings(load([folder])[0])


def contest_on(
    folders: Folders, group: str, workload: str, replicate: int = 1
) -> tuple[ContestRecord, pd.DataFrame]:
    """One workload's record and mini-batches of a contest that was held."""
    contests = read_json(folders.contest(group, replicate), ContestFile).contests
    (record,) = (contest for contest in contests if contest.workload == workload)
    rows = read_batches(folders.batches(group, replicate)).to_pandas()
    return record, rows[rows.workload == workload]


def several(*variants: str) -> list[dict]:
    return [{"framework": "abacus", "variants": list(variants)}]


def rows(study, *variants, **changes):
    made = study(contenders=several("default", *variants), **changes)
    return {row.variant: row for row in made.certificate().rows}


def folders_in(folder: Path) -> Folders:
    return Folders(folder / "results" / "here" / "small")


def make_study(folder: Path, **changes) -> SmallStudy:
    """The small study with these keys changed, prepared in a folder."""
    configuration = parse({**copy.deepcopy(SMALL), **changes})
    folders = folders_in(folder)
    write_request(folders, configuration, "here", "a test")
    for entry in configuration.contenders:
        detection = detect(configuration, entry.framework, note=lambda text: None)
        write_json(folders.detection(entry.framework), detection)
    return SmallStudy(load_plan(folders), folders).prepare()


@pytest.fixture
def study(abacus, tmp_path):
    """`study(key=value ...)`: a small study with these keys changed, prepared in a folder."""
    return partial(make_study, tmp_path)


@pytest.fixture(scope="session")
def contested(surroundings, tmp_path_factory) -> tuple[ContestRecord, pd.DataFrame]:
    """One contest of three contenders that compute the same, for all tests that read it."""

    def build(folder: Path) -> None:
        with package("abacus"):
            make_study(folder, contenders=several("default", "kept", "slow")).contest()

    folders = folders_in(built_once(tmp_path_factory, "contest", build))
    return contest_on(folders, "mlp", "mlp")


@pytest.fixture(scope="session")
def certified(surroundings, tmp_path_factory) -> dict[str, CertificateRow]:
    """One certificate of the abacus, for all tests that read it: its rows by variant."""
    wrong = ("wrong", "decays", "uphill", "uncounted")
    declared = ("rounded", "unnamed", "strays", "relaxed", "mislabelled")
    return certified_once(tmp_path_factory, "certificate", "default", "kept", *wrong, *declared)


def findings_once(factory, name: str, measure: Callable[..., object]) -> Findings:
    """The findings that all test processes share under this name. `measure(study, machine)` makes a
    study as the fixture does, and leaves its records in the folder `machine`."""

    def build(folder: Path) -> None:
        with package("abacus"):
            measure(partial(make_study, folder), folder / "machine")

    return Findings(load([built_once(factory, name, build) / "machine"])[0])


def certified_once(factory, name: str, *variants: str, **changes) -> dict[str, CertificateRow]:
    """The rows by variant of a certificate that all test processes share under this name."""

    def build(folder: Path) -> None:
        with package("abacus"):
            make_study(folder, contenders=several(*variants), **changes).certificate()

    folders = folders_in(built_once(factory, name, build))
    record = read_json(folders.certificate("mlp", "abacus"), CertificateRecord)
    return {row.variant: row for row in record.rows}
