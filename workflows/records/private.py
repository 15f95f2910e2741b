"""What no record says: who measured, on which host, and where their folders are.

Messages of frameworks are full of it. Records are published, so it goes when they are written.
"""

import getpass
import json
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import IO, Any

from frameworks.variables import FLAGS
from workflows.records.secrets.spellings import CLEAR, LONGEST, composed, spelled

# Escape sequences of terminals, other control characters, and those that turn the direction of
# text. Messages of frameworks have them; pages, drawings and terminals must not.
UNPRINTABLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe"
    "\uffff\U000e0000-\U000e007f]"
)
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
    ["root", "user", "users", "admin", "runner", "ubuntu", "debian", "home", "host", "batch",
     "localhost", "local", "python", "linux", "machine", "default", "tuned", "cpu", "gpu",
     "adam", "sgd", "jax", "torch", "pytorch", "keras", "tensorflow", "numpy", "noop", "mnist",
     "mlp", "contest", "replicate", "study", "reference", "data", "test", "none", "true",
     "false"]
)  # fmt: skip
PLAIN = re.compile(r"[a-z_]+")
SHORTEST = 3  # characters of a name that is masked in prose
LONGER = 5  # characters of a name that no other name has as a part
LEAST_SECRET = 4  # characters of a secret
KNOWN = 20_000  # characters of a long text that are looked through
LOG = 2**18  # bytes of a log; to look through it takes half a second
CUT_OFF = 2**13  # characters behind a cut, which may be of half a secret, such as a private key

