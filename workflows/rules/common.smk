# Wiring shared by all stages: the checked configuration, and where things are.
import json
import os
import re
import shlex
import sys
from pathlib import Path

from workflows.cluster import nodes
from workflows.planning import configfiles
from workflows.planning import provenance as keys
from workflows.planning.code import content_hash, files_hash
from workflows.environments.stage import attempt
from workflows.records.folders import Folders
from workflows.records.machine_folder import FILES, machine_files
from workflows.records.storage import RecordError
from workflows.planning.isolated import environment, isolated
from workflows.machine.fingerprint import fingerprint
from workflows.planning.opening import NotReady, opening, require_ready
from workflows.planning.plan import PlanError, write_request
from workflows.stages.captions import caption
from workflows.stages.commands import COMMANDS
from workflows.planning.replicates import contests_key, counting, recorded
from workflows.output import explained

try:
    # Snakemake takes the last of two equal keys, and numbers to other bases.
    paths = [configfiles.DEFAULT, *map(Path, workflow.overwrite_configfiles)]
    given = {os.path.relpath(path): configfiles.contents(path) for path in paths}
    given["--config"] = workflow.config_settings.config
    WHERE = configfiles.origin(given)
    STUDY = configfiles.parse(configfiles.in_order(config), WHERE)
    NODES = nodes.introduced(STUDY)
    MACHINES = [*NODES] or [fingerprint()]
    for machine in MACHINES:  # before a rule asks, whose errors are Snakemake's
        recorded(Folders(Path("results") / machine / STUDY.study), STUDY)
except (configfiles.ConfigurationError, PlanError, RecordError, ValueError) as error:
    sys.exit(str(error))

# The study as each machine runs it, and where: this machine, or nodes of a cluster.
ON = {machine: NODES[machine].study(STUDY) if NODES else STUDY for machine in MACHINES}
HERE = f"results/{{machine}}/{STUDY.study}"
REPORT = f"reports/{STUDY.study}"
# The file of the number of replicates, if the first contests fix it.
NUMBER = [f"{HERE}/replicates.json"] if STUDY.minutes is not None else []
FRAMEWORKS = list(dict.fromkeys(entry.framework for entry in STUDY.contenders))


wildcard_constraints:
    workload="[^/]+",
    group="|".join(map(re.escape, STUDY.groups)),
    framework="[^/]+",
    machine="|".join(map(re.escape, MACHINES)),
    replicate=r"\d+",


def here(machine):
    return HERE.format(machine=machine)


def folders_of(machine):
    return Folders(Path(here(machine)))


def command():
    """How this run was started, for the report to repeat."""
    files = [os.path.relpath(path) for path in workflow.overwrite_configfiles]
    said = workflow.config_settings.config or {}
    # Snakemake reads an empty value as null.
    pairs = [f"{k}={'' if v is None else json.dumps(v)}" for k, v in said.items()]
    how = ["--workflow-profile", "profiles/slurm"] if NODES else ["--cores", "1"]
    words = ["snakemake", *how, *(["--configfile", *files] if files else [])]
    return shlex.join([*words, *(["--config", *pairs] if pairs else [])])


# Given by `make`, whose users need not know Snakemake.
AGAIN = os.environ.get("SAMESTEP_AGAIN") or command()
SCREEN.report, SCREEN.again = f"{REPORT}/report.html", AGAIN
MEASURED = ("environments/", "detections/", "data/", "certificates/", "contests/")


