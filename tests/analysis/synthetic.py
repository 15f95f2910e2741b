"""The records of a recipe, as a study would leave them."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.findings.findings import Findings
from frameworks.workloads import from_dict, narrowed, to_dict
from tests.analysis.contests import float64_turns, load, make_contest, make_missing
from tests.analysis.recipe import NO_GPU, VERSIONS, Recipe
from workflows.records import schema as r
from workflows.records import storage
from workflows.records.columns import BATCHES
from workflows.records.machine_records import (
    ChangeRow,
    DatasetRecord,
    MachineRecords,
    PartRow,
    PitfallRow,
    StudyRecord,
    WorkloadRecord,
)

KERAS = ("default", "xla")  # TensorFlow's variants with Keras' Adam, which declare how it differs


def write(folder: Path, recipe: Recipe | None = None) -> Path:
    """Write one machine's folder, as `collect` would, and return it."""
    recipe = recipe or Recipe()
    random = np.random.default_rng(recipe.seed)
    frames, contests = [], []
    for workload, replicate in itertools.product(recipe.workloads, range(1, recipe.replicates + 1)):
        rows, contest = make_contest(recipe, workload, replicate, random)
        frames.append(rows)
        contests.append(contest)
    table = pd.concat(frames) if frames else pd.DataFrame(columns=BATCHES.names)
    storage.write_batches(
        folder / "batches.parquet", {n: table[n].to_numpy() for n in BATCHES.names}
    )
    storage.write_json(folder / "records.json", make_records(recipe, contests))
    return folder


def make_records(recipe: Recipe, contests: list[r.ContestRecord]) -> MachineRecords:
    workloads = [load(recipe, name) for name in recipe.workloads]
    datasets = {
        "normal": "standard-normal numbers drawn with seed 1",
        "mnist": "MNIST, from the local cache",
        "stand-in": "a stand-in for MNIST: scikit-learn's 1,797 digits at 28x28, jittered",
    }
    kinds = {
        w.name: recipe.mnist if w.dataset.kind == "mnist" else w.dataset.kind for w in workloads
    }
    return MachineRecords(
        machine=recipe.machine,
        study=StudyRecord(
            name=recipe.study,
            title="The same training step in PyTorch and TensorFlow",
            smoke=recipe.smoke,
            reference=recipe.reference,
            titles={name: name for name in recipe.frameworks if "-" in name},
            fastest=recipe.fastest,
            replicates=recipe.replicates,
            margin=0.03,
            confidence=0.95,
            command="snakemake --cores 1"
            + (" --configfile config/smoke.yaml" if recipe.smoke else ""),
            configuration={
                **dict.fromkeys(("smoke", "title", "reference", "margin", "confidence")),
                "study": recipe.study,
                "replicates": recipe.replicates,
                "seed": 1,
                "tf32": False,
                "interpreters": {},
                "certificate": {},
                "mnist": {},
                "threads": [1],
                "devices": ["cpu"],
                "workloads": {name: {} for name in recipe.workloads},
                "contenders": [
                    {
                        "framework": one.framework,
                        "variants": [one.variant],
                        "devices": [one.device],
                        "threads": [one.threads],
                    }
                    for one in [*recipe.contenders, *make_missing(recipe)]
                    if one.framework not in r.UNCOMPARED and "+" not in one.variant
                ],
                "controls": {"alone": recipe.alone},
                "contest": {
                    "warmup": recipe.warmup,
                    "rounds": recipe.rounds,
                    "turn": recipe.turn,
                    "discard": recipe.discarded,
                },
                "sweeps": dict(recipe.sweeps),
            },
        ),
        workloads=[
            WorkloadRecord(
                name=w.name,
                description=to_dict(w),
                parameters=w.parameters,
                flops_per_step=w.flops_per_step,
                bytes_per_step=w.bytes_per_step(),
            )
            for w in workloads
        ],
        datasets=[
            DatasetRecord(
                workload=w.name,
                source=datasets.get(kinds[w.name], kinds[w.name]),
                kind=kinds[w.name],  # type: ignore[arg-type]
                samples=w.dataset.samples,
                batches=w.batches,
                seed=1,
                sha256="ab" * 32,
            )
            for w in workloads
        ],
        missing=make_missing(recipe),
        pitfalls=[
            PitfallRow(framework=f, variant=v, pitfall=label, beside="default")
            for (f, v), (label, _, _) in recipe.pitfalls.items()
        ],
        changes=[
            ChangeRow(framework=f, variant=v, change=change, beside=beside)
            for (f, v), (change, beside) in recipe.changes.items()
        ],
        parts=[
            PartRow(framework=f, variant=v, change=part, beside="default")
            for (f, v), part in recipe.parts.items()
        ],
        certificates=[
            make_certificate(recipe, name, framework)
            for name, framework in itertools.product(
                recipe.workloads, dict.fromkeys([*recipe.frameworks, *(f for f, _ in recipe.opted)])
            )
        ],
        contests=contests,
    )


