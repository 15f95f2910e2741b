"""Reads and checks configuration files, and describes their errors."""

import json
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from frameworks.workloads.parsing import suggestion
from workflows.output import printing
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
from workflows.planning.possible import NAME, NAMED
from workflows.records.earlier import GONE, RENAMED, renamed_keys
from workflows.records.limits import LOADER, VALUES, bounded

LARGEST = 10**6  # bytes of a configuration file
DEFAULT = Path(__file__).parents[2] / "config" / "study.yaml"
LONGEST_NUMBER = 100  # characters; YAML has numbers to the base 60, which take long to read
OTHER_BASE = re.compile(r"[-+]?(0[0-7_]+|[\d_.]+(:[\d_.]+)+)")  # 010 is 8, and 1:30 is 90
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
MERGE = "tag:yaml.org,2002:merge"
KEYS = 5  # one in the other, of which a message names the file
FORMS = {NAME: NAMED, LOADER: "inline, or threads-2, processes-2 or framework-2, up to 99"}
LONG_WORD, LONGEST_LINE = re.compile(r"(\S{80})\S{80,}(\S{40})"), 1000


class ConfigurationError(Exception):
    """What is wrong with a configuration, by key; `str()` fits on one screen. Characters that would
    steer a terminal are written as `repr()` writes them, because names may be anything."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n  ".join(map(escaped, lines)))


def escaped(text: str) -> str:
    """The text on one line, without control characters and without halves of characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def parse(values: Mapping[str, Any], where: Callable[[str], object] | None = None) -> Configuration:
    """Check a configuration, whose keys may have their former names. `where` gives the file of a
    line that begins with a key. Raises ConfigurationError, with a line for each fault."""

    def refused(*lines: str) -> ConfigurationError:
        lines = tuple(of_sweep(line, values.get("sweeps")) for line in lines)
        if where:
            return ConfigurationError(*(f"{where(line)}: {line}" for line in lines))
        return ConfigurationError("The configuration cannot be used:", *lines)

    if too_much := beyond_bounds(values):
        raise refused(too_much)
    now = renamed_keys(values)[0]
    try:
        study = Configuration.model_validate(now)
    except ValidationError as error:
        # A value that is of none of several types is one fault.
        faults = {place(item) or str(item["msg"]): item for item in reversed(error.errors())}
        lines = [describe(item) for item in reversed(faults.values())]
        more = [f"... and {len(lines) - 12} more"] if len(lines) > 12 else []
        raise refused(*lines[:12], *more) from None
    recorded = study.model_dump(mode="json")
    for key in taken_for_numbers(now, recorded):
        what = f"{key.lstrip('.')}: a number is wanted, not a truth value"
        raise refused(what)
    if too_much := beyond_bounds({"workloads, sweeps and all other keys": recorded}):
        raise refused(too_much)
    return study


def origin(files: Mapping[str, Mapping[str, Any]]) -> Callable[[str], str]:
    """For a line that begins with a key: the last file that sets the key, as deep as any file has
    it; all files if none does."""
    given = {path: renamed_keys(values)[0] for path, values in files.items() if values}

    def of(line: str) -> str:
        keys = list(filter(None, re.split(r"[.\[\]]|: ", line)))[:KEYS]
        depths = {path: depth(values, keys) for path, values in given.items()}
        most = max(depths.values(), default=0)
        found = [path for path, own in depths.items() if own == most]
        return found[-1] if most else ", ".join(found)

    return of


def of_sweep(line: str, sweeps: Any) -> str:
    """The line by the key of a sweep, if it is about one of the sweep's workloads."""
    found = re.match(r"workloads(?:: |\.)(.+?)-\d+\b", line)
    if not found or not isinstance(sweeps, dict) or found[1] not in sweeps:
        return line
    return f"sweeps.{found[1]}: {line[found.start(1) :]}"


def depth(values: Any, keys: Sequence[str]) -> int:
    """How many of these keys are there, each in the value of the one before it."""
    if not (keys and isinstance(values, Mapping) and keys[0] in values):
        return 0
    return 1 + depth(values[keys[0]], keys[1:])


def beyond_bounds(values: Mapping[str, Any], deep: int = KEYS - 1) -> str:
    """The first key whose value is too large for any configuration, and why; "" if none is. The
    key has those before it: `workloads.mlp.batch`."""
    for key, value in values.items():
        try:
            bounded(value)
        except ValueError as error:
            # It may contain itself, but `origin` asks for no more keys than these.
            inside = beyond_bounds(value, deep - 1) if deep and isinstance(value, Mapping) else ""
            return f"{key!s:.80}.{inside}" if inside else f"{key!s:.80}: {error}"
    return ""


def no_text(values: Mapping[Any, Any], deep: int = KEYS) -> str:
    """The first key that YAML does not read as text, and what it may be; "" if all are text."""
    for key, value in values.items():
        if not isinstance(key, str):
            return f"{key!r:.80}: a key must be text: off, no and 1 need quotes"
        if deep and isinstance(value, Mapping) and (inside := no_text(value, deep - 1)):
            return f"{key:.80}.{inside}"
    return ""


def taken_for_numbers(given: Any, read: Any, key: str = "") -> Iterator[str]:
    """The keys whose truth values would count as 0 and 1."""
    if isinstance(given, bool) and type(read) in (int, float):
        yield key
    elif isinstance(given, Mapping) and isinstance(read, Mapping):
        for name in (name for name in given if name in read):
            yield from taken_for_numbers(given[name], read[name], f"{key}.{name}")
    elif isinstance(given, list) and isinstance(read, list):
        for number, (one, other) in enumerate(zip(given, read, strict=False)):
            yield from taken_for_numbers(one, other, f"{key}[{number}]")


