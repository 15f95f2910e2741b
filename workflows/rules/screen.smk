# Before anything else: jobs run this clone, and Snakemake keeps its bookkeeping to its own log.
import os
import sys
from pathlib import Path

sys.path.insert(0, str(workflow.basedir))
# Under the interpreter that Snakemake runs under, activated or not.
for variable, first in [("PATH", Path(sys.executable).parent), ("PYTHONPATH", workflow.basedir)]:
    rest = os.environ.get(variable)
    os.environ.update({variable: os.pathsep.join(filter(None, [str(first), rest]))})

from workflows.machine import guardian
from workflows.stages.screen import Screen

SCREEN = Screen(workflow)
SCREEN.install()
guardian.announce()
