"""Values of variables are masked however a text spells them, and what honest texts have stays."""

import base64
import html
import json
import re
from collections.abc import Callable
from unicodedata import normalize
from urllib.parse import quote, quote_plus

import numpy as np
import pytest

from workflows.records.private import anonymous

MIXED, ACCENTS = "Zq81xx4433abcd", 'Zq<81&xx"44é'
LINES = "-BEGIN-\nline 'one'\n\"two\" / three\n"


def in_base64(before: str, secret: str, after: str = "") -> str:
    return base64.b64encode(f"{before}{secret}{after}".encode()).decode()


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [*(("API_TOKEN", MIXED, text) for text in (
        MIXED.upper(), MIXED.lower(), MIXED.encode().hex(), MIXED.encode().hex().upper())),
     *(("API_TOKEN", secret, in_base64(before, secret, after))
       for secret in (MIXED, "hunter2", ACCENTS, "??>>~~~??>>")
       for before in ("", "a:", "ab:", "abc:") for after in ("", "x", "xyz")),
     ("API_TOKEN", "??>>~~~??>>", in_base64("", "??>>~~~??>>").translate({43: "-", 47: "_"})),
     ("API_TOKEN", "hunter2", "HUNTER2"), ("SOMETHING", MIXED, MIXED.upper()),
     ("API_TOKEN", "a<b>1x", "a&lt;b&gt;1x"), ("API_TOKEN", ACCENTS, html.escape(ACCENTS)),
     ("API_TOKEN", "Zq81<xx/44", "Zq81&lt;xx\\/44"),
     ("API_TOKEN", ACCENTS, normalize("NFD", ACCENTS)),
     ("API_TOKEN", normalize("NFD", ACCENTS), ACCENTS.upper())],
)  # fmt: skip
def test_a_secret_in_another_alphabet(name: str, value: str, text: str, monkeypatch) -> None:
    """Of what stands in base64, the first and the last characters are also of its neighbours."""
    monkeypatch.setenv(name, value)
    left = anonymous({"reason": f"refused {text}, of an account"})["reason"]
    assert re.fullmatch(r"refused [\w+/]{0,7}\(secret\)[\w+/=]{0,7}, of an account", left)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
def test_a_name_with_accents(form, other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", normalize(form, "zoé"))
    text = normalize(other, "zoé in /data/zoé/x, zoé@x and zoés")
    left = f"(user) in /data/(user)/x, (user)@x and {normalize(other, 'zoés')}"
    assert anonymous({"reason": text}) == {"reason": left}


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [("GH_PAT", "ghp_0123abcd", "ghp_0123abcd"), ("SENTRY_DSN", "https-4711-x", "https-4711-x"),
     ("DATABASE_URL", "postgres://u:pass-4711@host/x", "pass-4711"),
     ("SSH_KEY", LINES, LINES)],
)  # fmt: skip
@pytest.mark.parametrize(
    "spelling",
    [str, repr, lambda text: repr([repr(text), "'"]), json.dumps, quote, quote_plus,
     lambda text: " ".join(text.split()), lambda text: "".join(text.splitlines())],
)  # fmt: skip
def test_a_secret_however_it_is_spelled(
    name: str, value: str, secret: str, spelling: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv(name, value)
    left = anonymous({"reason": f"no {spelling(secret)}!"})["reason"]
    assert "(secret)" in left and not re.search("BEGIN|one|two|three|4711|0123", left)


@pytest.mark.parametrize(
    ("name", "value"),
    [("TF_VAR_db", "Zq81xxXX4433abcd"), ("SNAKEMAKE_STORAGE_S3", "Zq81xx4433"),
     ("SLURM_X", "Zq81xx4433"), ("SAMESTEP_X", "Zq81xx4433"), ("A_VERSION", "Zq81xx4433"),
     ("LESS_X", "Zq81xx4433"), ("PGPASSWORD", "hunter2"), ("HF_TOKEN", "abcdefg"),
     ("API_KEY", "a-b1"),
     ("SMTP_PASSWORD", "4711"), ("SAS", "sv=2022&sig=x"), ("X", "Passw0rd!"),
     ("SLACK", "https://hooks.slack.com/services/T0/B0/Xy12Zq"), ("URL", "ftp://u:pass1@h"),
     ("MY_BEARER", "correcthorse"), ("JSON", '{"private": "MIIEvQIBADANBgkqhkiG9w0"}'),
     ("STORAGE", "Protocol=https;AccountKey=abc12==;Suffix=net")],
)  # fmt: skip
def test_a_secret_that_is_short_or_of_any_variable(name, value, monkeypatch) -> None:
    monkeypatch.setenv(name, value)
    text = anonymous({"reason": f"{value} refused, '{value}'"})["reason"]
    assert value not in text and text.count("(secret)") == 2


KEY = "--BEGIN RSA PRIVATE KEY--\nMIIEvQIBADANBgkqhkiG9w0\n4433Zq81xx=\n--END RSA PRIVATE KEY--"


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [("DEPLOY_SSH_KEY", KEY, "4433Zq81xx="), ("DEPLOY_SSH_KEY", KEY, "MIIEvQIBADANBgkqhkiG9w0"),
     ("GCP_CREDENTIALS", json.dumps({"type": "account", "ids": ["9f3bKeyId77"]}), "9f3bKeyId77"),
     ("GCP_CREDENTIALS", json.dumps({"key": {"pem": KEY}}), "4433Zq81xx="),
     ("API_TOKEN", "Zq81xx4433", "Basic dXNlcjpacTgxeHg0NDMz"),
     ("API_TOKEN", "Zq81xx4433", "basic dXNlcjpacTgxeHg0NDM=")],
)  # fmt: skip
def test_a_part_of_a_secret_by_itself(name, value, part, monkeypatch) -> None:
    monkeypatch.setenv(name, value)
    left = anonymous({"reason": f"cannot load {part}, of an account"})["reason"]
    assert part.split()[-1] not in left and "(secret), of an account" in left


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, '{"a": 1e999}', "[null, 3]", "{}\n{"])
def test_a_secret_that_only_looks_like_json(broken, monkeypatch) -> None:
    monkeypatch.setenv("API_TOKEN", broken)
    assert anonymous({"reason": "no beads"}) == {"reason": "no beads"}


