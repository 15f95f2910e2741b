"""Random studies: what the first screen says in words is what was planted."""

import re
from dataclasses import replace

import numpy as np
import pytest

from analysis.format import titled
from analysis.report.first import FirstScreen
from analysis.report.first.screen import screen
from analysis.report.prose import variant as in_words
from analysis.report.prose import workload as workload_title
from tests.analysis.recipe import Recipe
from tests.analysis.report.test_first_screen import Found, chapter

TITLES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
BASIC = Recipe(threads=(1,), rounds=4, replicates=5)
WITHIN = 0.1  # of the planted ratio: scatter of five replicates, and two digits
NUMBER = r"[\d,]+(?:\.\d+)?"


def study(seed: int, found: Found) -> tuple[Recipe, FirstScreen]:
    random = np.random.default_rng(seed)
    frameworks = tuple(random.permutation([*TITLES])[: random.integers(2, 4)])
    variants = ("default", "tuned")[: random.integers(1, 3)]
    workloads = BASIC.workloads[: random.integers(1, 3)]
    ms = {
        (w, f, v): float(np.exp(random.uniform(np.log(5), np.log(200))))
        for w in workloads
        for f in frameworks
        for v in variants
    }
    recipe = replace(
        BASIC, frameworks=frameworks, variants=variants, workloads=workloads, ms=ms, seed=seed,
        reference=str(frameworks[0]),
    )  # fmt: skip
    findings = found(recipe)
    with titled(findings.machine.titles):
        return recipe, screen(chapter(findings))


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.all) for n in range(6, 40))]
)
def test_sentences_say_what_was_planted(seed: int, found: Found) -> None:
    recipe, shown = study(seed, found)
    for text in (shown.headline, *shown.findings):
        assert re.search(r"[.!]$", text) and not re.search(r"nan|None|inf\b|  |\de[+-]\d", text)
    said = 0
    for name in recipe.variants:
        words = in_words(name)
        (line,) = [one for one in shown.findings if one.lower().startswith(f"{words.lower()}: ")]
        said += check(line, recipe, name)
    assert said >= len(recipe.workloads) * len(recipe.variants)
    headline(shown.headline, recipe)


def check(line: str, recipe: Recipe, variant: str) -> int:
    """Who is fastest in each part of the line, and each number of the others; how many were held
    against the truth."""
    compared, winners, where = 0, [""], [*recipe.workloads]
    for sentence in re.split(r"(?<=\.) ", line.partition(": ")[2]):
        where_now = [w for w in recipe.workloads if f"the {workload_title(w)}" in sentence]
        if found := re.match(r"(.+?) (?:is|are) fastest", sentence):
            winners = [f for f, title in TITLES.items() if re.search(rf"\b{title}\b", found[1])]
            where = where_now or [*recipe.workloads]
            for workload in where:
                first = min(recipe.ms[workload, f, variant] for f in recipe.frameworks)
                for framework in winners:
                    assert recipe.ms[workload, framework, variant] / first < 1 + WITHIN, line
                    compared += 1
            continue
        if sentence.startswith("Where slower, "):
            winners, where_now = [*recipe.frameworks], [*recipe.workloads]
        for part in re.split(
            r", (?!without)| and (?=[A-Z])", sentence.removeprefix("Where slower, ")
        ):
            (framework,) = [f for f, title in TITLES.items() if part.startswith(f"{title} ")]
            truths = [
                recipe.ms[w, framework, variant] / min(recipe.ms[w, f, variant] for f in winners)
                for w in where_now or where
            ]
            for text, unit in numbers(part):
                value = float(text.replace(",", ""))
                ratio = 1 + value / 100 if unit == "%" else value
                assert min(abs(ratio / truth - 1) for truth in truths) < WITHIN, line
                compared += 1
    return compared


def numbers(sentence: str) -> list[tuple[str, str]]:
    """`1.3` and `2` times, or percent."""
    found = []
    for low, high, unit in re.findall(rf"({NUMBER})(?: to ({NUMBER}))? (times|%)", sentence):
        found += [(value, unit) for value in (low, high) if value]
    return found


def headline(text: str, recipe: Recipe) -> None:
    """A framework that is fastest everywhere by far is named, and no other one is; that it is tuned
    in all of these places, too."""
    if len(recipe.frameworks) < 2:
        return
    best = {
        w: min((recipe.ms[w, f, v], f, v) for f in recipe.frameworks for v in recipe.variants)
        for w in recipe.workloads
    }
    for workload, (first, framework, _) in best.items():
        others = [
            recipe.ms[workload, f, v]
            for f in recipe.frameworks
            for v in recipe.variants
            if f != framework
        ]
        if min(others) / first < 1 + WITHIN:
            return
    if len({framework for _, framework, _ in best.values()}) == 1:
        (framework,) = {framework for _, framework, _ in best.values()}
        assert re.match(rf"(Tuned, )?{TITLES[framework]}†? is fastest", text), text
        near = {v for w, (first, _, _) in best.items() for v in recipe.variants
                if recipe.ms[w, framework, v] / first < 1 + WITHIN}  # fmt: skip
        if len(near) == 1:
            assert text.startswith("Tuned, ") is (near == {"tuned"}), text
    else:
        assert text.startswith("No framework is fastest everywhere."), text