# Variables whose values are secrets, wherever they turn up.
HOLDS_SECRET = re.compile(
    r"""KEY | TOKEN | SECRET | PASS | CREDENTIAL | AUTH(?!OR) | LOGIN | COOKIE | SIGNATURE | HOOK
    | LICEN[CS]E | BEARER | PRIVATE | CONN(?:ECTION)?_?STR | _PWD$
    | (?:^|_) (?:PAT|DSN|SAS|PIN|OTP|JWT|PW) (?:_|$)""",
    re.IGNORECASE | re.VERBOSE,
)
# A short number is a secret only in these. `MAX_TOKENS` is none, and texts are full of numbers.
HOLDS_NUMBER = re.compile(
    "(?: PASS(?:WORD|WD|PHRASE)? | TOKEN | SECRET | PIN | _PWD )$", re.IGNORECASE | re.VERBOSE
)
# Variables that hold none, by their whole names: `TF_VAR_db` and `SNAKEMAKE_...` can be secrets.
HARMLESS = frozenset(
    [*FLAGS, "CFLAGS", "CONDA_DEFAULT_ENV", "CPPFLAGS", "CXXFLAGS", "HOST", "HOSTNAME", "LANG",
     "LC_ALL", "LDFLAGS", "LOGNAME", "MACHTYPE", "SAMESTEP_CACHE", "SAMESTEP_LOADED",
     "SAMESTEP_LOCK", "SAMESTEP_MACHINE", "SAMESTEP_MNIST", "SUDO_USER", "TERM", "USER", "USERNAME"]
)  # fmt: skip
# Values that honest texts have, too.
HONEST = re.compile(
    r"""[~.]{0,2} / \S*  # a path
    | [\d.,:+-]*
    | \d+ (?:\.\d+)+ (?:a|b|rc|\.dev|\.post)? \d* (?:\+[a-z\d.]{1,20})?  # a version
    | [A-Za-z]+ (?:[-_./,:][A-Za-z]+)* [\W_]* [\d.,:+-]*  # words and a number
    | \w+:// [a-z\d.:-]+ (?: / [A-Za-z._-]{0,30} \d{0,4} )*  # an address""",
    re.VERBOSE,
)
LONG_WORD = re.compile(r"[\w+/=.-]{16,}")
# Values of variables like AUTH_TYPE and CREDENTIAL_STORE.
ORDINARY = frozenset(
    ["always", "auto", "basic", "bearer", "disabled", "enabled", "error", "file", "float", "gnome",
     "kernel", "keyring", "memory", "never", "oauth", "path", "password", "secret", "step",
     "token"]
)  # fmt: skip
# `user:password` in a URL
CREDENTIALS = re.compile(r"(?<=://)(?:[^\s/]{1,2000}|[^\s/:@]{1,200}+:[^\s@]{1,2000}+)(?=@)")
# Secrets that a text names. After `=` any value is one. After a colon or a space, only what has a
# letter and a digit: "unexpected token: x" and "token 5 is unknown" are honest. After a weak word,
# names of tensors are honest, too. A signature can be that of a function, a pass that of a loop.
STRONG = (
    r"(?:passw(?:or)?d|pass(?:code|key|phrase)|secret|credentials?|(?:access|account|aes|api|client|deploy"
    r"|encryption|hmac|licen[cs]e|master|private|secret|signing|ssh|subscription)[ _-]?key)"
)
WEAK = (
    r"(?:token|auth(?!or)|cookie|bearer|(?<![A-Za-z])(?:pwd?|pat|pin|otp|jwt|dsn|sas|psk)"
    r"|(?<=[?&])(?:sig|key))"
)
MORE = r"(?:[_-]|(?-i:(?<=[a-z])[A-Z]))[\w-]{1,30}+"  # of keys: `db_password_ro`, `tokenId`
LONGER_KEY = f"{STRONG}(?:s|{MORE})"
PASS = rf"(?:(?<!by)pass|{WEAK}{MORE})"
SIGNATURE = r"(?<!\w)sig(?:nature)?"
HEADER = (
    r"(?:authorization|(?<![\w-])(?:x-[\w-]{0,40}(?:token|auth|key|secret)[\w-]{0,20}"
    r"|(?:set-)?cookie(?=[\"']?:\s?[\"']?[\w.-]{1,40}=)))"
)
PART = r"[^\s,;&\"']"
# No further, so that a text in which a word is repeated does not take minutes.
NEAR = "{0,200}"
MIXED = rf"(?!(?:b?float|u?int|complex)\d)(?={PART}{NEAR}\d)(?={PART}{NEAR}[A-Za-z])"
END, OPEN = r"\\{0,9}[\"']?", r"(?:[bfu]?\\{0,9}[\"'])?"  # quotes, in a quoted text, too
IS = rf"{END}\s{{0,9}}:?={{1,3}}+>?\s{{0,9}}{OPEN}"
TOLD = rf"{END}(?:\s+(?:is|was))?(?:\s*:\s*|\s+){OPEN}"
OPTION = rf"[^\n]{NEAR}?[\s\"']"  # of a command, also in a list
ARGUMENT = r"(?:'[^']*'|\"[^\"]*\"|[^\s\"']\S*)"
# A token with the mark of who issued it
ISSUED = r"(?:(?:gh[a-z]|hf|sk|glpat)[_-]\w{6,}|(?:s|hv[brs])\.[A-Za-z\d]{10,})"
# Secrets that need no word before them: long tokens, JSON web tokens and private keys.
MARKED = (
    r"(?:gh[a-z]_|github_pat_|hf_|[rs]k_(?:live|test)_|sk-|glpat-|xox[a-z]-|dckr_pat_|AIza|hvs\."
    rf"|ya29\.|npm_(?=[^\W_]{{16}})|pypi-(?=[\w-]{NEAR}[A-Z]))(?=[\w-]{NEAR}\d)[\w-]{{16,}}"
    rf"|(?:AKIA|ASIA(?=[A-Z]{NEAR}\d))[0-9A-Z]{{12,}}|eyJ[\w-]{{6,}}(?:\.[\w-]+){{1,2}}"
    rf"|SG\.(?=[\w.-]{NEAR}\d)[\w-]{{8,}}\.[\w-]{{8,}}"
)
APART = r"(?<![\w.-])"  # from what stands before
PRIVATE_KEY = r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*"
KEYED = [re.compile(rf"({APART})(?:{MARKED}|{PRIVATE_KEY})")]
KEYED += [
    re.compile(f"({word}{between}){value}", re.IGNORECASE)
    for word, between, value in (
        (f"(?:{STRONG}|{WEAK})", IS, rf"(?!(?:none|null|true|false|basic)\b){PART}+"),
        (LONGER_KEY, IS, rf"(?!(?:none|null|true|false|[\d.]{{1,9}})\b){PART}+"),
        (STRONG, TOLD, rf"{MIXED}{PART}{{5,}}"),
        (LONGER_KEY, rf"{END}\s*:\s*{OPEN}", rf"{MIXED}{PART}{{5,}}"),
        (WEAK, TOLD, rf"{MIXED}(?:[A-Za-z\d+=-]{{8,}}(?![\w./+=(\[-])|{ISSUED})"),
        (PASS, rf"(?:{IS}|{END}\s*:\s*(?!\w{{1,30}}-){OPEN})",
         rf"(?!\d+[a-z]{{1,2}}\b){MIXED}(?:[^\s,;&\"'_./(\[]{{7,}}+(?![_./(\[])|{ISSUED})"),
        (SIGNATURE, IS, rf"{MIXED}[\w%+/=.-]{{8,}}+(?![(\[])"),
        (HEADER, r"[\"']?\s*[:=]\s*", r"[^\n]+"),  # a scheme and credentials
        ("basic", r"\s+", rf"{MIXED}[A-Za-z\d+/]{{12,}}={{0,2}}(?![\w./-])"),  # in base64
        ("(?:sshpass|docker login|redis-cli)", rf"{OPTION}-[ap](?:[\"'],)?\s*", ARGUMENT),
        ("(?:mysql|mariadb)", rf"{OPTION}(?-i:-p(?!ort))", ARGUMENT),
        ("curl", rf"{OPTION}(?:-u|--(?:proxy-)?user)(?:[\"'],|=)?\s*",
         rf"(?=[^\s:]{{1,99}}:){ARGUMENT}"),
    )
]  # fmt: skip
KEYS = re.compile(
    f"{STRONG}|{WEAK}|pass|{SIGNATURE}|{HEADER}|basic|docker login|redis-cli|mysql|mariadb|curl"
    f"|{APART}(?:{MARKED})|-----BEGIN",
    re.IGNORECASE,
)
BEGIN = r"(?<![\w.~/-])"
# Homes may be mounted anywhere, and follow an option like -L.
ANY_HOME = re.compile(
    rf"{BEGIN}(?<!http:)(?<!https:)(-[A-Za-z]+)?"
    r"(?:(?:\.\.(?=/))?(?:/+[\w.-]+){0,9}?/+(?:home|Users)/+[^/\s\"':;,]+|/+root(?![\w-])"
    r"|~[A-Za-z_][\w.-]*(?=/)|\b[A-Za-z]:[\\/]+Users[\\/]+[^\\/\s\"':;,]+)"
)
ANY_PYTHON = re.compile(
    rf"(?:{BEGIN}|(?<=file:))[~/.][^\s\"':;,=]*/(?=bin/python[\d.]*|(?:site|dist)-packages/)"
)
ANY_PATH = re.compile(rf"{BEGIN}(?:~?/[^\s\"':;,=]*/|~[\w.-]+/(?:[^\s\"':;,=]*/)?)")
WHOLE_PATH = re.compile(rf"{BEGIN}(?:-[A-Za-z]+)?[~.]*/\S*")


