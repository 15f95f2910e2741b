"""The import of a framework takes in what the framework requires, and no package of others."""

import json
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from frameworks.registry import framework, versions
from tests.conftest import python
from tests.workflows.environments.wheels import needed

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


OTHERS = [pytest.param(name, marks=pytest.mark.all) for name in ("tensorflow", "jax", "keras")]


@pytest.mark.parametrize("name", ["pytorch", *OTHERS])
def test_an_import_takes_in_what_the_framework_requires(name: str) -> None:
    description = framework(name)
    if not versions(description):
        pytest.skip(f"{description.title} is not installed")
    done = python("-c", LISTED, name)
    assert done.returncode == 0, done.stderr
    owners = packages_distributions()
    imported = {
        each: {canonicalize_name(owner) for owner in owners.get(each, [])} for each in loaded(done)
    }
    required = needed([*versions(description), "numpy"]) | {"samestep"}
    others = {each for each, own in imported.items() if own and not own & required}
    assert others <= SMALL


def loaded(done) -> list[str]:
    """What the process has printed last, because frameworks print too."""
    return json.loads(done.stdout.splitlines()[-1])
