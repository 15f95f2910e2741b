"""A worker that starts a process, or waits for another's to end."""

import subprocess
import time
from typing import Any

import psutil  # type: ignore[import-untyped]

from workflows.worker.handlers import Handlers
from workflows.worker.worker import main


class Starting(Handlers):
    def start(self) -> dict[str, Any]:
        return {"started": subprocess.Popen(["sleep", "900"]).pid}

    def wait(self, started: int, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while (there := psutil.pid_exists(started)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return {"there": there}


if __name__ == "__main__":
    main(Starting())
