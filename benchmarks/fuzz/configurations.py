"""Changed configurations, which must be refused in lines that name the file, or can be planned."""

import copy
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from benchmarks.fuzz import changes
from workflows.planning.configfiles import (
    LONGEST_LINE,
    ConfigurationError,
    located,
    merge,
    origin,
    parse,
)
from workflows.planning.configuration import Configuration
from workflows.planning.opening import NotReady, certificates_s, contest_s, require_ready
from workflows.planning.plan import contenders, controls, uncompared

CONFIG = Path(__file__).parents[2] / "config"
STUDY = str(CONFIG / "study.yaml")
CORES = 2
NO_KEY = ("unknown key", " more")  # the second ends a list of such lines
LONGEST = 2 * LONGEST_LINE  # of a line, with the names of files


class Configurations:
    """The committed configurations, changed as values or as bytes."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "changed.yaml"
        self.contents = [path.read_bytes() for path in sorted(CONFIG.glob("*.yaml"))]
        self.whole = yaml.safe_load(Path(STUDY).read_text("utf-8"))
        every = map(yaml.safe_load, self.contents)
        self.bases = [(values, list(changes.paths(values))) for values in every]
        self.keys = {str(key) for _, paths in self.bases for path in paths for key in path}

    def once(self, draw: random.Random) -> tuple[str, str]:
        """What was changed, and the outcome."""
        if draw.random() < 0.7:
            base, paths = draw.choice(self.bases)
            values, what = changes.changed(base, draw.choice(paths), draw)
            where = origin({STUDY: self.whole, str(self.file): values})
            made = self.outcome(lambda: (parse(self.laid_over(values), where), where), keyed=True)
            return f"configuration: {what}", made
        content, what = changes.changed_bytes(draw.choice(self.contents), draw)
        self.file.write_bytes(content)
        files = [Path(STUDY), self.file]
        return f"configuration: bytes {what}", self.outcome(lambda: located(files))

    def laid_over(self, values: dict[str, Any]) -> dict[str, Any]:
        """The default study with the changed values over it, as Snakemake hands it over."""
        whole = copy.deepcopy(self.whole)
        merge(whole, values)
        return whole

    def outcome(
        self, made: Callable[[], tuple[Configuration, Callable[[str], str]]], keyed: bool = False
    ) -> str:
        """Each line of a refusal must name a file, and a key if `keyed`."""
        try:
            study, where = made()
            # Whether interpreters start is not asked: they may be any command.
            require_ready(study.model_copy(update={"interpreters": {}}), where, CORES)
        except (ConfigurationError, NotReady) as error:
            lines = str(error).split("\n  ")
            strange = [
                line
                for line in lines
                if not self.names(line)
                or (keyed and not self.names_key(line))
                or len(line) > LONGEST
            ]
            return f"a strange refusal: {strange[0]}" if strange else "refused"
        planned = list(contenders(study, CORES))
        list(controls(study, planned)), list(uncompared(study, planned))
        if not 0 <= contest_s(study) + certificates_s(study) < float("inf"):
            return "accepted, and takes no time that could be"
        study.model_dump_json()
        return "accepted"

    def names(self, line: str) -> bool:
        """Whether it names a file. A changed file may contradict the one below it."""
        return str(self.file) in line or STUDY in line

    def names_key(self, line: str) -> bool:
        """Whether it names a key. One that nobody knows may be of any form, or empty."""
        said = line.replace(str(self.file), "").replace(STUDY, "")
        return bool(self.keys & {*re.findall(r"[\w-]+", said)}) or said.endswith(NO_KEY)
