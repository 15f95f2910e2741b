# Wiring shared by all stages: the checked configuration, and where things are.
import json
import os
import re
import shlex
import sys
from pathlib import Path

from workflows.planning import configfiles
from workflows.planning import provenance as keys
from workflows.planning.code import content_hash, files_hash
from workflows.environments.stage import attempt
from workflows.records.folders import Folders
from workflows.records.machine_folder import FILES, machine_files
from workflows.planning.isolated import environment, isolated
from workflows.machine.fingerprint import fingerprint
from workflows.planning.opening import NotReady, opening, require_ready
from workflows.planning.plan import write_request
from workflows.stages.captions import caption
from workflows.planning.replicates import contests_key, counting
from workflows.progress import explained

try:
    STUDY = configfiles.parse(configfiles.in_order(config))
    MACHINE = fingerprint()
except (configfiles.ConfigurationError, ValueError) as error:
    sys.exit(str(error))

HERE = f"results/{MACHINE}/{STUDY.study}"
REPORT = f"reports/{STUDY.study}"
# Of replicates, if the configuration leaves it to the first contests.
NUMBER = [f"{HERE}/replicates.json"] if STUDY.minutes is not None else []
FRAMEWORKS = list(dict.fromkeys(entry.framework for entry in STUDY.contenders))


wildcard_constraints:
    workload="[^/]+",
    group="|".join(map(re.escape, STUDY.groups)),
    framework="[^/]+",
    machine="[^/]+",
    replicate=r"\d+",


def command():
    """How this run was started, for the report to repeat."""
    files = [os.path.relpath(path) for path in workflow.overwrite_configfiles]
    said = workflow.config_settings.config or {}
    # Snakemake reads an empty value as null.
    pairs = [f"{k}={'' if v is None else json.dumps(v)}" for k, v in said.items()]
    words = ["snakemake", "--cores", "1", *(["--configfile", *files] if files else [])]
    return shlex.join([*words, *(["--config", *pairs] if pairs else [])])


# Given by `make`, whose users need not know Snakemake.
AGAIN = os.environ.get("SAMESTEP_AGAIN") or command()
SCREEN.report, SCREEN.again = f"{REPORT}/report.html", AGAIN
MEASURED = ("environments/", "probes/", "data/", "certificates/", "contests/")


onstart:
    files = ", ".join(os.path.relpath(path) for path in workflow.overwrite_configfiles)
    for line in configfiles.former_names(config, files or "the configuration"):
        print(line, file=sys.stderr)
    made = [str(file) for job in workflow.dag.needrun_jobs() for file in job.output]
    todo = [file.removeprefix(f"{HERE}/") for file in made if file.startswith(f"{HERE}/")]
    folders = Folders(Path(HERE))
    try:
        if any(file.startswith(MEASURED) for file in todo):
            require_ready(STUDY)
            print(*opening(STUDY, folders, SCREEN.report, AGAIN), sep="\n", file=sys.stderr)
        write_request(folders, STUDY, MACHINE, command(), todo)
    except (NotReady, OSError) as error:
        sys.exit(explained(error))


onerror:
    print(SCREEN.farewell(), end="", file=sys.stderr)


def environments(names):
    """The environment records of frameworks that have their own environment."""
    own = [name for name in names if isolated(STUDY, name)]
    return expand(f"{HERE}/environments/{{framework}}.json", framework=own)


def probed(names):
    """Probes, for stages whose keys hold what can be known of an isolated environment before it
    is built: trying once more to build one measures nothing again by itself."""
    probe = f"{HERE}/probes/{{}}.json".format
    return [ancient(probe(n)) if isolated(STUDY, n) else probe(n) for n in names]


def reference_candidates():
    """Whose probes say which contender is the reference: where environments are built first, any
    of them may turn out not to be there."""
    if any(isolated(STUDY, name) for name in FRAMEWORKS):
        return FRAMEWORKS
    return [keys.reference_framework(STUDY)]


def replicates():
    """Of a study with minutes, after their number has been fixed."""
    if NUMBER:
        checkpoints.replicates.get()
    return counting(Folders(Path(HERE)), STUDY)


def contests(*suffixes):
    return expand(
        f"{HERE}/contests/{{group}}/{{replicate}}{{suffix}}",
        group=STUDY.groups,
        replicate=replicates(),
        suffix=suffixes,
    )


def certificates(workload):
    return expand(
        f"{HERE}/certificates/{{workload}}/{{framework}}.json",
        workload=workload,
        framework=FRAMEWORKS,
    )


def others():
    """Machines whose results of this study lie beside this one's."""
    found = Path("results").glob(f"*/{STUDY.study}/study.json")
    return sorted(path.parts[-3] for path in found if path.parts[-3] != MACHINE)


def machine_records(wildcards):
    """Everything of this machine's study; whatever there is of another's."""
    if wildcards.machine != MACHINE:
        folder = Path(f"results/{wildcards.machine}/{STUDY.study}")
        found = [*folder.glob("contests/*/*.json"), *folder.glob("certificates/*/*.json")]
        return [f"{folder}/study.json", *sorted(map(str, found))]
    datasets = expand(f"{HERE}/data/{{workload}}/dataset.json", workload=STUDY.workloads)
    proofs = [path for workload in STUDY.workloads for path in certificates(workload)]
    probes = expand(f"{HERE}/probes/{{framework}}.json", framework=FRAMEWORKS)
    return [*probes, *datasets, *proofs, *contests(".json", ".parquet"), *NUMBER]


def report_inputs(wildcards):
    """One folder a machine: collected here, or brought from elsewhere, perhaps in the form of an
    earlier samestep."""
    collected = sorted({MACHINE, *others()})
    known = {folder.name: folder for folder in Path(REPORT).glob("machines/*")}
    brought = [folder for name, folder in sorted(known.items()) if name not in collected]
    return [
        *expand(f"{REPORT}/machines/{{machine}}/{{file}}", machine=collected, file=FILES),
        *(str(path) for folder in brought for path in machine_files(folder)),
    ]


def shown(kind, name):
    """What the written report says of a figure or table; `snakemake --report` asks afterwards."""
    text = caption(Path(f"{REPORT}/report.html"), kind, name)
    return {"name": name, "shows": text or "not on the page"}
