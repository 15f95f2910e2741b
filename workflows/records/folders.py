"""Where one machine keeps one study: everything below `results/<machine>/<study>/`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Folders:
    root: Path

    @property
    def study(self) -> Path:
        return self.root / "study.json"

    def environment(self, framework: str) -> Path:
        return self.root / "environments" / f"{framework}.json"

    def detection(self, framework: str) -> Path:
        return self.root / "detections" / f"{framework}.json"

    @property
    def replicates(self) -> Path:
        return self.root / "replicates.json"

    def spent(self, command: str) -> Path:
        return self.root / "spent" / f"{command}.json"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def dataset(self, workload: str) -> Path:
        return self.data / workload / "dataset.json"

    def reference(self, workload: str) -> Path:
        """The reference's float64 results, with which the other frameworks are compared."""
        return self.root / "certificates" / workload / "reference"

    def certificate(self, workload: str, framework: str) -> Path:
        return self.root / "certificates" / workload / f"{framework}.json"

    def batches(self, group: str, replicate: int) -> Path:
        return self.root / "contests" / group / f"{replicate}.parquet"

    def contest(self, group: str, replicate: int) -> Path:
        return self.root / "contests" / group / f"{replicate}.json"