def path_of(item: Any) -> list[Any]:
    return [part for part in item["loc"] if part not in ("constrained-int", "literal['all']")]


def place(item: Any) -> str:
    """`contenders[0].threads`"""
    parts = (f"[{p}]" if isinstance(p, int) else f".{p}" for p in path_of(item))
    return "".join(parts).lstrip(".")


def describe(item: Any) -> str:
    path, where = path_of(item), place(item)
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        message = "unknown key" + suggestion(str(path[-1]), known_keys(path[:-1]))
    elif item["type"] == "missing":
        message = "this key is missing"
    elif not isinstance(item["input"], dict) and item["type"] != "value_error":
        if item["type"] == "model_type":
            message = f"keys with values are wanted (known: {', '.join(known_keys(path))})"
        elif item["type"] == "string_pattern_mismatch":
            message = FORMS.get(item["ctx"]["pattern"], message)
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
    return located(paths)[0]


def located(paths: Iterable[Path]) -> tuple[Configuration, Callable[[str], str]]:
    """What `read` returns, and the `origin` of its keys. Of a file that is there twice, the second
    counts."""
    files: dict[str, dict[str, Any]] = {}
    for path in paths:
        files.pop(str(path), None)
        files[str(path)] = contents(path)
    merged: dict[str, Any] = {}
    for name, values in files.items():
        for line in notes_on_renamed(values, name):
            print(line, file=sys.stderr)
        merge(merged, renamed_keys(values)[0])
    where = origin(files)
    return parse(merged, where), where


def contents(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file. Raises ConfigurationError for any other file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # others may have no end
            raise ConfigurationError(f"{path}: not a file: name a YAML file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    if len(content) > LARGEST:
        raise ConfigurationError(f"{path}: more than {LARGEST:,} bytes")
    try:
        content.decode()  # YAML may be in UTF-16, but Snakemake reads UTF-8 only
        values = load(content)
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not in UTF-8: save it in this encoding") from None
    except yaml.YAMLError as error:
        why = " ".join(str(error).replace(' in "<byte string>",', " in").split())[:400]
        raise ConfigurationError(f"{path}: not readable as YAML: {why}") from None
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: keys and values are wanted")
    if wrong := beyond_bounds(values) or no_text(values):
        raise ConfigurationError(f"{path}: {wrong}")
    return values


class Loader(yaml.SafeLoader):
    """Raises YAMLError for a value that does not fit its tag, and for too many or long values."""

    composed = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        node = super().compose_node(parent, index)
        self.composed += 1
        if self.composed > VALUES:
            raise unusable(f"more than {VALUES:,} values", node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception:  # SafeLoader expects that a value fits its tag
            raise unusable(f"not a value of the kind {node.tag.rpartition(':')[2]}", node) from None

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        value = super().construct_scalar(node)
        if node.tag in NUMBERS and len(value) > LONGEST_NUMBER:
            raise unusable(
                f"a number of {len(value):,} characters, {LONGEST_NUMBER} are read", node
            )
        if node.tag in NUMBERS and OTHER_BASE.fullmatch(value):
            means = yaml.safe_load(value)
            raise unusable(f"{value}, which YAML reads as {means} (write {means})", node)
        return value


def load(content: bytes) -> Any:
    """The values of a document. Aliases and merges are counted before they are expanded.

    Raises:
        YAMLError: it cannot be read, has more than `VALUES` values, or has a key twice.
    """
    try:
        loader = Loader(content)
        root = loader.get_single_node()
        if root is None:
            return None
        expanded_size(root, {})
        return loader.construct_document(root)
    except RecursionError:
        raise yaml.YAMLError("values are nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise yaml.YAMLError(str(error)) from None


def expanded_size(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """How many values a node has, including all that its aliases and merges repeat. `known` has the
    sizes of the nodes before it, and 0 for each node that contains it."""
    if known.get(node) == 0:
        raise unusable("a value that contains itself", node)
    if node not in known:
        known[node] = 0
        parts = node.value if isinstance(node, yaml.SequenceNode) else []
        if isinstance(node, yaml.MappingNode):
            require_different_keys(node)
            parts = [part for pair in node.value for part in pair]
        known[node] = 1 + sum(expanded_size(part, known) for part in parts)
        if known[node] > VALUES:
            raise unusable(f"more than {VALUES:,} values", node)
    return known[node]


def require_different_keys(node: yaml.MappingNode) -> None:
    """Raise YAMLError for a second key, because SafeLoader takes the last. Merges may repeat it."""
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        if first := lines.get((key.tag, key.value)):
            what = f"a second key {key.value!r:.80} (remove it, or the first, in line {first})"
            raise unusable(what, key)
        lines[key.tag, key.value] = key.start_mark.line + 1


def unusable(what: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=at.start_mark)


def notes_on_renamed(values: Mapping[str, Any], source: str) -> list[str]:
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
    ordered: dict[str, Any] = yaml.safe_load(DEFAULT.read_text("utf-8"))
    merge(ordered, values)
    return ordered


def schema() -> str:
    """The JSON schema in `config/schema.json`, by which editors complete and check."""
    return json.dumps(Configuration.model_json_schema(), indent=1) + "\n"


def main() -> int:
    print(schema(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(printing("schema", main))
