"""Changed configurations, which must be refused by key or can be planned."""

import copy
import random
from pathlib import Path
from typing import Any

import yaml

from benchmarks.fuzz import changes
from workflows.planning.configfiles import ConfigurationError, merge, parse, read
from workflows.planning.opening import certificates_s, contest_s
from workflows.planning.plan import contenders, controls, uncompared

CONFIG = Path(__file__).parents[2] / "config"


class Configurations:
    """The committed configurations, changed as values or as bytes."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "changed.yaml"
        self.contents = [path.read_bytes() for path in sorted(CONFIG.glob("*.yaml"))]
        self.whole = yaml.safe_load((CONFIG / "study.yaml").read_text("utf-8"))
        self.paths = list(changes.paths(self.whole))

    def once(self, draw: random.Random) -> tuple[str, str]:
        """What was changed, and the outcome."""
        if draw.random() < 0.7:
            values, what = changes.changed(self.whole, draw.choice(self.paths), draw)
            return f"configuration: {what}", self.outcome(lambda: parse(self.laid_over(values)))
        content, what = changes.changed_bytes(draw.choice(self.contents), draw)
        self.file.write_bytes(content)
        files = [CONFIG / "study.yaml", self.file]
        return f"configuration: bytes {what}", self.outcome(lambda: read(files))

    def laid_over(self, values: dict[str, Any]) -> dict[str, Any]:
        """The default study with the changed values over it, as Snakemake hands it over."""
        whole = copy.deepcopy(self.whole)
        merge(whole, values)
        return whole

    def outcome(self, made: Any) -> str:
        try:
            study = made()
        except ConfigurationError as error:
            text = str(error)
            return "refused" if len(text) < 5000 and text.strip() else f"a strange refusal: {text}"
        planned = list(contenders(study, 2))
        list(controls(study, planned)), list(uncompared(study, planned))
        if not 0 <= contest_s(study) + certificates_s(study) < float("inf"):
            return "accepted, and takes no time that could be"
        study.model_dump_json()
        return "accepted"
