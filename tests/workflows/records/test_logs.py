"""Logs stay on their machine. They keep folders and names, and no secret."""

import io
import timeit
from functools import partial
from types import SimpleNamespace

import pytest

from workflows.certify import stage
from workflows.certify.runs import Reference
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.private import CUT_OFF, LOG, mask_log, without_secrets
from workflows.worker.process import WorkerDied

TOKEN = "planted04-9f3a"


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)


@pytest.mark.parametrize("log", [b"", b"honest \xff words\n" * 3, b"ab\n" * 2**20])
def test_a_log_keeps_its_end_without_secrets(log, tmp_path) -> None:
    honest, leaking = tmp_path / "honest.log", tmp_path / "leaking.log"
    honest.write_bytes(log)
    leaking.write_bytes(log + f"no {TOKEN} at /home/me\n".encode())
    for path in (honest, leaking):
        with path.open("a+b") as file:
            mask_log(file)
    kept = log if len(log) <= LOG else log[CUT_OFF - LOG :].partition(b"\n")[2]
    assert honest.read_bytes() == kept and len(kept) > min(len(log) - 1, LOG - CUT_OFF - 4)
    left = leaking.read_text(errors="replace")
    assert left.endswith("no (secret) at /home/me\n") and len(left) <= LOG


@pytest.mark.parametrize("between", ["\n", " "])
def test_no_half_of_a_secret_begins_a_log(between, tmp_path) -> None:
    """Wherever the cut is. A log of a single line keeps its end, too."""
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0B\n" * 130
    for secret in (TOKEN, key):
        for kept in range(1, len(secret), max(1, len(secret) // 14)):
            log = tmp_path / "log"
            end = between + "y" * (LOG - kept - 1)
            log.write_text("x" + secret + end)
            with log.open("a+b") as file:
                mask_log(file)
            left = log.read_text()
            assert set(left) == {"y"} and LOG - CUT_OFF - len(secret) < len(left) < LOG


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path) -> None:
    log = tmp_path / "log"
    log.write_text(TOKEN)
    with log.open("rb") as file:
        mask_log(file)
    assert log.read_text() == TOKEN


@pytest.mark.parametrize(
    "word",
    ["https://", "token:", "sk-", "hf_a", "eyJ", "sshpass ", "password: ", "pat 1-", "passwd-",
     "token_a", "pass=", "pass: ", "secret is ", "x-", "x-token-", "x-a: x-key", "cookie: ", "?key",
     "curl -u ", "curl -u a", "curl '-u', \"a", "mysql -p", "docker login ", "redis-cli -a '",
     "SG.", "SG.a1bcdefgh ", "npm_", "pypi-", "ya29.", "AIza", "ASIA ", "ASIA", "sk_live_", "hvs.",
     "-----BEGIN PGP PRIVATE KEY BLOCK-----", "-----BEGIN ", "secret\\", "token  ", "key = "],
)  # fmt: skip
def test_a_word_that_is_repeated_takes_no_minutes(word) -> None:
    """Four times the text takes about four times as long, and not sixteen times."""
    times = []
    for size in (2**14, 2**16):
        text = word * (size // len(word))
        times.append(min(timeit.repeat(partial(without_secrets, text), number=1, repeat=3)))
    print(f"{word!r}: {times[0]:.3f} s, {times[1]:.3f} s")
    assert times[1] < 10 * times[0] + 0.05


def test_progress_in_a_file_has_no_secret(tmp_path) -> None:
    out = io.StringIO()
    with Progress(1, "detect", log=tmp_path / "log", stream=out) as progress:
        progress.note(f"refused: {TOKEN}")
    for text in ((tmp_path / "log").read_text(), out.getvalue()):
        assert "detect · refused: (secret)" in text


def test_why_a_reference_failed_has_no_secret(tmp_path, monkeypatch) -> None:
    def fail(*given):
        raise WorkerDied(f"no {TOKEN}")

    monkeypatch.setattr(stage, "run_reference", fail)
    study = SimpleNamespace(workload=lambda name: SimpleNamespace(elementwise=False))
    reference = SimpleNamespace(
        name="a/b/cpu/1",
        framework="pytorch",
        variant="default",
        device="cpu",
        threads=1,
        on_host=True,
    )
    plan, folders = SimpleNamespace(study=study, reference=reference), Folders(tmp_path)
    with Progress(1, "", stream=io.StringIO()) as progress:
        stage.make_reference(plan, "mlp", folders, progress)
    found = Reference(folders.reference("mlp")).failure
    assert found == "the reference a/b/cpu/1 failed: no (secret)"
