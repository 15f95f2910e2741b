"""Random changes of values as JSON or YAML has them, and of bytes."""

import copy
import random
from collections.abc import Iterator
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 7, 32_768, 2**31, 2**63, 10**30, -(10**30), 0.5, -0.5, 1e-320,
    1e308, float("inf"), float("-inf"), float("nan"), "", " ", "a", "..", "../../x", "a/b", "/etc",
    "\x1b[31mred", "a\nb", "<script>alert(1)</script>", "=1+1", "\u202etxt", "\x00", "x" * 30_000,
    "9" * 400, "1e999", "2026-13-45T99:00:00", "pytorch", "mlp", "all", "null", [], {}, [[]],
    [None], [1, 1], {"a": {"b": {"c": []}}}, {"": ""}, {"pytorch": []}, ["x"] * 300, [{}] * 3,
)  # fmt: skip
Path = tuple[Any, ...]  # of keys and indices


def paths(value: Any, above: Path = ()) -> Iterator[Path]:
    """The path to every key and index of a nested value."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*above, key)
        if isinstance(value[key], dict | list):
            yield from paths(value[key], (*above, key))


class Places:
    """The paths of a value by their last key. A key is drawn first, because nearly all paths of
    records lead to a loss or a weight."""

    def __init__(self, value: Any) -> None:
        self.by_key: dict[str, dict[Path, list[Path]]] = {}
        for path in paths(value):
            names = tuple(key for key in path if isinstance(key, str))
            self.by_key.setdefault(names[-1], {}).setdefault(names, []).append(path)

    def drawn(self, draw: random.Random) -> Path:
        """A path to a random key in a random place."""
        places = draw.choice([*self.by_key.values()])
        return draw.choice(draw.choice([*places.values()]))


def changed(value: Any, path: Path, draw: random.Random) -> tuple[Any, str]:
    """The value with one change at `path`, and the kind of change. Parts that the change does not
    touch are the same objects as before."""
    value = own = copy.copy(value)
    for key in path[:-1]:
        own[key] = own = copy.copy(own[key])
    key = path[-1]
    kind = draw.choice(("another value", "another value", "a key gone", "a key more", "moved"))
    if kind == "another value":
        own[key] = another(own[key], draw)
    elif kind == "a key gone":
        del own[key]
    elif isinstance(own, dict):
        name = draw.choice((f"{key}x", "", "x" * 300, "schema_version", "study"))
        own[name] = own[key] if kind == "a key more" else own.pop(key)
    elif kind == "a key more":
        own.insert(key, own[key])
    else:
        draw.shuffle(own)
    return value, f"{kind} at {str(key)[:30]}"


def another(value: Any, draw: random.Random) -> Any:
    """A number near the present value, or any odd value."""
    if isinstance(value, int | float) and not isinstance(value, bool) and draw.random() < 0.3:
        return draw.choice((-value, value + 1, value - 1, value * 1e6, int(value) * 10**9))
    deep: Any = []
    if draw.random() < 0.02:
        for _ in range(300):
            deep = [deep]
        return deep
    return draw.choice(ODD)


def changed_bytes(content: bytes, draw: random.Random) -> tuple[bytes, str]:
    """The content with some bytes changed, and the kind of change."""
    kind = draw.choice(("flipped", "flipped", "cut", "repeated", "put in", "emptied", "encoded"))
    at = draw.randrange(max(len(content), 1))
    end = min(at + draw.choice((1, 2, 8, 500)), len(content))
    if kind == "flipped":
        flipped = bytes(byte ^ draw.randrange(1, 256) for byte in content[at:end])
        return content[:at] + flipped + content[end:], kind
    if kind == "cut":
        return draw.choice((content[:at], content[at:], content[:at] + content[end:])), kind
    if kind == "repeated":
        return content[:end] + content[at:], kind
    if kind == "put in":
        more = draw.choice((b"\xff", b"\x00", b"\xef\xbb\xbf", b"[" * 5000, b"&a [*a]", b"\n- x"))
        return content[:at] + more + content[at:], kind
    if kind == "encoded":
        return content.decode(errors="replace").encode("utf-16"), kind
    return b"", kind
