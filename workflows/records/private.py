"""What no record says: who measured, on which host, and where their folders are.

Messages of frameworks are full of it. Records are published, so it goes when they are written.
"""

import getpass
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

HOME, ELSEWHERE, USER, HOST, SECRET = "~", "...", "(user)", "(host)", "(secret)"

# Keys whose texts are for people. Names of users and hosts are masked in these only, because
# elsewhere the same word may be the name of a framework or a workload.
TEXTS = frozenset(
    ["reason", "cause", "missing", "source", "command", "fixed", "settings", "system_info",
     "unprofiled"]
)  # fmt: skip
PATHS = frozenset({"interpreters", "folder"})  # keys whose values are paths
# Users and hosts have these names, too. They say nothing, and texts are full of them.
COMMON = frozenset(
    ["root", "user", "users", "admin", "runner", "ubuntu", "debian", "home", "host",
     "localhost", "local", "python", "linux", "machine", "default", "tuned", "cpu", "gpu",
     "adam", "sgd", "jax", "torch", "pytorch", "keras", "tensorflow", "numpy", "noop", "mnist",
     "mlp", "contest", "replicate", "study", "reference", "data", "test", "none", "true",
     "false"]
)  # fmt: skip
SHORTEST, LEAST_SECRET = 3, 8  # characters of a name, and of a secret

# Variables whose values are secrets, wherever they turn up.
HOLDS_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|LOGIN|COOKIE|SIGNATURE|LICEN[CS]E|WEBHOOK"
    r"|(?:^|_)(?:PAT|DSN)(?:_|$)|_PWD$",
    re.IGNORECASE,
)
CREDENTIALS = re.compile(r"(?<=://)[^\s/]+(?=@)")  # `user:password` in a URL
# What may stand for all other characters than letters and digits, when a message escapes a text,
# encodes it for a URL, or joins its lines.
BETWEEN = r"(?:%[\dA-Fa-f]{2}|\\+(?:[nrt]|x[\da-f]{2}|u[\da-f]{4})|[^A-Za-z0-9])*"

BEGIN = r"(?<![\w.~/-])"
# Homes may be mounted anywhere, and follow an option like -L.
ANY_HOME = re.compile(
    rf"{BEGIN}(?<!http:)(?<!https:)(-[A-Za-z]+)?"
    r"(?:(?:/+[\w.-]+){0,4}?/+(?:home|Users)/+[^/\s\"':;,]+|/+root(?![\w-]))"
)
ANY_PYTHON = re.compile(
    rf"(?:{BEGIN}|(?<=file:))[~/.][^\s\"':;,=]*/(?=bin/python[\d.]*|(?:site|dist)-packages/)"
)
ANY_PATH = re.compile(rf"{BEGIN}~?/[^\s\"':;,=]*/")


def anonymous(value: Any) -> Any:
    """A record's values as JSON has them, without secrets, and without names and folders of
    whoever writes it."""
    secrets, folders, words = own_secrets(), own_folders(), own_names()

    def text(said: str, free: bool) -> str:
        said = said if said.isascii() else said.encode(errors="replace").decode()
        for secret in secrets:
            said = secret.sub(SECRET, said)
        if "/" in said:
            said = CREDENTIALS.sub(SECRET, said)
            for pattern, instead in folders:
                said = pattern.sub(instead, said)
            said = ANY_HOME.sub(rf"\1{HOME}", ANY_PYTHON.sub(f"{ELSEWHERE}/", said))
        for pattern, instead in words if free else []:
            said = pattern.sub(instead, said)
        return said

    def clean(value: Any, free: bool) -> Any:
        if isinstance(value, str):
            return text(value, free)
        if isinstance(value, list):
            return [clean(item, free) for item in value]
        if isinstance(value, dict):
            return {
                clean(key, free): names(item)
                if key in PATHS
                else clean(item, free or (key in TEXTS and not isinstance(item, list)))
                for key, item in value.items()
            }
        return value

    return clean(value, False)


def names(value: Any) -> Any:
    """Paths by their last part."""
    if isinstance(value, str):
        return PurePath(value).name
    if isinstance(value, dict):
        return {key: names(item) for key, item in value.items()}
    return value


def last_parts(text: str) -> str:
    """A text in which `.../name` stands for each path."""
    return ANY_PATH.sub(f"{ELSEWHERE}/", text)


def own_folders() -> list[tuple[re.Pattern[str], str]]:
    """Folders of this user, the innermost first, and what stands for each."""
    home = home_folder()
    places = {
        str(Path(__file__).parents[2]): ELSEWHERE,
        home: HOME,
        str(Path(home).resolve()): HOME,
    }
    if sys.prefix != sys.base_prefix:
        places[sys.prefix] = ELSEWHERE
    kept = sorted((p for p in places if PurePath(p).name), key=len, reverse=True)
    # A folder like /root could also be a part of a contender's name.
    begin = {p: r"(?<![\w.])" if p.count("/") == 1 else "" for p in kept}
    return [(re.compile(rf"{begin[p]}{re.escape(p)}(?![\w-])"), places[p]) for p in kept]


def own_names() -> list[tuple[re.Pattern[str], str]]:
    """Names of this user and this host, the longest first, and what stands for each."""
    users = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    users.append(PurePath(home_folder()).name)
    with suppress(OSError, KeyError, ImportError):
        users.append(getpass.getuser())
    hosts = [platform.node(), socket.gethostname(), os.environ.get("HOSTNAME", "")]
    hosts += [host.partition(".")[0] for host in hosts]
    known = dict.fromkeys(telling(hosts), HOST) | dict.fromkeys(telling(users), USER)
    return [
        (re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE), known[name])
        for name in sorted(known, key=len, reverse=True)
    ]


def telling(names: Iterable[str]) -> Iterable[str]:
    return [n for n in names if len(n) >= SHORTEST and n.lower() not in COMMON]


def own_secrets() -> list[re.Pattern[str]]:
    """The secrets of this user's variables, the longest first, however a message spells them."""
    found = {value for name, value in os.environ.items() if HOLDS_SECRET.search(name)}
    for value in os.environ.values():
        for name_and_password in CREDENTIALS.findall(value):
            found |= {name_and_password, name_and_password.partition(":")[2]}
    telling = (v for v in found if len(v) >= LEAST_SECRET and v.lower() not in COMMON)
    return [spelled(secret) for secret in sorted(telling, key=len, reverse=True)]


def spelled(secret: str) -> re.Pattern[str]:
    words = re.findall("[A-Za-z0-9]+", secret)
    many = sum(map(len, words)) >= LEAST_SECRET
    return re.compile("|".join([re.escape(secret)] + [BETWEEN.join(words)] * many))


def home_folder() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # a user whom the system does not know
        return ""
