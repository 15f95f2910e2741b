"""The import of a framework takes in what the framework requires, and no package of others."""

import json
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

import pytest
from packaging.requirements import Requirement

from frameworks.registry import framework, versions
from tests.conftest import python

# Imports that take less than a tenth of a second, and that one of the frameworks looks for.
SMALL = {
    "PIL", "_distutils_hack", "cloudpickle", "filelock", "flatbuffers", "opt_einsum", "psutil",
    "pygments", "pynvml", "typing_extensions",
}  # fmt: skip
LISTED = """
import json, sys
from frameworks import registry
from frameworks.contract import Conditions
registry.open_adapter(registry.framework(sys.argv[1]), Conditions())
for name in registry.framework(sys.argv[1]).optional_imports:
    assert sys.modules.get(name, sys) is not None, name
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "jax", "keras"])
def test_an_import_takes_in_what_the_framework_requires(name: str) -> None:
    description = framework(name)
    if not versions(description):
        pytest.skip(f"{description.title} is not installed")
    done = python("-c", LISTED, name)
    assert done.returncode == 0, done.stderr
    owners = packages_distributions()
    imported = {each: {plain(owner) for owner in owners.get(each, [])} for each in loaded(done)}
    workers = "samestep", "numpy"
    required = requirements([*description.distributions, *description.companions, *workers])
    others = {each for each, own in imported.items() if own and not own & required}
    assert others <= SMALL


def loaded(done) -> list[str]:
    """What the process has printed last, because frameworks print too."""
    return json.loads(done.stdout.splitlines()[-1])


def requirements(names: Iterable[str]) -> set[str]:
    """The distributions that these need, and what those need; of samestep, itself alone."""
    found: set[str] = set()
    left = [plain(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needed = [] if name == "samestep" else distribution(name).requires or []
        except PackageNotFoundError:
            continue
        wanted = map(Requirement, needed)
        left += [plain(r.name) for r in wanted if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
