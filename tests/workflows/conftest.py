"""Stages of small studies, run in this process as the command line would run them."""

from dataclasses import dataclass

import pytest

from frameworks.workloads.datasets.mnist import MnistSettings
from workflows.certify.stage import certify, make_reference
from workflows.measure.contest import hold
from workflows.planning.configfiles import parse
from workflows.planning.plan import Plan, ask, load_plan
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.storage import read_batches, write_json
from workflows.stages.detect import look
from workflows.stages.prepare import prepare


@dataclass
class SmallStudy:
    plan: Plan
    folders: Folders

    def prepare(self):
        study = self.plan.study
        for name in study.workloads:
            folder = self.folders.data / name
            prepare(study.workload(name), folder, study.seed, MnistSettings(source="stand-in"))
        return self

    def contest(self, replicate=1, workload="mlp"):
        record = hold(self.plan, workload, replicate, self.folders)
        return record, read_batches(self.folders.batches(workload, replicate)).to_pandas()

    def certificate(self, framework="abacus", workload="mlp"):
        with Progress(1, "test") as progress:
            if not self.folders.traces(workload).exists():
                make_reference(self.plan, workload, self.folders, progress)
            record = certify(self.plan, workload, framework, self.folders, progress)
        write_json(self.folders.certificate(workload, framework), record)
        return record


@pytest.fixture
def study(abacus, small, tmp_path):
    """`study(key=value ...)`: a small study with these keys changed, prepared in a folder."""

    def make_study(**changes):
        configuration = parse({**small, **changes})
        folders = Folders(tmp_path / "results" / "here" / configuration.study)
        ask(folders, configuration, "here", "a test")
        for entry in configuration.contenders:
            probe = look(configuration, entry.framework, note=lambda text: None)
            write_json(folders.probe(entry.framework), probe)
        return SmallStudy(load_plan(folders), folders).prepare()

    return make_study
