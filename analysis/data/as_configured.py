"""Compares records with the configuration that they hold: contenders, workloads, replicates.

Leaving out a contender or a workload would change what is fastest, and nothing else would show it.
Earlier configurations lack some keys.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, product
from typing import Any

from analysis.data.results import USUAL
from analysis.format import few
from frameworks.device import HOST
from frameworks.workloads import Workload, load
from frameworks.workloads.sweeps import members
from workflows.records.limits import confused, plain
from workflows.records.machine_records import DatasetRecord, MachineRecords, StudyRecord
from workflows.records.schema import FASTEST, UNCOMPARED, Contender, percentage
from workflows.records.storage import shown

MNIST, STAND_IN = "mnist", "stand-in"
BESIDE_LAYERS = {"from", "batch", "samples", "optimiser", "certificate"}
JUDGING = ("margin", "confidence", "target_precision")
NAMED = 3  # names in a message; more are counted
# What all recorded configurations have. Without them nothing would be compared with them.
SAID = ("certificate", "confidence", "contenders", "contest", "devices", "interpreters", "margin",
        "mnist", "reference", "replicates", "seed", "smoke", "study", "tf32", "threads", "title",
        "workloads")  # fmt: skip
SCHEDULE = ("warmup", "rounds", "turn", "discard")
Variant = tuple[str, str]  # framework and name


def dataset_faults(dataset: DatasetRecord, work: Workload, study: StudyRecord) -> Iterator[str]:
    """Faults of a data set: it is not what its workload and the configuration ask for. MNIST may
    be a split with fewer images, or the stand-in unless the configuration names another source."""
    own, asked = work.dataset, study.configuration
    if dataset.batches != dataset.samples // work.batch:
        yield (
            f"has {dataset.batches} mini-batches of {dataset.samples} samples, but its batch size "
            f"is {work.batch}"
        )
    from_files = own.kind == MNIST
    if dataset.samples > own.samples or (not from_files and dataset.samples != own.samples):
        yield f"has {dataset.samples} samples, but its workload has {own.samples}"
    kinds = (MNIST, STAND_IN) if from_files else (own.kind,)
    source = asked.get("mnist", {}).get("source")
    if from_files and source in kinds:
        kinds = (source,)
    if dataset.kind not in kinds:
        yield f"is of kind {dataset.kind!r}, but {kinds[0]!r} was asked for"
    if asked.get("seed", dataset.seed) != dataset.seed:
        yield f"has seed {dataset.seed}, but the study's is {asked['seed']!r:.80}"


def size_faults(work: Workload, study: StudyRecord) -> Iterator[str]:
    """The sizes that the configuration gives a workload, and that its description contradicts. If
    it leaves all of them to the catalogue, they are not compared: a later catalogue may differ."""
    try:
        entry = dict((study.configuration.get("workloads") or {}).get(work.name) or {})
        asked = load(work.name, entry)
    except Exception:  # it may be of another version, or anything
        return
    layers = entry.keys() - BESIDE_LAYERS
    samples, size = work.dataset.samples, asked.dataset.samples
    own_flops, flops = (one.flops_per_step // one.batch for one in (work, asked))
    for what, given, own, wanted in (
        ("samples in a mini-batch", "batch" in entry, work.batch, asked.batch),
        ("samples", "samples" in entry or "dataset" in entry, samples, size),
        ("parameters", layers, work.parameters, asked.parameters),
        ("operations a sample", layers, own_flops, flops),
    ):
        if given and own != wanted:
            yield f"has {own!s:.40} {what}, but {wanted!s:.40} in its configuration"


def study_faults(study: StudyRecord) -> Iterator[str]:
    """The keys whose values differ between a study and its configuration."""
    asked = study.configuration
    said: dict[str, Any] = {
        "study": study.name,
        **{key: getattr(study, key) for key in ("title", "smoke", *JUDGING)},
        "reference": FASTEST if study.fastest else study.reference,
        "replicates": asked.get("replicates") if study.fixed else study.replicates,
    }
    for key, value in said.items():
        if asked.get(key, value) not in (value, None):
            own = f"{asked[key]!r:.80} in its configuration"
            yield f"study: its {key} is {value!r:.80}, and {own}"


def plan_faults(records: MachineRecords) -> Iterator[str]:
    """Check that the study measured what its configuration asks for, and nothing else."""
    asked = records.study.configuration
    schedule = asked.get("contest", {})
    lacking = [key for key in SAID if key not in asked]
    lacking += [f"contest.{key}" for key in SCHEDULE if "contest" in asked and key not in schedule]
    if lacking:
        yield f"study.configuration: without {few(lacking, NAMED)}, which every study records"
    yield from (f"study.titles: {key} has none" for key in records.study.titles
                if not plain(records.study.titles[key]))  # fmt: skip
    for key, other in confused(titles := records.study.titles):
        yield f"study.titles: {titles[key]!r} is a name of {other}, too"
    if (workloads := asked.get("workloads")) is not None:
        known = {work.name for work in records.workloads}
        yield from name_faults("workloads", known, set(workloads))
    for name, entry in asked.get("sweeps", {}).items():
        try:
            members(name, entry)
        except ValueError as error:
            yield f"study.configuration.sweeps.{name:.80}: {shown(error)}"
    if (entries := asked.get("contenders")) is not None and records.contests:
        yield from contender_faults(records, entries)
    rounds = schedule.get("rounds")
    groups = defaultdict[str, set[int]](set)
    everybody: dict[str, None] = {}
    for contest in records.contests:
        groups[contest.group or contest.workload].add(contest.replicate)
        everybody |= dict.fromkeys(one.name for one in contest.contenders)
    for contest in records.contests:
        if absent := sorted(everybody.keys() - {one.name for one in contest.contenders}):
            where = f"contests: {contest.workload}, replicate {contest.replicate}"
            yield f"{where}: without {few(absent, NAMED)}, which others have"
        if rounds not in (None, own := len(contest.order)):
            yield (
                f"contests: {contest.workload}, replicate {contest.replicate}: its order has "
                f"{own} rounds, of {rounds}"
            )
    for group, numbers in groups.items():
        if numbers != {*range(1, records.study.replicates + 1)}:
            yield (
                f"contests: {group} has the replicates {sorted(numbers)}, of "
                f"{records.study.replicates}"
            )


def contender_faults(records: MachineRecords, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Check that contenders, numbers of threads and controls are those of the configuration."""
    asked, every = records.study.configuration, cores(records)
    wanted = defaultdict[tuple[str, ...], set[int]](set)
    for entry in entries:
        devices = entry.get("devices") or asked.get("devices") or [HOST.name]
        threads = entry.get("threads") or asked.get("threads") or []
        resolved = [every if one == "all" else one for one in threads]
        for variant, device in product(entry.get("variants") or ["default"], devices):
            numbers = {one for one in resolved if isinstance(one, int) and device == HOST.name}
            wanted[str(entry.get("framework")), variant, device] |= numbers
    seen: list[Contender] = [*chain.from_iterable(one.contenders for one in records.contests)]
    measured = [one for one in seen if not getattr(one, "runs", "")]
    there = defaultdict[tuple[str, ...], set[int]](set)
    for one in [*measured, *records.missing]:
        if one.framework not in UNCOMPARED:
            there[one.framework, one.variant, one.device] |= {one.threads}
    yield from name_faults(
        "contenders", *({" ".join(key) for key in each} for each in (there, wanted))
    )
    for key, numbers in wanted.items():
        if key in there and (lacking := sorted(numbers - there[key])):
            yield f"contenders: {' '.join(key):.80} is not there with threads {lacking}"
        if numbers and every and (unasked := sorted(there.get(key, set()) - numbers)):
            yield f"contenders: {' '.join(key):.80} is there with threads {unasked}"
    controls = asked.get("controls") or {}
    repeats = (
        one.name for one in seen if getattr(one, "runs", "") and not getattr(one, "loader", "")
    )
    if "controls" in asked and not controls and (name := next(repeats, "")):
        yield f"contests: {name} is a control, and the configuration has none"
    if controls.get("variant") in {one.variant for one in measured}:
        labels = {one.variant.partition("+")[2] for one in seen}
        due = {percentage(one) for one in controls.get("handicaps", [])}
        due |= {"twin"} if controls.get("twin") else set()
        if lacking_labels := sorted(due - labels):
            yield f"contests: without the controls {few(lacking_labels, NAMED)}"


