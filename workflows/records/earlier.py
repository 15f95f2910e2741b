"""Records that an earlier samestep wrote, brought to today's schema.

Schema 2 had no controls and no turns. Schema 3 had other names for some fields, for
configuration keys and for the framework that computes nothing.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from workflows.records.schema import NOOP, SCHEMA

READABLE = range(2, SCHEMA + 1)
EARLIER_NOOP = "nothing"

# Configuration keys by their former name.
RENAMED = {"harness": "noop", "precision": "target_precision", "contest.settle": "contest.discard"}

# Keys that no longer do anything, and what to use.
GONE = {"budget_minutes": "`minutes` limits the time of a study"}
UNREAD = "concluding"  # a field of studies that nobody read


def renamed_keys(configuration: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A configuration under the names of today, and the former names that it used.

    A former name takes precedence over today's, because samestep's own files, over which
    others are laid, only use the names of today. Keys that are gone are left out.
    """
    used = [key for key in configuration if key in GONE]
    values = {key: value for key, value in configuration.items() if key not in GONE}
    for before, now in RENAMED.items():
        section, _, old = before.rpartition(".")
        new = now.rpartition(".")[2]
        place = values.get(section) if section else values
        if not isinstance(place, Mapping) or old not in place:
            continue
        used.append(before)
        moved = {key: value for key, value in place.items() if key not in (old, new)}
        moved[new] = place[old]
        values = {**values, section: moved} if section else moved
    return values, used


def upgraded(values: Any) -> Any:
    """The JSON of a record in today's schema. If it has no version or today's, its study only
    loses what is gone."""
    if not isinstance(values, dict):
        return values
    if isinstance(study := values.get("study"), dict):
        values = {**values, "study": {k: v for k, v in study.items() if k not in (*GONE, UNREAD)}}
    if values.get("schema_version") not in READABLE[:-1]:
        return values
    if "contests" in values:
        values = machine(values)
    elif "contenders" in values:
        values = contest(values)
    return {**values, "schema_version": SCHEMA}


def renamed_fields(values: Any, folder: Path) -> str:
    """A line if these are a machine's records of an earlier schema, "" if not."""
    version = values.get("schema_version", SCHEMA) if isinstance(values, dict) else SCHEMA
    if version == SCHEMA or "contests" not in values:
        return ""
    return (
        f"{folder}: its records have schema {version}, in which some fields had other names; "
        "the old names still work."
    )


def machine(values: dict[str, Any]) -> dict[str, Any]:
    study = renamed(values["study"], precision="target_precision")
    study["configuration"] = renamed_keys(study["configuration"])[0]
    found = renamed(values, traps="pitfalls")
    return {
        **found,
        "study": study,
        "pitfalls": [renamed(row, trap="pitfall") for row in found.get("pitfalls", [])],
        "certificates": [upgraded(one) for one in values["certificates"]],
        "contests": [upgraded(one) for one in values["contests"]],
    }


def contest(values: dict[str, Any]) -> dict[str, Any]:
    contenders = [renamed(one, spin="slowed_by", pause="idle") for one in values["contenders"]]
    return {
        **renamed(values, environment="system_info"),
        "order": [[contender(name) for name in names] for names in values["order"]],
        "contenders": [{**one, "framework": framework(one["framework"])} for one in contenders],
        "turns": [
            {**turn, "contender": contender(turn["contender"])} for turn in values.get("turns", [])
        ],
    }


def renamed(values: Mapping[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in values.items()}


def framework(name: str) -> str:
    return NOOP if name == EARLIER_NOOP else name


def contender(name: str) -> str:
    return "/".join([framework(name.partition("/")[0]), *name.split("/")[1:]])


def upgraded_batches(table: pa.Table) -> pa.Table:
    """Mini-batches with the names of today. Texts have dictionaries."""
    changes: dict[str, Callable[[str], str]] = {"framework": framework, "contender": contender}
    for column, change in changes.items():
        (texts,) = table[column].chunks
        names = texts.dictionary.to_pylist()
        if any(change(name) != name for name in names):
            now = pa.array([change(name) for name in names], pa.string())
            found = pa.DictionaryArray.from_arrays(texts.indices, now)
            table = table.set_column(table.schema.get_field_index(column), column, found)
    return table
