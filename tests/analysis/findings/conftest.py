from collections.abc import Callable

import pytest

from analysis.findings.findings import Findings
from analysis.report.caveats.registry import caveats
from tests.analysis.recipe import ENVIRONMENT, Recipe

QUIET = {**ENVIRONMENT, "virtualisation": {"hypervisor": False, "machine": "", "container": ""}}
QUIET["cpu"] = {**ENVIRONMENT["cpu"], "governor": "performance", "turbo": "off"}  # type: ignore[dict-item]
SOUND = Recipe(workloads=("mlp",), threads=(1,), variants=("tuned",), system_info=QUIET)
Make = Callable[[Recipe], Findings]


def said(findings: Findings, machines: int = 2) -> list[str]:
    return [caveat.text for caveat in caveats(findings, machines)]


@pytest.fixture
def sound(found: Make) -> Findings:
    return found(SOUND)
