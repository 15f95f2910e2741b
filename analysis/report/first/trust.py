"""The strip of four: why the numbers may be believed, and how far."""

from analysis.data.certificate_faults import SINGLE
from analysis.data.occasions import occasion
from analysis.findings.controls import judged, missed
from analysis.findings.fairness.certificates import components, declares
from analysis.findings.findings import Findings
from analysis.findings.speed.movement import MOVEMENT
from analysis.format import capital, count, listing, percent, title
from analysis.report.first import Chip
from analysis.report.layout import Chapter
from analysis.report.prose import CROSSED, DECLARED, pair, place, two, variant, workload
from analysis.report.sections.comparing.comparisons import marks
from frameworks.device import DEVICES

NAMED = 2  # ratios on both sides of 1, and workloads; more are counted
UNJUDGED = "A contender ran a second time, but no interval could be judged. The section says why."
ABSENT = "No contender ran a second time: set controls in the configuration to have that."
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
    declared = [row for row in rows if declares(row.certificate)]
    single = sum(SINGLE in row.certificate for row in rows if row not in declared)
    agreeing = len(rows) - len(declared) - single
    steps = max((record.steps for record in records), default=0)
    tolerance = max((record.tolerance for record in records), default=0.0)
    every = len(rows) + len(refused)
    verb = "agrees" if 1 in (agreeing, every) else "agree"
    proof = f"to {tolerance:g} over {steps} float64 steps"
    if findings.machine.untrained:
        proof = "with NumPy, number by number"
    text = f"{agreeing} of {count(every, 'comparison')} {verb} {proof}."
    if single:
        text += f" {single} {SINGLE}, which shows less."
    if refused:
        text += (
            f" {len(refused)} did not agree and {'has' if len(refused) == 1 else 'have'} no ratio."
        )
    if declared:
        parts = sorted({plain(one) for row in declared for one in components(row.certificate)})
        verb = "differs" if len(declared) == 1 else "differ"
        text += f" {DECLARED} {len(declared)} {verb} in a declared way: {listing(parts)}."
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
    tried = judged(rows)
    if not tried:
        return Chip("~", heading, UNJUDGED if rows else ABSENT, section)
    right = len(tried) - len(missed(rows))
    failed = chapter.self_test_failed
    slowed = sorted({row.slowed_by for row in tried if row.slowed_by})
    ways = ["unchanged"] * any(not row.slowed_by for row in tried)
    ways += [f"slowed by {listing(map(percent, slowed))}"] * bool(slowed)
    text = (
        f"A contender run a second time {', and '.join(ways)}: {right} of "
        f"{count(len(tried), 'interval')} {'contains' if right == 1 else 'contain'} the known "
        "ratio."
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
    marked = marks(findings)
    named = listing(
        f"{pair(row.id, row.base)}{f' {DECLARED}' * (row.id in marked)} on the {place(row.id)}"
        for row in turned[:NAMED]
    )
    text = (
        f"In {studies} studies on {count(occasions, 'occasion')} ratios moved by "
        f"{two(100 * spreads[0])} to {two(100 * spreads[-1])} %. Who is faster "
        f"{'changed' if turned else 'never changed'}"
    )
    if turned:
        text += f" in {len(turned)} of {len(rows)}, marked {CROSSED}"
        text += f": {named}" * (len(turned) <= NAMED)
    return Chip("~" if turned else "✓", heading, f"{text}.", section)


def not_covered(findings: Findings) -> Chip:
    """What the study did not measure."""
    found = []
    devices = {one.device for one in findings.measured}
    found += [f"{one.title}s" for name, one in DEVICES.items()
              if name not in devices and not one.is_host]  # fmt: skip
    threads = [one.threads for one in findings.measured if one.on_host]
    if threads:
        found.append(f"more than {count(max(threads), 'thread')}")
    lost = {one.framework for one in findings.availability} - {
        one.framework for one in findings.measured
    }
    found += [f"{title(name)}, which was not measured" for name in sorted(lost)]
    networks = findings.machine.workloads
    named = listing(map(workload, networks)) if len(networks) <= NAMED else "these"
    found += ["other machines", f"networks unlike {named}"]
    if not findings.machine.study.left_out:  # older records do not name variants
        variants = listing(dict.fromkeys(one.variant for one in findings.matched))
        found += [f"variants besides {variants}"] * bool(variants)
    text = f"{listing(found)}."
    if absent := left_out(findings):
        text += f" Variants not measured: {'; '.join(absent)}."
    return Chip("✗", "Not covered", text[:1].upper() + text[1:], "What is missing")


def left_out(findings: Findings) -> list[str]:
    """`TensorFlow eager and with XLA`: the variants that adapters offer and the study left out,
    and those that a framework lacks and two others or more have."""
    found = {name: dict.fromkeys(own) for name, own in findings.machine.study.left_out.items()}
    frameworks = dict.fromkeys(one.framework for one in findings.measured)
    having: dict[str, set[str]] = {}
    for one in findings.matched:
        having.setdefault(one.variant, set()).add(one.framework)
    for own, there in having.items():
        for name in frameworks:
            if len(there) > 1 and name not in there:
                found.setdefault(name, {})[own] = None
    return [f"{title(name)} {listing(map(variant, own))}" for name, own in found.items()]