onstart:
    files = ", ".join(os.path.relpath(path) for path in workflow.overwrite_configfiles)
    for line in configfiles.notes_on_renamed(config, files or "the configuration"):
        print(line, file=sys.stderr)
    made = [str(file) for job in workflow.dag.needrun_jobs() for file in job.output]
    try:
        for machine, study in ON.items():
            folders, node, own = folders_of(machine), NODES.get(machine), f"{here(machine)}/"
            cores = node.identity.cores if node else None
            todo = [file.removeprefix(own) for file in made if file.startswith(own)]
            if any(file.startswith(MEASURED) for file in todo):
                require_ready(study, WHERE, cores)
                said = (
                    [str(node)]
                    if node
                    else opening(study, folders, WHERE, SCREEN.report, AGAIN)
                )
                print(*said, sep="\n", file=sys.stderr)
            write_request(folders, study, machine, command(), todo, cores)
    except (NotReady, RecordError, OSError) as error:
        sys.exit(explained(error))


onerror:
    print(SCREEN.farewell(), end="", file=sys.stderr)


def every_core(wildcards):
    """All cores, so that nothing runs beside a job. On a cluster, a job has only the cores that it
    asks for."""
    node = NODES.get(wildcards.machine)
    return node.identity.cores if node else workflow.cores or 1


def asked(resource, whole=False):
    """What a scheduler is asked for, on a cluster."""

    def value(wildcards):
        node = NODES.get(wildcards.machine)
        return node.asked(whole).get(resource) if node else None

    return value


def environments(machine, names):
    """The environment records of frameworks that have their own environment."""
    own = [name for name in names if isolated(ON[machine], name)]
    return [f"{here(machine)}/environments/{name}.json" for name in own]


def detected(machine, names):
    """The detections of frameworks, for stages whose keys hold what is known of an environment
    before it is built. So retrying a failed build does not repeat any measurement."""
    detections = {name: f"{here(machine)}/detections/{name}.json" for name in names}
    study = ON[machine]
    return [ancient(path) if isolated(study, name) else path for name, path in detections.items()]


def reference_candidates(machine):
    """The frameworks whose detections decide which contender is the reference: all of them if
    environments are built first, because any build may fail."""
    if any(isolated(ON[machine], name) for name in FRAMEWORKS):
        return FRAMEWORKS
    return [keys.reference_framework(ON[machine])]


def replicates(machine):
    """The numbers of a machine's replicates, once a study with `minutes` has fixed how many."""
    if NUMBER:
        checkpoints.replicates.get(machine=machine)
    return counting(folders_of(machine), STUDY)


def contests(machine, *suffixes):
    return expand(
        f"{HERE}/contests/{{group}}/{{replicate}}{{suffix}}",
        machine=machine,
        group=STUDY.groups,
        replicate=replicates(machine),
        suffix=suffixes,
    )


def certificates(workload):
    return expand(
        f"{HERE}/certificates/{{workload}}/{{framework}}.json",
        workload=workload,
        framework=FRAMEWORKS,
        allow_missing=True,
    )


def others():
    """Machines whose results of this study lie beside those of this run."""
    found = Path("results").glob(f"*/{STUDY.study}/study.json")
    return sorted(path.parts[-3] for path in found if path.parts[-3] not in MACHINES)


def machine_records(wildcards):
    """All records of a machine of this run, or whatever another machine has."""
    machine = wildcards.machine
    if machine not in MACHINES:
        folder = Path(here(machine))
        found = [*folder.glob("contests/*/*.json"), *folder.glob("certificates/*/*.json")]
        return [f"{folder}/study.json", *sorted(map(str, found))]
    datasets = expand(
        f"{HERE}/data/{{workload}}/dataset.json", workload=STUDY.workloads, machine=machine
    )
    certified = expand(
        [path for name in STUDY.workloads for path in certificates(name)], machine=machine
    )
    detections = [f"{here(machine)}/detections/{name}.json" for name in FRAMEWORKS]
    number = expand(NUMBER, machine=machine)
    return [*detections, *datasets, *certified, *contests(machine, ".json", ".parquet"), *number]


def report_inputs(wildcards):
    """One folder a machine: collected here, or brought from elsewhere, perhaps in the form of an
    earlier samestep."""
    collected = sorted({*MACHINES, *others()})
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
