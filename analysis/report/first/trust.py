"""The strip of four: why the numbers may be believed, and how far."""

from analysis.data.occasions import occasion
from analysis.findings.controls import judged, missed
from analysis.findings.fairness.certificates import SINGLE, components
from analysis.findings.findings import Findings
from analysis.findings.series.movement import MOVEMENT
from analysis.format import capital, count, listing, percent, title
from analysis.report.first import Chip
from analysis.report.layout import Chapter
from analysis.report.prose import DECLARED, pair, place, two, workload
from frameworks.device import DEVICES, HOST

NAMED = 2  # ratios that changed direction; more are counted
NONE = "None in this study: set controls in the configuration to have one."
ALONE = (
    "Not repeated: one study, one hour, one machine. The option --earlier of samestep report adds "
    "others."
)


def strip(chapter: Chapter) -> list[Chip]:
    findings = chapter.findings
    return [same(findings), self_test(chapter), repeats(findings), not_covered(findings)]


def same(findings: Findings) -> Chip:
    heading = "Same computation"
    rows = [row for row in findings.comparisons if row.estimate.ratio is not None]
    refused = [row for row in findings.comparisons if row.estimate.verdict == "refused"]
    records = findings.machine.records.certificates
    if not rows and not refused:
        return Chip("~", heading, "No two frameworks were compared.", "The same losses")
    declared = [row for row in rows if components(row.certificate)]
    single = sum(SINGLE in row.certificate for row in rows if row not in declared)
    agreeing = len(rows) - len(declared) - single
    steps = max((record.steps for record in records), default=0)
    tolerance = max((record.tolerance for record in records), default=0.0)
    every = len(rows) + len(refused)
    verb = "agrees" if 1 in (agreeing, every) else "agree"
    text = (
        f"{agreeing} of {count(every, 'comparison')} {verb} to {tolerance:g} over {steps} float64 "
        "steps."
    )
    if single:
        text += f" {single} {SINGLE}, which shows less."
    if refused:
        text += (
            f" {len(refused)} did not agree and {'has' if len(refused) == 1 else 'have'} no ratio."
        )
    if declared:
        parts = sorted({plain(one) for row in declared for one in components(row.certificate)})
        text += f" {DECLARED} {len(declared)} differ in a declared way: {listing(parts)}."
    sign = "!" if refused else "✓" if agreeing + single else "~"
    return Chip(sign, heading, text,
                "What differs on purpose" if declared else "The same losses")  # fmt: skip


def plain(component: str) -> str:
    """`optimiser.adam` as `the optimiser Adam`."""
    kind, _, name = component.partition(".")
    return f"the {kind} {capital(name)}" if name else kind


def self_test(chapter: Chapter) -> Chip:
    heading, section = "Self-test", "Self-test"
    rows = chapter.findings.controls
    if not rows:
        return Chip("~", heading, NONE, section)
    tried = judged(rows)
    right = len(tried) - len(missed(rows))
    failed = any(warning.heading == "Self-test failed" for warning in chapter.warnings)
    slowed = sorted({row.slowed_by for row in rows if row.slowed_by})
    what = "run a second time unchanged"
    if slowed:
        what += f", and slowed by {listing(map(percent, slowed))}"
    text = (
        f"A contender {what}: {right} of {count(len(tried), 'interval')} "
        f"{'contains' if right == 1 else 'contain'} the known ratio."
    )
    if not failed and right < len(tried):
        text += f" Chance can explain the {'miss' if len(tried) - right == 1 else 'misses'}."
    return Chip("!" if failed else "✓", heading, text, section)


def repeats(findings: Findings) -> Chip:
    heading, section = "Repeats", "Other times"
    rows = MOVEMENT.of(findings)
    machine = findings.machine
    if not rows:
        return Chip("~", heading, ALONE, section)
    studies = len(machine.others) + 1
    occasions = len({occasion(one) for one in (machine, *machine.others)})
    spreads = sorted(row.spread for row in rows)
    turned = [row for row in rows if row.crossed]
    named = listing(f"{pair(row.id, row.base)} on the {place(row.id)}" for row in turned[:NAMED])
    text = (
        f"In {studies} studies on {count(occasions, 'occasion')} ratios moved by "
        f"{two(100 * spreads[0])} to {two(100 * spreads[-1])} %. {len(turned) or 'None'} of "
        f"{len(rows)} changed direction{f': {named}' if 0 < len(turned) <= NAMED else ''}."
    )
    return Chip("~" if turned else "✓", heading, text, section)


def not_covered(findings: Findings) -> Chip:
    """What no number here speaks of."""
    found = []
    devices = {one.device for one in findings.measured}
    found += [f"{one.title}s" for name, one in DEVICES.items()
              if name not in devices and name != HOST.name]  # fmt: skip
    threads = [one.threads for one in findings.measured if one.device == HOST.name]
    if threads:
        found.append(f"more than {count(max(threads), 'thread')}")
    lost = {one.framework for one in findings.availability} - {
        one.framework for one in findings.measured
    }
    found += [f"{title(name)}, which was not measured" for name in sorted(lost)]
    networks = listing(workload(name) for name in findings.machine.workloads)
    found += ["other machines", f"networks unlike {networks}"]
    skipped = findings.machine.study.left_out
    found += [f"{title(name)}'s {listing(variants)}" for name, variants in skipped.items()]
    found += absent(findings)
    variants = listing(dict.fromkeys(one.variant for one in findings.matched))
    if variants and not skipped:  # older records do not name them
        found.append(f"variants besides {variants}")
    text = f"{listing(found)}."
    return Chip("✗", "Not covered", text[:1].upper() + text[1:], "What is missing")


def absent(findings: Findings) -> list[str]:
    """`JAX tuned`: what a framework lacks of the variants that two others or more have."""
    frameworks = dict.fromkeys(one.framework for one in findings.measured)
    having: dict[str, set[str]] = {}
    for one in findings.matched:
        having.setdefault(one.variant, set()).add(one.framework)
    return [
        f"{title(name)} {variant}"
        for variant, own in having.items()
        for name in frameworks
        if len(own) > 1 and name not in own
    ]
