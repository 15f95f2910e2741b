"""What a record says of the environment variables that change times."""

import os
import re

from frameworks.variables import FLAGS
from workflows.records.private import cut, last_parts

LONGEST = 200  # characters of a value

# An address in a value may hold a password or a user's name, so it is not recorded.
ADDRESS = re.compile(r"\w+://\S+")


def variables() -> dict[str, str]:
    """The variables that are set here, with the last part of each path in their values."""
    return {name: shown(os.environ[name]) for name in FLAGS if name in os.environ}


def shown(value: str) -> str:
    return cut(last_parts(ADDRESS.sub("...", value)), LONGEST)
