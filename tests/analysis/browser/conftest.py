"""Debian's Chromium, in which reports are opened from disk with every other request
refused."""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.recipe import Recipe
from tests.analysis.report.test_several_machines import TWO_MACHINES
from tests.analysis.synthetic import write
from tests.conftest import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
Open = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.all)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def rendered(folders: Iterable[Path], out: Path) -> Path:
    """A report of these machines' records."""
    from analysis.data.reading import load
    from analysis.literature.section import SECTION
    from analysis.report.page import write

    write([load([folder])[0] for folder in folders], out, further=[SECTION])
    return out


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference study's report, rendered from its records."""
    folders = sorted((ROOT / "reports" / "reference" / "machines").iterdir())
    return rendered(folders, tmp_path_factory.mktemp("reference"))


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two machines, from committed records."""
    return rendered(TWO_MACHINES, tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of as many contenders as adapters offer in `default`, `tuned` and one more each."""
    recipe = Recipe(
        frameworks=("pytorch", "tensorflow", "jax"),
        opted=[("pytorch", "compile"), ("tensorflow", "xla")],
        controls=[(0.0, 1.0), (0.1, 1.1)],
    )
    made = write(tmp_path_factory.mktemp("records") / "machine", recipe)
    return rendered([made], tmp_path_factory.mktemp("crowded"))


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Open]:
    """Opens a report, by default the reference study's; after the test, nothing but reports may
    have been requested and nothing may have been written to the console."""
    contexts: list[Any] = []
    said: list[str] = []
    asked: list[str] = []
    pages: list[str] = []

    def open_report(width: int = 1400, height: int = 900, dark: bool = False,
                    script: bool = True, at: str = "", of: Path = report) -> Any:  # fmt: skip
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            offline=True,
            accept_downloads=True,
        )
        contexts.append(context)
        context.set_default_timeout(5000)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        pages.append((of / "report.html").as_uri())
        page.goto(f"{pages[-1]}{at}")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert said == []
    allowed = "|".join(["data:", "blob:", *map(re.escape, pages)])
    assert [url for url in asked if not re.match(allowed, url)] == []
