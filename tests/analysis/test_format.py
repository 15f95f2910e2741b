import io

import pytest

from analysis.format import (
    KNOWN,
    alike,
    any_encoding,
    crossed,
    large,
    percent,
    scientific,
    short,
    three,
    title,
    titled,
)


def test_three_significant_digits() -> None:
    values = [0.58, 12.345, 1234.5, 0.0213, 0, 9.999, 99.96, 0.9999, None]
    wanted = ["0.580", "12.3", "1,230", "0.0213", "0", "10.0", "100", "1.00", ""]
    assert [three(value) for value in values] == wanted


def test_an_interval_has_as_many_decimals_at_both_ends() -> None:
    assert alike(0.979, 0.9511, 1.0089) == ["0.979", "0.951", "1.009"]
    assert alike(111.2, 109.7, 112.8) == ["111", "110", "113"]
    assert alike(0.5, None, None) == ["0.500", "", ""]
    assert alike(0.3746, 0.0603, 2.33) == ["0.375", "0.060", "2.330"]
    assert alike(0.134, 2.31e-15, 7.8e12) == ["0.134", "2.3e-15", "7.8e12"]


def test_other_numbers() -> None:
    assert [percent(x) for x in (0.03, 0.95, 0.0417, 0.0042, 1.32, 4e5)] == [
        "3 %", "95 %", "4.17 %", "0.42 %", "132 %", "over 1,000 %",
    ]  # fmt: skip
    assert [scientific(x) for x in (3.14e-15, 3e-4, 0.0)] == ["3.1e-15", "3.0e-4", "0"]
    assert scientific(float("inf")) == "inf"
    assert [large(x, "B") for x in (12, 3.73e6, 4e8)] == ["12 B", "3.73 MB", "400 MB"]
    assert [short(x) for x in (0.001, 1e-8, 0.999)] == ["0.001", "1e-8", "0.999"]


def test_an_unknown_framework_is_shown_as_it_is() -> None:
    assert (title("pytorch"), title("abacus"), title("my_own")) == ("PyTorch", "abacus", "my_own")
    assert crossed([("mlp", "abacus", 1)]) == "mlp, abacus, 1 thread"


def test_titles_of_one_machine_end_with_its_chapter() -> None:
    with titled({**KNOWN, "abacus": "Abacus"}):
        assert (title("abacus"), title("jax")) == ("Abacus", "JAX")
        assert crossed([("mlp", "abacus", 1)]) == "mlp, Abacus, 1 thread"
    assert title("abacus") == "abacus"


def test_many_contenders_in_few_words() -> None:
    every = [(w, f, t) for w in ("mlp", "cnn") for f in ("pytorch", "jax") for t in (1, 2)]
    assert crossed(every) == "mlp and cnn, PyTorch and JAX, 1 and 2 threads"
    assert crossed(every[:1]) == "mlp, PyTorch, 1 thread"
    assert crossed(every[:-1]) == (
        "mlp, PyTorch and JAX, 1 and 2 threads; cnn, PyTorch, 1 and 2 threads; cnn, JAX, 1 thread"
    )
    assert crossed(every[1::2] + every[:1]) == (
        "mlp and cnn, PyTorch and JAX, 2 threads; mlp, PyTorch, 1 thread"
    )


def test_a_terminal_without_such_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    any_encoding()
    print("1.3 \u00d7 \u00b7 \u2020", flush=True)
    assert written.getvalue() == b"1.3 ? ? ?\n"
