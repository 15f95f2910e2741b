"""A study without Snakemake: the same commands, and what is there already is kept."""

import os
import subprocess
import sys

import pytest
import yaml

from tests.conftest import PACKAGES, ROOT


class Study:
    """A study in a folder, by the command line."""

    def __init__(self, folder, configuration):
        self.folder, self.configuration = folder, configuration
        self.results = folder / "results" / "here" / "small"
        self.report = folder / "reports" / "small"

    def run(self, fails=False, **changes):
        """Run it with these keys changed, and return what it prints."""
        self.configuration.update(changes)
        (self.folder / "small.yaml").write_text(yaml.safe_dump(self.configuration))
        path = [str(ROOT), *(str(PACKAGES / name) for name in ("abacus", "faulty"))]
        done = subprocess.run(
            [sys.executable, "-m", "workflows.stages.run", "--configfile", "small.yaml"],
            cwd=self.folder, capture_output=True, text=True, timeout=600,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "SAMESTEP_MACHINE": "here"},
        )  # fmt: skip
        assert done.returncode == int(fails), done.stderr
        return done.stderr

    def times(self, pattern):
        return {path.name: path.stat().st_mtime_ns for path in self.results.glob(pattern)}


@pytest.fixture
def study(tmp_path, small):
    workloads = {**small["workloads"], "mnist-cnn": False}
    return Study(tmp_path, {**small, "workloads": workloads, "minutes": None})


def test_from_nothing_to_the_report_and_nothing_twice(study):
    said = study.run(minutes=0.01, replicates=2)
    assert "As many replicates as fit in 0.01 minutes (at least 2, at most 2)" in said
    assert "2 replicates, which take about 1 minute rather than 0.01 minutes" in said
    contests = study.times("contests/mlp/*")
    assert sorted(contests) == ["1.json", "1.parquet", "2.json", "2.parquet"]
    page = (study.report / "report.html").read_text()
    assert "python -m workflows.stages.run --configfile small.yaml" in page
    certificates, data = study.times("certificates/*/*.json"), study.times("data/*/dataset.json")

    assert "contest" not in study.run().partition("report")[2]
    assert study.times("contests/mlp/*") == contests

    study.run(seed=5, margin=0.1)
    assert study.times("data/*/dataset.json") != data
    assert all(study.times("contests/mlp/*")[name] != time for name, time in contests.items())
    assert study.times("certificates/*/*.json") != certificates


def test_what_fails_does_not_stop_the_rest(study):
    """A contender fails in its contests; the data of one of the workloads cannot be written."""
    mlp = study.configuration["workloads"]["mlp"]
    foreign = study.results / "data" / "other" / "mine.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("keep me")
    said = study.run(
        fails=True,
        contenders=[
            {"framework": "abacus"},
            {"framework": "faulty", "variants": ["raises-from-waiting"]},
        ],
        workloads={"mlp": mlp, "mnist-cnn": False, "other": {"from": "mlp", **mlp}},
        contest={**study.configuration["contest"], "together": False},
    )
    assert "also holds mine.txt" in said and "workflows.stages.prepare" in said
    assert "raises-from-waiting" in said and "set aside" in said
    assert sorted(study.times("contests/*/*.json.failed")) == ["1.json.failed"]
    assert "Abacus" in (study.report / "report.md").read_text()

    foreign.unlink()
    kept = study.times("certificates/mlp/abacus.json")
    said = study.run(fails=True)
    assert "also holds" not in said and "They failed as before" in said
    assert {path.parent.name for path in study.results.glob("contests/*/1.json")} >= {"mlp"}
    assert study.times("certificates/mlp/abacus.json") == kept


def test_nodes_of_a_cluster_need_snakemake(study):
    assert "need Snakemake" in study.run(fails=True, machines={"epyc": {}})
