"""Secrets, names and folders are planted everywhere, and nothing that is written has them."""

import os
import platform
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.data.reading import load
from analysis.report.page import write as write_report
from frameworks.variables import FLAGS
from tests.analysis.recipe import ENVIRONMENT, Recipe
from tests.analysis.synthetic import write
from tests.conftest import ROOT, package
from workflows.environments.stage import Built
from workflows.machine.tuning import LONGEST, variables
from workflows.records.machine_folder import open_machine, read_machine, write_machine
from workflows.records.machine_records import MachineRecords
from workflows.records.private import HARMLESS, HOLDS_SECRET, anonymous, cut
from workflows.records.storage import read_json, write_json
from workflows.stages.collect import collect
from workflows.worker.answers import line
from workflows.worker.border import REASON, TEXT, as_setting, explain

NAMES = (
    "AWS_SECRET_ACCESS_KEY", "TF_TOKEN_app_terraform_io", "TF_VAR_password", "JAX_API_KEY",
    "HF_TOKEN", "XLA_SECRET", "CUDA_PASSWORD", "TORCH_HUB_TOKEN", "KERAS_KEY", "MKL_LICENSE_KEY",
    "NVIDIA_API_KEY", "OMP_TOKEN", "WANDB_API_KEY", "GITHUB_TOKEN", "MALLOC_SECRET", "PGPASSWORD",
    "TF_CLI_CONFIG_FILE", "JAX_COORDINATOR_ADDRESS", "PYTORCH_LOGIN", "UNHEARD_OF",
    "AZURE_STORAGE_CONNECTION_STRING", "SLACK_HOOK", "MY_BEARER", "SAS", "GIT_ASKING",
)  # fmt: skip
SECRETS = {name: f"planted{number:02}-9f3a" for number, name in enumerate(NAMES)}
SHORT = {"DB_PASSWORD": "hunter2", "MY_TOKEN": "qwxzv", "VAULT_PIN": "774411"}
PRINTED = ("HF_TOKEN", "PYTORCH_LOGIN", "UNHEARD_OF", "SLACK_HOOK")  # by a framework
USER, HOST, HOME = "jane-doe", "node17.cluster.example", "/data/home of/jane-doe"
MESSAGE = (
    f"FileNotFoundError: {HOME}/.cache/weights of {USER} on {HOST}, "
    f"{', '.join([*map(SECRETS.get, PRINTED), *SHORT.values()])} refused, see /home/john/log and "
    f"/Users/john/log, /opt/{USER}/x, "
    f"{sys.prefix}/lib/python3/site-packages/torch/nn.py, /opt/secretive/bin/python3.11 -c"
)
NEVER = (
    *SECRETS.values(),
    *SHORT.values(),
    USER,
    HOST,
    "node17",
    HOME,
    "john",
    "secretive",
    "alice",
    "planted-1x",
    "planted-2x",
    sys.prefix,
)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | SHORT).items():
        monkeypatch.setenv(name, value)
    for name, value in (("USER", USER), ("HOME", HOME), ("HOSTNAME", HOST)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to={HOME}/dump --xla_cpu_use_fusion=false")
    monkeypatch.setenv("LD_PRELOAD", f"/opt/{USER}/libtcmalloc.so.4")
    monkeypatch.setenv("GLIBC_TUNABLES", "~alice/lib.so ~alice/x/y.so")
    monkeypatch.setenv("JAX_PLATFORMS", "--xla_auth=planted-1x --xla_cache_pw=planted-2x")
    monkeypatch.setenv("TF_XLA_FLAGS", "https://jane:word@example.org/x")
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setattr(socket, "gethostname", lambda: HOST)


def leaks(folder: Path) -> Iterator[str]:
    """Whatever was planted, in any file and any name of a file below the folder, also in what is
    packed. Logs and the request of a study stay on their machine. They have names and folders, and
    no secret."""
    for path in folder.rglob("*"):
        if path.is_dir():
            continue
        content = path.read_bytes()
        if path.suffix == ".zst":
            content = pa.input_stream(str(path), compression="zstd").read()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            content += repr((table.to_pydict(), table.schema.metadata)).encode()
        local = "logs" in path.parts or path.name == "study.json"
        for one in SECRETS.values() if local else NEVER:
            if one.encode() in content or one in path.name:
                yield f"{path.relative_to(folder)}: {one}"


def test_only_named_variables_are_recorded(planted: None) -> None:
    found = variables()
    assert set(found) <= set(FLAGS) and not set(found) & set(SECRETS)
    assert found["LD_PRELOAD"] == ".../libtcmalloc.so.4" and found["TF_XLA_FLAGS"] == "..."
    assert "--xla_cpu_use_fusion=false" in found["XLA_FLAGS"] and "/data" not in str(found)
    assert found["GLIBC_TUNABLES"] == ".../lib.so .../y.so"


def test_the_list_names_what_is_known_to_change_times() -> None:
    assert {"TF_ENABLE_ONEDNN_OPTS", "GLIBC_TUNABLES", "LD_PRELOAD", "XLA_FLAGS"} <= set(FLAGS)
    assert [*FLAGS] == sorted(set(FLAGS)) and not any(n.endswith("_THREADS") for n in FLAGS)
    assert HARMLESS.issuperset(FLAGS) and not any(map(HOLDS_SECRET.search, HARMLESS))


def test_a_value_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "x" * 10_000)
    assert len(variables()["XLA_FLAGS"]) == LONGEST


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"no {HOME}/x", "no ~/x"),
        ("in /home/john/.venv/bin/python", "in .../bin/python"),
        ("/home/john: no", "~: no"),
        ("/root/any-study/x", "~/any-study/x"),
        (f"{USER}@{HOST} and node17", "(user)@(host) and (host)"),
        (f"not {USER}s", f"not {USER}s"),
        ("libcudart.so.12: no file in /usr/lib", "libcudart.so.12: no file in /usr/lib"),
        ("half \udcff", "half ?"),
        ("http://jane:hunter2pass@proxy:80/x", "http://(secret)@proxy:80/x"),
        ("postgres://u:p@w@host", "postgres://(secret)@host"),
        (
            "--token=abc12 --xla_key=a,api_key=b;c",
            "--token=(secret) --xla_key=a,api_key=(secret);c",
        ),
        ("postgres://u:p/w@host/x", "postgres://(secret)@host/x"),
        ("see ../../home/alice/x and ../home.py", "see ~/x and ../home.py"),
        ("git+https://x.org/a@v1", "git+https://x.org/a@v1"),
        ("see https://x.org/home/page", "see https://x.org/home/page"),
        ("in file:///home/other/x", "in file:~/x"),
        ("in /mnt/home/other/x, /var/home/other", "in ~/x, ~"),
        ("-L/home/other/lib -I/export/home/other", "-L~/lib -I~"),
        ("/home//other/x", "~/x"),
        (f"{USER.title()} and {USER.upper()}", "(user) and (user)"),
        ("abacus/home/cpu/1", "abacus/home/cpu/1"),
        ("in ~alice/x, ~bob/y and ~5/3", "in ~/x, ~/y and ~5/3"),
        ("in C:\\Users\\alice\\x and d:/Users/alice/x", "in ~\\x and ~/x"),
        (
            "--xla_auth=Sup3r --credential=abc9 --xla_cache_pw=hunter2z auth=None",
            "--xla_auth=(secret) --credential=(secret) --xla_cache_pw=(secret) auth=None",
        ),
        ("password: hunter9", "password: (secret)"),
        ('{"api_key": "ab-99"}', '{"api_key": "(secret)"}'),
        ("no\nAuthorization: x dXNlcjpw Zm9v==\nmore", "no\nAuthorization: (secret)\nmore"),
        ("'Proxy-Authorization': 'Digest a=\"b\"'", "'Proxy-Authorization': (secret)"),
        (
            "sshpass -p Zq81xx ssh a, sshpass -p'a b' c",
            "sshpass -p (secret) ssh a, sshpass -p(secret) c",
        ),
        ("https://x.org/a?sv=1&sig=abcd%3D&se=2", "https://x.org/a?sv=1&sig=(secret)&se=2"),
        ("X-Amz-Signature=ab12cd34 sig=Zq81/xx+4=", "X-Amz-Signature=(secret) sig=(secret)"),
        ("token qrstuv22x and ghp_01ab23 refused", "token (secret) and ghp_01ab23 refused"),
        ("token=ghp_01ab23, Bearer hf_01ab23cd", "token=(secret), Bearer (secret)"),
        (
            'password = Hunter2xyz9, api_key = "abcd1234"',
            'password = (secret), api_key = "(secret)"',
        ),
        (
            f"401 for hf_{'abCD12' * 4}, ghp_{'0123ab' * 4} and AKIA{'0AB1' * 4}",
            "401 for (secret), (secret) and (secret)",
        ),
        ("Bearer eyJhbGciOi.eyJzdWIiOiI.doz-gjk no", "Bearer (secret) no"),
        (
            "no -----BEGIN RSA PRIVATE KEY-----\nMIIE ab+/=\n-----END RSA PRIVATE KEY-----",
            "no (secret)-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_a_reason(planted: None, text: str, left: str) -> None:
    assert anonymous({"reason": text}) == {"reason": left}


@pytest.mark.parametrize(
    ("user", "text", "left"),
    [
        ("jo", "in /a/jo/x, -L/opt/jo and ../jo.", "in /a/(user)/x, -L/opt/(user) and ../(user)."),
        ("jo", "jo@node and https://x.org/jo/y", "(user)@node and https://x.org/(user)/y"),
        ("jo", "join jo, a/jo/x, /jo.txt and ajo@b", "join jo, a/jo/x, /jo.txt and ajo@b"),
        ("or", "and/or, either/or/x", "and/or, either/or/x"),
        ("max", "max_pool of max, mini-max", "max_pool of (user), mini-max"),
        (USER, f"/work/users/{USER}-tmp, {USER}_data", "/work/users/(user)-tmp, (user)_data"),
        (USER, f"my_{USER}.log, {USER}s, x{USER}", f"my_(user).log, {USER}s, x{USER}"),
        ("batch", "a mini-batch in /batch", "a mini-batch in /batch"),
    ],
)
def test_names_of_users(user, text, left, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", user)
    assert anonymous({"reason": text}) == {"reason": left}


@pytest.mark.parametrize(
    "text",
    ["token 5 is unknown", "key: value", "KeyError: key=conv2d_1", "a tokens data set",
     "unexpected token: layer3.conv2d_12/kernel", "token float32", "token dense_12 of 2048 tokens",
     "bearer token", "no password: required", "author: x1y2z3a4", "signature=(None, 32)",
     "input_signature=[TensorSpec(shape=(32,))]", "signature=Signature2(x)", "signature=serving",
     "the forward pass 12a", "secret sharing", "spin 12ab34cd", "hash keys=32", "auth=basic",
     "authority: nobody", "a basic block conv2d_12", "basic training of 128 steps",
     "a pathological pattern 12345abcdef", "~ 5 % and x ~y", "sk-learn-of-another-version",
     "hf_transformers_library", "sorted(x, key=conv2d_12) by key=lambda", "KeyError: 'weights'",
     "monkey=Zq81xx4433", "pass=1 of 3, pass=3", "pass=12000ms", "pass=forward", "bypass=conv2d12",
     "forward pass: 12000ms", "HLO pass: gemm-rewriter-fp8", "pytest -p no:cacheprovider",
     "python -u run.py", "curl -u", "run -u 1000:1000", "mysql -P 3306, -port", "of ya29.x",
     "AIzaAbcdefghijklmnopqrstuvw", "ASIAPACIFICREGIONS", "npm_config_cache_of_version12",
     "pypi-attestations-of-version-0-12", "SG.module.layer12", "hvs.decode", "x-axis: 12abc",
     "pad_token_id=50256, eos_token_id=2", "token_type_ids=tensor([5, 6])",
     "token_embeddings=Embedding(50257, 768)", "token: Embedding(50257, 768)",
     "password_required=True, password_length=12", "secretary=x1y2z3a4", "the token is unknown",
     "tokenizer=gpt2tokenizer12", "see s.conv2d", "the signing key is lost", "secret_key=None",
     "SECRETARY=x1y2z3a4", "secret_parts: two", "tokenIds=5, tokenSpan(12)=conv2d",
     "-----BEGIN PGP PUBLIC KEY BLOCK-----"],
)  # fmt: skip
def test_an_honest_reason_stays(planted: None, text: str) -> None:
    assert anonymous({"reason": text}) == {"reason": text}


LONG = "Zq81xx4433abcdZq81xx4433abcd"


@pytest.mark.parametrize(
    "text",
    ["secret_key=(Zq81xx4433)", "secretKey: (Zq81xx4433)", "encryption_key=(Zq81xx4433)",
     "signing_key = (Zq81xx4433)", "master-key=(Zq81xx4433)", "pass=(Zq81xx4433)",
     "db_pass=(hunter2)", "pass: (Zq81xx4433)", "psk=(Zq81)", "token_id=(Zq81xx4433)",
     "db_password_ro=(correct)", "tokenId: (Zq81xx4433)",
     'private_key_id": "(Zq81xx44)"', "dbPasswordRo=(Zq81)", "API_KEYS=(Zq81)", "passcode=(Zq81)",
     "api key: (Zq81xx4433)", "Password is: (Zq81xx4433)",
     "the token was (Zq81xx4433)", "'token': b'(Zq81xx4433)'", 'pass": "(Zq81xx4433)"',
     r'{\"pwd\": \"(Zq81xx4433)"}', "password == '(Zq81)'", "'token' => '(Zq81)'",
     "x.org/a?key=(Zq81)", "x.org/a?v=1&key=(Zq81)", "X-Vault-Token: (s.Zq81xx4433abcd)",
     "X-Auth-Token: (abcdefgh)", "Set-Cookie: (sid=s%3AZq81.abc; Path=/)",
     "token: (s.Zq81xx4433abcd)", "curl -u (admin:Zq81xx4433)", "curl -s -u(me:a) https://x.org",
     "['curl', '-u', ('me:Zq81')]", "curl --user ('me:a b') x", "mysql -p(Zq81xx4433)",
     "mysqldump -u me -p(Zq81) db", "['sshpass', '-p', ('Zq81'), 'ssh']",
     "docker login -u me -p (Zq81) x", "redis-cli -a (Zq81) get",
     "(-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nab+/=\n)-----END", f"(sk_live_{LONG}) no",
     f"(rk_test_{LONG})", f"(AIzaSy{LONG}-_a)", "(ASIAZQ81XX4433ABCD00)", f"(npm_{LONG})",
     f"(pypi-AgEI{LONG})", f"(dckr_pat_{LONG})", f"(ya29.a0{LONG}_x)", f"(SG.{LONG}.{LONG})",
     f"(hvs.{LONG})"],
)  # fmt: skip
def test_a_secret_that_a_text_names(text: str) -> None:
    """In brackets, which are not there."""
    before, _, rest = text.partition("(")
    secret, _, after = rest.rpartition(")")
    left = anonymous({"reason": f"{before}{secret}{after}"})["reason"]
    assert left == f"{before}(secret){after}"


def test_a_password_of_any_length_is_masked_in_an_address() -> None:
    address = f"https://me:{'Zq8/xx4433' * 200}@host/index"
    assert anonymous({"reason": f"cannot open {address}"})["reason"] == (
        "cannot open https://(secret)@host/index"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("X_KEY", "precision"), ("HOSTNAME", "optimiser"),
     *(pytest.param(*each, marks=pytest.mark.all) for each in (
         ("MY_TOKEN", "optimiser"), ("PASS", "mnist-cnn"), ("AUTHOR2", "learning_rate"),
         ("K_KEY", "sparse_cross_entropy"), ("A_KEY", "agrees"),
         ("GIT_AUTHOR_DATE", "2026-11-22"), ("LOGNAME", "compilation")))],
)  # fmt: skip
def test_our_own_words_do_not_damage_a_record(name, value, monkeypatch) -> None:
    """Nothing that is measured is lost because a variable or a host has a word of records."""
    (folder,) = (ROOT / "reports/reference/machines").iterdir()
    records, _ = open_machine(folder)
    written = records.model_dump(mode="json")
    monkeypatch.setenv(name, value)
    again = MachineRecords.model_validate(anonymous(written)).model_dump(mode="json")
    kept = ("machine", "workloads", "datasets")
    assert [again[key] for key in kept] == [written[key] for key in kept]
    for own, other in zip(again["contests"], written["contests"], strict=True):
        assert [own[key] for key in ("started", "order")] == [
            other[k] for k in ("started", "order")
        ]
        for one, two in zip(own["contenders"], other["contenders"], strict=True):
            assert one["settings"].keys() == two["settings"].keys()


def test_what_names_a_row_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users may have the name of a framework."""
    monkeypatch.setenv("USER", "abacus")
    monkeypatch.setenv("HOME", "/root")
    row = {"framework": "abacus", "name": "abacus/root/cpu/1", "reason": "abacus has none"}
    assert anonymous({"missing": [row]}) == {"missing": [{**row, "reason": "(user) has none"}]}


def test_an_interpreter_and_a_folder_are_their_last_part(planted: None) -> None:
    asked = {"interpreters": {"jax": "/opt/x/bin/python3"}, "mnist": {"folder": "/x/mnist"}}
    kept = {"interpreters": {"jax": "python3"}, "mnist": {"folder": "mnist"}}
    assert anonymous({"configuration": asked}) == {"configuration": kept}


def test_a_local_record_keeps_its_paths(planted: None, tmp_path: Path) -> None:
    write_json(tmp_path / "jax.json", Built(framework="jax", folder=f"{HOME}/jax"))
    assert read_json(tmp_path / "jax.json", Built).folder == f"{HOME}/jax"


def test_records_and_report_have_nothing_of_it(planted: None, tmp_path: Path) -> None:
    recipe = Recipe(
        workloads=("mnist-cnn",), threads=(1,), replicates=2, rounds=3,
        absent={("mnist-cnn", 1, "tensorflow/tuned/cpu/1"): MESSAGE},
        system_info={**ENVIRONMENT, "variables": variables(), HOST: MESSAGE},
    )  # fmt: skip
    before = write(tmp_path / "results", recipe)
    records, batches = read_machine(before)
    asked = records.study
    asked.command = f"snakemake --configfile {HOME}/mine.yaml"
    asked.configuration |= {"interpreters": {"jax": f"/opt/{USER}/bin/python"}}
    records.datasets[0].source = MESSAGE
    for row in records.certificates[0].rows:
        row.reason = MESSAGE
    row.status, row.cause = "refused", MESSAGE
    for contender in records.contests[0].contenders:
        contender.settings |= {"blas": MESSAGE, HOST: USER}
    folder = tmp_path / "reports" / "machines" / recipe.machine
    write_machine(folder, records, batches)
    write_report(load([folder]), tmp_path / "reports")
    assert list(leaks(tmp_path)) == []
    page = (tmp_path / "reports" / "report.html").read_text()
    assert re.search(r"FileNotFoundError: ~/\.cache/weights of \(user\) on \(host\)", page)


@pytest.mark.all
def test_a_study_leaves_nothing_of_it(planted, study, abacus, tmp_path, monkeypatch) -> None:
    """Messages come from an adapter in a process of its own, through every real writer."""
    with package("faulty") as folder:
        monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{abacus}")
        variants = ["raises-names", "none"]
        made = study(
            contenders=[{"framework": "abacus"}, {"framework": "faulty", "variants": variants}],
            certificate={"steps": 10, "optimisers": []},
        )
        record, _ = made.contest()
        made.certificate("abacus")
        made.certificate("faulty")
        out = tmp_path / "reports" / "machines" / "here"
        write_machine(out, *collect(made.folders))
    reasons = {one.variant: one.reason for one in record.contenders}
    assert list((made.folders.logs).rglob("*.log"))
    assert reasons["raises-names"] == "OSError: cannot open ~/x of (user) with the token (secret)"
    write_report(load([out]), tmp_path / "reports")
    printed = [log.read_text() for log in made.folders.logs.rglob("*.log")]
    assert any("with the token (secret)" in text for text in printed)
    assert made.folders.study.name == "study.json" and list(leaks(tmp_path)) == []


@pytest.mark.parametrize("kept", range(10, 60, 7))
def test_half_a_secret_is_not_what_a_cut_leaves(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    secret = "ghx_8Jk2mQ7vLw9ZtR4pXc6B"
    monkeypatch.setenv("SOME_TOKEN", secret)
    said = f"401 for {secret} at the gate, and more" * 20
    assert secret[:6] not in cut(said, kept) and len(cut(said, kept)) == kept
    assert secret[:6] not in line(said, kept)
    assert cut("short", 5) == "short"


def test_reasons_and_settings_are_masked_before_they_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "ghx_8Jk2mQ7vLw9ZtR4pXc6B"
    monkeypatch.setenv("SOME_TOKEN", secret)
    reason = explain(ValueError("x" * (REASON - 10) + secret))
    assert "ghx_" not in reason and len(reason) > REASON
    assert "ghx_" not in str(as_setting("key", "x" * (TEXT - 10) + secret))