def anonymous(value: Any) -> Any:
    """A record's values as JSON has them, without secrets, and without names and folders of its
    writer."""
    secrets, folders, words = own_secrets(), own_folders(), own_names()
    part, before_at = own_users()

    def text(said: str, free: bool) -> str:
        said = said if said.isascii() else said.encode(errors="replace").decode()
        said = masked(said, [secret for secret, only_free in secrets if free or not only_free])
        if "/" in said or "\\" in said:
            for pattern, instead in folders:
                said = pattern.sub(instead, said)
            said = ANY_HOME.sub(rf"\1{HOME}", ANY_PYTHON.sub(f"{ELSEWHERE}/", said))
            said = WHOLE_PATH.sub(lambda path: part.sub(USER, path[0]), said)
        said = before_at.sub(USER, said)
        for pattern, instead in words if free else []:
            said = pattern.sub(instead, said)
        return said

    def clean(value: Any, free: bool, named: bool = False) -> Any:
        """`named`: keys of plain letters are names of settings, which are no texts."""
        if isinstance(value, str):
            return text(value, free)
        if isinstance(value, list):
            return [clean(item, free) for item in value]
        if isinstance(value, dict):
            return {
                clean(key, free and not (named and PLAIN.fullmatch(key))): names(item)
                if key in PATHS
                else clean(
                    item, free or (key in TEXTS and not isinstance(item, list)), key == "settings"
                )
                for key, item in value.items()
            }
        return value

    return clean(value, False)


def masked(said: str, secrets: Iterable[re.Pattern[str]]) -> str:
    """A text without these secrets, and without those that the text names."""
    for secret in secrets:
        said = secret.sub(SECRET, said)
    if KEYS.search(said):
        for keyed in KEYED:
            said = keyed.sub(rf"\1{SECRET}", said)
    return CREDENTIALS.sub(SECRET, said) if "/" in said else said


def without_secrets(text: str) -> str:
    """A text for this machine, with its folders and names."""
    return masked(text, [secret for secret, _ in own_secrets()])


def mask_log(log: IO[bytes], most: int = LOG) -> None:
    """Leave the end of a log in its file, without secrets. A file that cannot be written may be
    empty afterwards.

    Args:
        log: opened to append and to read.
        most: bytes; the first `CUT_OFF` characters of these go, because half a secret is not known.
    """
    with suppress(OSError):
        size = os.fstat(log.fileno()).st_size
        printed = os.pread(log.fileno(), most, max(size - most, 0)).decode(errors="replace")
        left = without_secrets(printed)
        if size > most:
            left = left[CUT_OFF:]
            left = left.partition("\n")[2] or left  # a whole line, if it has one
        if size > most or left != printed:
            log.truncate(0)
            log.write(left.encode(errors="replace"))
            log.flush()