@pytest.mark.parametrize("name", ["API_TOKEN", "SOMETHING"])
@pytest.mark.parametrize("spell", [str, quote_plus])
def test_a_long_secret_is_masked_as_a_whole(name, spell, monkeypatch) -> None:
    """As long as a token with claims, or as a certificate."""
    random = np.random.default_rng(5)
    for size in (900, 9000):
        secret = base64.b64encode(random.bytes(size)).decode()
        monkeypatch.setenv(name, secret)
        left = anonymous({"reason": f"refused: {spell(secret)}, of an account"})["reason"]
        masked = left.removeprefix("refused: ").removesuffix(", of an account")
        assert "(secret)" in masked and len(masked.replace("(secret)", "")) < size / 20


@pytest.mark.parametrize("name", ["API_TOKEN", "SOMETHING"])
@pytest.mark.parametrize("value", ["://a:", "a ", "x/", "1.", "\\n", "a1-", "http://a/a1"])
def test_no_value_takes_long(name, value, monkeypatch) -> None:
    """Some of these took minutes, as long as patterns went back to each of their characters."""
    monkeypatch.setenv(name, value * (100_000 // len(value)))
    assert anonymous({"reason": "no beads"}) == {"reason": "no beads"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_TOKENS", "2048"), ("AUTH_TYPE", "basic"), ("KEY_DIR", "/data"), ("PASSWORD", "no"),
     ("DATA", "/data/sets:/more"), ("IMAGE", "ubuntu22.04"), ("DTYPE", "bfloat16"),
     ("RUN", "mnist-cnn"), ("BUILT", "2026-11-25"), ("INDEX", "https://pypi.org/simple"),
     ("GPU", "NVIDIA H100 80GB HBM3"), ("MODE", "noninteractive"), ("TERM", "xterm-256color"),
     ("SAMESTEP_MACHINE", "intel-xeon-2c-24gb-3681d7"), ("A_VERSION", "2.4.0a0+07cecf4168")],
)  # fmt: skip
def test_what_honest_texts_have_too_stays(name, value, monkeypatch) -> None:
    monkeypatch.setenv(name, value)
    said = {"reason": f"of {value} in {value}.", "name": value}
    assert anonymous(said) == said


def test_a_short_secret_names_a_row_and_is_none_inside_a_word(monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "abacus")
    row = {"framework": "abacus", "reason": "abacus, abacuses"}
    assert anonymous(row) == {**row, "reason": "(secret), abacuses"}
