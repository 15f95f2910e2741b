"""Debian's Chromium, in which the committed reports are opened from disk with every other request
refused."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference study's report, rendered from its records."""
    from analysis.data.loading import load
    from analysis.report.page import write

    out = tmp_path_factory.mktemp("reference")
    write(load(sorted((ROOT / "reports" / "reference" / "machines").iterdir())), out)
    return out


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Open]:
    """Opens the report; after the test, nothing but the report may have been requested and
    nothing may have been written to the console."""
    contexts: list[Any] = []
    said: list[str] = []
    asked: list[str] = []

    def open_report(width: int = 1400, height: int = 900, dark: bool = False,
                    script: bool = True, at: str = "") -> Any:  # fmt: skip
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
        page.goto(f"{(report / 'report.html').as_uri()}{at}")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert said == []
    allowed = rf"data:|blob:|{re.escape((report / 'report.html').as_uri())}"
    assert [url for url in asked if not re.match(allowed, url)] == []
