"""The rule about a framework's own loader of mini-batches."""

from frameworks.contract import AHEAD
from workflows.conformance.engine import Finding, Rule, broken, holds
from workflows.conformance.subject import Subject

WORKERS = 2


def loader(subject: Subject) -> Finding:
    named = subject.description.loader
    notes = str(subject.folder / "notes")
    turns = subject.ask("deliver", subject.basis.dense(), workers=WORKERS, notes=notes)["turns"]
    if named != bool(turns):
        has = "has no method loader" if named else "has a method loader"
        return broken(
            f"Framework.loader is {named}, and the adapter {has}",
            "set Framework.loader if Adapter.loader is there: a study asks no other adapter",
        )
    for turn in turns:
        if turn["wrong"]:
            return broken(
                turn["wrong"],
                "deliver what prepare() gives, in the order of the numbers, as NumPy arrays that "
                "the loader writes to no more",
            )
        if turn["prepared"] != turn["asked"]:
            return broken(
                f"{turn['prepared']} preparations for the {turn['asked']} mini-batches of a turn",
                "call prepare() once for each number of a turn: nothing is kept from another turn, "
                "because an augmentation differs each time",
            )
        if turn["ahead"] > AHEAD * WORKERS:
            return broken(
                f"{turn['ahead']} mini-batches prepared ahead by {WORKERS} workers",
                f"let each worker prepare {AHEAD} at most before they are asked for: a turn is a "
                "short part of a long training",
            )
    if turns and (most := max(turn["at_once"] for turn in turns)) != WORKERS:
        return broken(
            f"asked for {WORKERS} workers, {most} prepared mini-batches at the same time",
            "set the framework's own number of threads or processes that prepare mini-batches",
        )
    if not turns:
        return holds("the adapter offers none")
    asked, ahead = sum(turn["asked"] for turn in turns), max(turn["ahead"] for turn in turns)
    return holds(f"{asked} mini-batches in {len(turns)} turns as prepared, {ahead} ahead at most")


RULES = (
    Rule(
        "loader",
        "The framework's own loader, if the adapter offers it, delivers the mini-batches of a turn "
        "in their order, each prepared for this turn by as many workers as were asked for.",
        loader,
        ("description", "build"),
        isolated=True,  # a loader may fork its process, which other frameworks' threads can halt
    ),
)