def cut(text: str, most: int) -> str:
    """The first characters of a text for people. What is cut is masked before, because half a
    secret is not known any more."""
    if len(text) <= most:
        return text
    return str(anonymous({"reason": text[:KNOWN]})["reason"])[:most]


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


def own_users() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Names of this user, however short: as a part of a path, and before an @."""
    known = "|".join(map(re.escape, sorted(telling(users(), 1), key=len, reverse=True))) or "(?!)"
    return (
        re.compile(rf"(?<=/)(?:{known})(?![\w-]|\.\w)", re.IGNORECASE),
        re.compile(rf"(?<![\w.-])(?:{known})(?=@)", re.IGNORECASE),
    )


def own_names() -> list[tuple[re.Pattern[str], str]]:
    """Names of this user and this host, the longest first, and what stands for each."""
    hosts = [platform.node(), socket.gethostname(), os.environ.get("HOSTNAME", "")]
    hosts += [host.partition(".")[0] for host in hosts]
    known = dict.fromkeys(telling(hosts, SHORTEST), HOST)
    known |= dict.fromkeys(telling(users(), SHORTEST), USER)
    apart = {name: r"[^\W_]" if len(name) >= LONGER else r"[\w-]" for name in known}
    return [
        (
            re.compile(rf"(?<!{apart[name]}){re.escape(name)}(?!{apart[name]})", re.IGNORECASE),
            known[name],
        )
        for name in sorted(known, key=len, reverse=True)
    ]


def users() -> Iterator[str]:
    yield from (os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"))
    yield PurePath(home_folder()).name
    with suppress(OSError, KeyError, ImportError):
        yield getpass.getuser()


def telling(names: Iterable[str], shortest: int) -> list[str]:
    long = [n for n in names if len(n) >= shortest and n.lower() not in COMMON]
    return [*dict.fromkeys(form for n in long for form in composed(n))]


def own_secrets() -> list[tuple[re.Pattern[str], bool]]:
    """The secrets of this user's variables, the longest first, however a message spells them, and
    whether each is a secret in free texts only. Elsewhere a word or a number could name a row."""
    found = dict[str, bool]()
    for name, value in os.environ.items():
        # Nothing after the last @ matches, and all of it would be read again from each ://.
        ends = (word[: word.rfind("@") + 1] for word in value.split())
        parts = [
            part
            for end in ends
            for one in CREDENTIALS.findall(end)
            for part in (one, one.partition(":")[2])
        ]
        named = [value] if HOLDS_SECRET.search(name) else []
        parts += [part for own in named for part in within(own) if conspicuous(part)]
        if not named and name not in HARMLESS and conspicuous(value):
            found.setdefault(value, True)
        for one in [*named, *parts]:
            if known_secret(one, bool(HOLDS_NUMBER.search(name)) or one in parts):
                found[one] = not long_word(one)
    every = sorted(found.items(), key=lambda item: len(item[0]), reverse=True)
    return [(pattern, free) for secret, free in every for pattern in spelled(secret)]


def within(value: str) -> Iterator[str]:
    """The lines of a secret, such as a key of several lines, and the texts in one of JSON. A
    message may have only one of them."""
    with suppress(ValueError, RecursionError):
        waiting = [json.loads(value)] if value.lstrip().startswith(("{", "[")) else []
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                yield item
                yield from item.split()
            elif isinstance(item, dict | list):
                waiting += item.values() if isinstance(item, dict) else item
    if "\n" in value.strip():
        yield from map(str.strip, value.splitlines())


def known_secret(value: str, number: bool) -> bool:
    """Whether the value of a variable that holds a secret can be masked. Short values that texts
    are full of cannot: words, paths, and numbers unless the secret may be a `number`."""
    if len(value) < LEAST_SECRET or value.lower() in COMMON | ORDINARY:
        return False
    short = len(value) < CLEAR
    return not (short and ("/" in value or (value.isdigit() and not number)))


def conspicuous(value: str) -> bool:
    """Whether a value could be a secret, though nothing in its variable's name says so."""
    if len(value) < CLEAR or value.lower() in COMMON:
        return False
    if len(value) <= LONGEST and HONEST.fullmatch(value):
        return False
    paths = all(part.startswith(("/", "~", ".")) or not part for part in value.split(":"))
    return not paths and (not re.search(r"\s", value) or long_word(value))


def long_word(text: str) -> bool:
    """Whether one of its words is a long mixture of letters and digits."""
    ends = (word[found.start() :] for word in text.split() if (found := LONG_WORD.search(word)))
    return any(re.search(r"\d", end) and re.search("[A-Za-z]", end) for end in ends)


def home_folder() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # a user whom the system does not know
        return ""
