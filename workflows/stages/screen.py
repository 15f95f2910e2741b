"""What Snakemake shows on the screen: its warnings and errors, not its bookkeeping, which is in
its own log under `.snakemake/log`. The stages say how far a study is."""

import logging
import re
from typing import Any

NOTHING = "Nothing to be done"
# A line of a job that failed. The job itself has said why.
FAILED_JOB = re.compile(
    r"CalledProcessError|^Error in rule|^Exiting because a job|At least one job did not complete"
)
PLACE = re.compile(r"\A\w+ in file .*?, line \d+:\n")
STATUS = re.compile(r"exit status (\d+)|died with <Signals\.(SIG\w+)")
LOCKED = "cannot be locked"
FILE_SYSTEM = re.compile(r"\ATraceback.*\n\w+Error: (\[Errno \d+\] [^\n]*)\s*\Z", re.S)


class Screen(logging.Filter):
    """A filter of the records that Snakemake writes to the screen. It remembers what failed.

    `workflow` is Snakemake's. The Snakefile sets `report`, the report's path, and `again`, the
    command that goes on, as soon as they are known.
    """

    def __init__(self, workflow: Any) -> None:
        super().__init__()
        self.workflow = workflow
        self.report, self.again = "", "snakemake --cores 1"
        self.rule, self.logs, self.killed, self.interrupted = "", list[str](), "", False

    def install(self) -> None:
        for handler in logging.getLogger("snakemake.logging").handlers:
            if handler.name == "DefaultStreamHandler":
                handler.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if (rule := getattr(record, "rule_name", "")) and record.levelno >= logging.ERROR:
            self.rule, self.logs = rule, list(getattr(record, "log", []))
            return self.everything
        if text.startswith("Terminating processes on user request"):
            self.interrupted = True
        if text.startswith(NOTHING):
            record.msg = f"{NOTHING}. The report: {self.report}"
            return True
        if record.levelno < logging.WARNING or self.everything:
            return self.everything
        if FAILED_JOB.search(text):
            self.killed = self.killed or killed(text)
            return False
        if LOCKED in text:
            record.msg = (
                "This folder is locked: another snakemake works here. If none does, because it was "
                f"killed, run these:\n  snakemake --unlock\n  {self.again}"
            )
        elif found := FILE_SYSTEM.search(text):
            record.msg = f"{found[1]} (more in Snakemake's log)"
        else:
            record.msg = PLACE.sub("", text)
        record.args = ()
        return True

    @property
    def everything(self) -> bool:
        """Whether the user asked Snakemake to talk. On a cluster it always does, because what the
        stages say stays on the nodes."""
        settings = self.workflow.output_settings
        asked = settings.dryrun or settings.verbose or settings.printshellcmds
        return bool(asked or self.workflow.non_local_exec)

    def farewell(self) -> str:
        """The last lines of a run that did not end well. The cause stands above them, unless the
        job was killed and could not say it."""
        if self.interrupted:
            return f"\nStopped. What is finished is kept; go on with:\n  {self.again}\n"
        if self.rule == "failures":  # its own last line says how to go on
            return ""
        cause = f"The job `{self.rule}` was killed ({self.killed}).\n" if self.killed else ""
        logs = "".join(f"Its log: {log}\n" for log in self.logs)
        kept = "What is finished is kept. When the cause is mended, go on with:"
        return f"\n{cause}{logs}{kept}\n  {self.again}\n"


def killed(text: str) -> str:
    """The signal that ended a job, and what that often means; "" if it ended by itself."""
    found = STATUS.search(text)
    if not found:
        return ""
    number, name = found.groups()
    signal = name or (f"signal {int(number) - 128}" if int(number) > 128 else "")
    if signal in ("SIGKILL", "signal 9"):
        return f"{signal}: often because the memory was full"
    return signal