def make_certificate(recipe: Recipe, workload: str, framework: str) -> r.CertificateRecord:
    whole = from_dict(to_dict(load(recipe, workload)))
    narrow = narrowed(whole)
    everybody = [one.name for one in recipe.contenders]
    reference = f"pytorch/default/{recipe.device}/1"
    contenders = [c for c in recipe.contenders if c.framework == framework]
    rows = [make_certificate_row(recipe, workload, c) for c in contenders]
    rows += [
        r.CertificateRow(**one.model_dump(exclude={"reason"}), status="missing", reason=NO_GPU)
        for one in make_missing(recipe)
        if one.framework == framework
    ]
    return r.CertificateRecord(
        study=recipe.study,
        machine=recipe.machine,
        workload=workload,
        framework=framework,
        reference=reference if reference in everybody else everybody[0],
        tolerance=1e-12,
        rounding=1e-5,
        steps=100,
        full_steps=3 if narrow != whole else 0,
        narrowed=narrow != whole,
        parameters=whole.parameters,
        parameters_long=narrow.parameters,
        turns=float64_turns(recipe) if recipe.float64_turns else None,
        rows=rows,
    )


def make_certificate_row(recipe: Recipe, workload: str, contender: r.Contender) -> r.CertificateRow:
    random = np.random.default_rng([len(contender.name), contender.threads, len(workload)])
    losses = 2.3 * np.exp(-0.02 * np.arange(100)) * (1 + 0.1 * np.sin(np.arange(100)))
    rounding = np.abs(random.normal(0, 1e-15, 100))
    if contender.name == f"pytorch/default/{recipe.device}/1":
        rounding = np.zeros(100)
    label, _, off = recipe.pitfall(contender)
    if label:
        default = contender.model_copy(update={"variant": "default"})
        row = make_certificate_row(recipe, workload, default)
        own = [loss * (1 + off) for loss in row.losses]
        trapped: r.Agreement = "refused" if off else row.status
        reason = f"loss differs by {off:.1e} at step 1" if off else row.reason
        return r.CertificateRow(
            **contender.model_dump(), status=trapped, reason=reason, losses=own, long=row.long
        )
    declared = contender.framework == "tensorflow" and contender.variant in KERAS
    steps = np.arange(1.0, 101.0)
    # The first loss comes before any optimiser has acted.
    drift = np.where(steps > 1, 1e-5 * steps**2.1, 0.0) if declared else rounding
    whole = from_dict(to_dict(load(recipe, workload)))
    at_full_size = narrowed(whole) != whole
    first, *others = whole.parameter_shapes or ["result"]  # of a single operation
    tensors = {first: float(rounding.max()), **dict.fromkeys(others, float(rounding.max() / 2))}
    weights = dict.fromkeys((0, 1, 2, 5, 10, 100), tensors)
    agreement = r.Measured(loss=list(rounding), weights=weights)
    drifted = r.Measured(loss=list(drift), weights=weights)
    refused = contender.name in recipe.refused
    deviation = "optimiser.adam: Keras puts epsilon inside the bias correction"
    return r.CertificateRow(
        **contender.model_dump(),
        status="refused" if refused else "declared" if declared else "agrees",
        reason="loss differs by 2.0e-3 at step 3" if refused else deviation if declared else "",
        versions=VERSIONS.get(contender.framework, {}),
        long=drifted,
        full=r.Measured(loss=list(drift[:3]), weights={3: tensors}) if at_full_size else None,
        substituted=agreement if declared else None,
        substituted_full=agreement if declared and at_full_size else None,
        optimisers={
            "sgd": r.OptimiserRow(status="agrees", run=agreement),
            "momentum": r.OptimiserRow(status="failed", reason="NotImplementedError: none"),
        },
        gradients=tensors,
        rounding={first: 3e-7, **dict.fromkeys(others, 2e-7 * contender.threads)},
        restarted=[0.0] * 10,
        float32=[1e-6] * 10,
        astray={2: dict.fromkeys(tensors, (1e-6, 0.0)), 10: dict.fromkeys(tensors, (5e-6, 0.001))},
        again=[0.0] * 10,
        unfenced=0.0,
        timed=recipe.timed.get((contender.framework, contender.variant), ""),
        turns=float64_turns(recipe) if recipe.float64_turns and declared else None,
        losses=list(losses * (1 + drift)),
    )


def copied(findings: Findings) -> Findings:
    """The same study, whose records a test may change before it looks at what is found."""
    records = findings.machine.records.model_copy(deep=True)
    return Findings(replace(findings.machine, records=records))