def cores(records: MachineRecords) -> int | None:
    """The number of threads that `all` means; None if contests differ in cores or lack them."""
    found = [one.system_info.get("cpu", {}).get("available") for one in records.contests]
    counts = {None if one is None else len(one) for one in found}
    return counts.pop() if len(counts) == 1 else None


def name_faults(key: str, there: set[str], wanted: set[str]) -> Iterator[str]:
    for names, what in (
        (wanted - there, "in the configuration, and not in the records"),
        (there - wanted, "in the records, and not in the configuration"),
    ):
        if names:
            yield f"{key}: {few([f'{name:.40}' for name in sorted(names)], NAMED)}: {what}"


def variant_faults(records: MachineRecords) -> Iterator[str]:
    """Check that pitfalls, steps to `tuned`, parts of a step and reduced formats are of contenders,
    and that no two are made of each other."""
    tried = [one for contest in records.contests for one in contest.contenders]
    known = {(one.framework, one.variant) for one in [*tried, *records.missing]}
    for key in ("pitfalls", "changes", "parts", "reduced"):
        beside: dict[Variant, Variant] = {}
        for row in getattr(records, key):
            own, other = (row.framework, row.variant), (row.framework, row.beside)
            where = f"{key}: {' '.join(own)}"
            if own in beside:
                yield f"{where} is there twice"
            if strangers := {own, other} - known:
                yield f"{where}: {' '.join(min(strangers))} is no contender"
            beside[own] = other
            if in_a_circle(own, beside):
                yield f"{where} is beside {row.beside}, which is beside it"
            if key != "changes" and row.variant in USUAL:
                yield f"{where} is a whole step in float32, and ranked in every study"


def in_a_circle(one: Variant, beside: Mapping[Variant, Variant]) -> bool:
    """Whether the variants that each is `beside` lead back to this one."""
    seen: set[Variant] = set()
    while one in beside and one not in seen:
        seen.add(one)
        one = beside[one]
    return one in seen
