"""A study without Snakemake: the same commands, and what is there already is kept."""

import os
import subprocess
import sys

import pytest
import yaml

from tests.conftest import PACKAGES, ROOT


class SmallStudy:
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
            cwd=self.folder, text=True, timeout=600,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "SAMESTEP_MACHINE": "here"},
        )  # fmt: skip
        assert done.returncode == int(fails), done.stdout
        return done.stdout

    def times(self, pattern):
        """When files were written, by their place in the results."""
        return {
            path.relative_to(self.results).as_posix(): path.stat().st_mtime_ns
            for path in self.results.glob(pattern)
        }


@pytest.fixture
def study(tmp_path, small):
    workloads = {**small["workloads"], "mnist-cnn": False}
    return SmallStudy(tmp_path, {**small, "workloads": workloads, "minutes": None})


def test_from_nothing_to_the_report_and_nothing_twice(study):
    said = study.run(minutes=0.01, replicates=2)
    assert "As many replicates as fit in 0.01 minutes (at least 2, at most 2)" in said
    assert "2 replicates, which take about 1 minute rather than 0.01 minutes" in said
    made = study.times("*/mlp/*")
    assert sorted(study.times("contests/mlp/*")) == [
        f"contests/mlp/{n}.{kind}" for n in (1, 2) for kind in ("json", "parquet")
    ]
    page = (study.report / "report.html").read_text()
    assert "python -m workflows.stages.run --configfile small.yaml" in page
    study.run()
    assert study.times("*/mlp/*") == made


@pytest.mark.all
def test_what_fails_does_not_stop_the_rest(study):
    """A contender fails in its contests; the data of one of the workloads cannot be written. Then
    they can, and the certificate has changed."""
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
    assert [*study.times("contests/*/*.json.failed")] == ["contests/mlp/1.json.failed"]
    assert "Abacus" in (study.report / "report.md").read_text()

    foreign.unlink()
    data, certificates = study.times("data/mlp/*.json"), study.times("certificates/mlp/*.json")
    assert "also holds" not in study.run(fails=True, certificate={"steps": 20})
    held = {"contests/mlp/1.json", "contests/other/1.json.failed"}
    assert held <= study.times("contests/*/1.json*").keys()
    assert study.times("data/mlp/*.json") == data
    again = study.times("certificates/mlp/*.json")
    assert len(again) == 2 and all(again[name] > when for name, when in certificates.items())


def test_nodes_of_a_cluster_need_snakemake(study):
    assert "need Snakemake" in study.run(fails=True, machines={"epyc": {}})
