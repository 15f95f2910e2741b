"""Reads and checks configuration files, and describes their errors."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from frameworks.workloads.parsing import suggestion
from workflows.planning.configuration import Configuration
from workflows.planning.entries import (
    CertificateEntry,
    ContenderEntry,
    ContestEntry,
    ControlsEntry,
    MachineEntry,
    MnistEntry,
    Section,
)
from workflows.records.earlier import GONE, RENAMED, renamed_keys
from workflows.records.limits import bounded

LARGEST = 10**6  # bytes of a configuration file
DEFAULT = Path(__file__).parents[2] / "config" / "study.yaml"
LONG_WORD, LONGEST_LINE = re.compile(r"(\S{80})\S{80,}(\S{40})"), 1000


class ConfigurationError(Exception):
    """What is wrong with a configuration, by key; `str()` fits on one screen."""


def parse(values: Mapping[str, Any]) -> Configuration:
    """Check a configuration, whose keys may have their former names. Raises
    ConfigurationError, naming each key that is wrong."""
    heading = "The configuration cannot be used:"
    require_bounded(values, f"{heading}\n  ")
    try:
        return Configuration.model_validate(renamed_keys(values)[0])
    except ValidationError as error:
        lines = [describe(item, values) for item in error.errors()]
        more = [f"... and {len(lines) - 12} more"] if len(lines) > 12 else []
        raise ConfigurationError("\n  ".join([heading, *lines[:12], *more])) from None


def require_bounded(values: Mapping[str, Any], before: str) -> None:
    for key, value in values.items():
        try:
            bounded(value)
        except ValueError as error:
            raise ConfigurationError(f"{before}{key!s:.80}: {error}") from None


def describe(item: Any, values: Mapping[str, Any]) -> str:
    path = [part for part in item["loc"] if part not in ("constrained-int", "literal['all']")]
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        message = "unknown key" + suggestion(str(path[-1]), known_keys(path[:-1]))
    elif item["type"] == "missing":
        message = "this key is missing"
    elif not isinstance(item["input"], dict) and item["type"] != "value_error":
        message += f", got {item['input']!r:.80}"
    line = f"{where}: {message}" if where else message
    return LONG_WORD.sub(r"\1...\2", line)[:LONGEST_LINE]  # a name may be anything


def known_keys(path: list[Any]) -> Iterable[str]:
    sections: dict[str, type[Section]] = {
        "contenders": ContenderEntry,
        "mnist": MnistEntry,
        "contest": ContestEntry,
        "controls": ControlsEntry,
        "certificate": CertificateEntry,
        "machines": MachineEntry,
    }
    return (sections[path[0]] if path else Configuration).model_fields


def read(paths: Iterable[Path]) -> Configuration:
    """Read YAML files, later ones over earlier ones key by key, as Snakemake merges them."""
    merged: dict[str, Any] = {}
    for path in paths:
        values = contents(path)
        for line in former_names(values, str(path)):
            print(line, file=sys.stderr)
        merge(merged, renamed_keys(values)[0])
    return parse(merged)


def contents(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file. Raises ConfigurationError for any other file."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise ConfigurationError(f"{path}: more than {LARGEST:,} bytes")
        values = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        why = " ".join(str(error).split())[:400]
        raise ConfigurationError(f"{path}: not readable as YAML: {why}") from None
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: keys and values are wanted")
    require_bounded(values, f"{path}: ")
    return values


def former_names(values: Mapping[str, Any], source: str) -> list[str]:
    """A line for each key of a configuration that has a new name or does nothing any more."""
    return [
        f"{source}: `{key}` does nothing any more: {GONE[key]}."
        if key in GONE
        else f"{source}: `{key}` is now called `{RENAMED[key]}`; the old name still works."
        for key in renamed_keys(values)[1]
    ]


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def in_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the default study's keys first, whose workloads take turns in that order.
    Snakemake puts keys of the files that are laid over it first."""
    ordered: dict[str, Any] = yaml.safe_load(DEFAULT.read_text())
    merge(ordered, values)
    return ordered


def schema() -> str:
    """The JSON schema in `config/schema.json`, by which editors complete and check."""
    return json.dumps(Configuration.model_json_schema(), indent=1) + "\n"


if __name__ == "__main__":
    print(schema(), end="")
