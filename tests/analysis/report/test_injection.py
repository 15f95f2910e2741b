"""Messages in records are other people's text: none becomes a tag, a handler, a link, a
column, a formula, or a file elsewhere."""

import csv
import html
import json
import re
import shlex
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.data.reading import load
from analysis.findings.findings import FORMULA, cell, is_number
from analysis.format import CUT, DOLLAR, file_name, markdown_table, quoted, unquoted
from analysis.literature.section import SECTION
from analysis.repeats.page import Sheet
from analysis.report.layout import Rich
from analysis.report.markup import for_html, for_markdown
from analysis.report.page import write as write_report
from analysis.report.sections.comparing import comparisons
from analysis.report.sections.comparing.half_width import Advice
from analysis.report.terminal import lines
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.conftest import built_once
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import read_json, write_batches

VOID = ("meta", "br", "link", "img", "hr", "input", "source")
WORKLOAD = "script-alert-1"  # names are letters, digits and few marks: test_names.py
MACHINES = ("1e5..csv", "0-.html")
TAG = "<script>alert(1)</script>"
TITLES = {
    "pytorch": "Py|Torch `$a_b$` </script><b onclick=alert(3)> **strong** [own](../../docs/own.md)",
    "tensorflow": "[click](javascript:alert(4)) \\| *x* ` https://evil.example www.evil.example "
    "me@evil.example me&#64;evil.example me\\@evil.example",
}
OWN = "[own](../../docs/own.md) **strong** *loud* `code` _lean_ ~~gone~~"
TITLE = f"Costs $x^2$ and $\\frac{{ | </script> `]]> --> <!-- </title> {OWN}"
VARIANT = "sum.1-1"
PITFALL = "label $\\frac{ </text><script>alert(6)</script> | `"
REASON = (
    "\x1b[31mError\x1b[0m\x07: | a | b |\n<img src=x onerror=alert(7)>\n\n## heading\n"
    "[x](javascript:alert(8)) <https://evil.example> mailto:me@evil.example "
    f"{OWN} \\`code` \u202etxt.exe"
)
SETTING = "-2+3+cmd|' /C calc'!A0;=1+1"
COMMAND = "snakemake --config 'title=\"</code></script>```\n# heading\"'"


def made(folder: Path, machine: str, variant: str, trap: str, pitfall: str, reason: str) -> Path:
    recipe = Recipe(
        machine=machine, workloads=("mnist-cnn",), threads=(1,), replicates=3, rounds=4,
        seed=2 if folder.name == "1" else 1,  # two machines have times of their own
        controls=((0.0, 1.0), (0.1, 1.1)),
        opted=(("pytorch", variant),),
        pitfalls={("pytorch", trap): (pitfall, 1.5, 0.1)},
        absent={("mnist-cnn", 1, "tensorflow/tuned/cpu/1"): reason},
    )  # fmt: skip
    return write(folder, recipe)


def hostile(folder: Path, machine: str) -> Path:
    """The records of a study whose every text is an attack."""
    written = made(folder, machine, VARIANT, "trap-svg", PITFALL, REASON)
    return renamed(written, WORKLOAD, hostile_records)


def harmless(folder: Path, machine: str) -> Path:
    """The same study with plain names."""
    return made(folder, machine, "other", "trap-plain", "label", "Error")


def renamed(folder: Path, workload: str, change: Any) -> Path:
    """The study with another name for its workload, everywhere, and other records."""
    path = folder / "records.json"
    values = json.loads(path.read_text().replace('"mnist-cnn"', json.dumps(workload)))
    change(values)
    path.write_text(json.dumps(values))
    table = pq.read_table(folder / "batches.parquet")
    column = table.schema.get_field_index("workload")
    table = table.set_column(column, "workload", pa.array([workload] * table.num_rows))
    write_batches(folder / "batches.parquet", table)
    return folder


def hostile_records(values: dict[str, Any]) -> None:
    values["study"] |= {"title": TITLE, "titles": TITLES, "command": COMMAND}
    for record in values["datasets"]:
        record["source"] = f"=HYPERLINK(1) {TAG} | a"
    for contest in values["contests"]:
        contest["code"]["commit"] = "=1+1"
        contest["system_info"] |= {"summary": f"]]></svg>{TAG}", "+key</td>": "\t=1"}
        for contender in contest["contenders"]:
            if contender["settings"]:
                contender["settings"] |= {
                    "blas": SETTING + contender["framework"],
                    "@odd | </td>": "<b>",
                }
    for certificate in values["certificates"]:
        for row in certificate["rows"]:
            row["cause"] = f"=cause {REASON}" if row["status"] == "refused" else ""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The report of two hostile machines, and that of two harmless ones."""
    base = built_once(tmp_path_factory, "injection", write_both)
    return report_in(base, hostile), report_in(base, harmless)


def write_both(base: Path) -> None:
    for kind, names in ((hostile, MACHINES), (harmless, ("one", "two"))):
        folders = [kind(base / kind.__name__ / str(n), name) for n, name in enumerate(names)]
        chapters = write_report(load(folders), report_in(base, kind), further=[SECTION])
        said = "\n".join(line for chapter in chapters for line in lines(chapter))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", said)


def report_in(base: Path, kind: Callable[[Path, str], Path]) -> Path:
    return base / kind.__name__ / "in" / "a" / "deep" / "folder" / "report"


class Tags(HTMLParser):
    """The elements of a page: tags with the names of their attributes, and what could act."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.kinds: set[tuple[str, str]] = set()
        self.links: set[str] = set()
        self.open: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.kinds |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        values = dict(attrs)
        self.links |= {values[name] or "" for name in ("href", "src", "xlink:href", "action")
                       if name in values}  # fmt: skip
        if tag == "script":
            self.scripts.append((values, []))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[-1][1].append(data)


def test_no_element_of_theirs_is_on_the_page(reports: tuple[Path, Path]) -> None:
    theirs, plain = (Tags((out / "report.html").read_text()) for out in reports)
    assert theirs.kinds == plain.kinds and not theirs.open
    assert not any(name.startswith("on") for _, name in theirs.kinds)
    assert not any(re.match(r"\s*(javascript|data|vbscript):", link, re.I) for link in theirs.links)
    files = {path.relative_to(reports[0]).as_posix() for path in reports[0].rglob("*")}
    ours = r"#|\.\./\.\./docs/(method\.md#[a-z-]+|repeatability\.md|why\.md)$"
    assert all(re.match(ours, link) or link in files for link in theirs.links)


def test_marks_of_theirs_are_shown_and_are_no_marks(reports: tuple[Path, Path]) -> None:
    """Links to pages, code and emphasis, which the report's own texts have."""
    page, text = ((reports[0] / f"report.{kind}").read_text() for kind in ("html", "md"))
    assert "own.md" not in str(Tags(page).links) and "](../../docs/own.md" not in text
    assert not re.search("<(b|i|code)>(strong|loud|code)<", page)
    assert html.unescape(page).count(OWN) > 5
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert r"\*\*strong\*\* \*loud\* \`code\` \_lean_ \~\~gone\~~" in outside
    assert not re.search(r"(?<!\\)(\*\*?|`)(strong|loud|code)", outside)


def test_scripts_of_the_page_are_its_own(reports: tuple[Path, Path]) -> None:
    """Those that run are the same in both reports; data among them is the text of a file."""
    theirs, plain = (Tags((out / "report.html").read_text()).scripts for out in reports)
    assert len(theirs) == len(plain)
    for (attributes, own), (_, usual) in zip(theirs, plain, strict=True):
        if attributes.get("type") in (None, "module", "text/javascript"):
            assert "".join(own) == "".join(usual) and "alert(" not in "".join(own)
        else:
            assert "<!--" not in "".join(own)  # after it, </script> may not end the element


def test_drawings_are_strict_xml_without_anything_active(reports: tuple[Path, Path]) -> None:
    kinds: list[set[str]] = []
    for out in reports:
        kinds.append(set())
        for path in sorted((out / "figures").glob("*.svg")):
            root = ElementTree.fromstring(path.read_text())
            for element in root.iter():
                kinds[-1].add(str(element.tag))
                for name, value in element.attrib.items():
                    assert not name.lower().startswith("on")
                    assert not name.endswith("href") or value.startswith("#")
    assert kinds[0] and kinds[0] <= kinds[1]
    assert not any("script" in kind or "foreignObject" in kind for kind in kinds[0])


def raw_tags(text: str) -> set[str]:
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {tag.split()[0] for tag in re.findall(r"</?[A-Za-z!][^\s>]*", outside)}


def test_markdown_has_its_own_tags_links_headings_and_columns(reports: tuple[Path, Path]) -> None:
    theirs, plain = ((out / "report.md").read_text() for out in reports)
    assert raw_tags(theirs.replace(CUT, "").replace(DOLLAR, "")) <= raw_tags(plain)
    assert "$" not in re.sub(r"```.*?```", "", theirs.replace(DOLLAR, ""), flags=re.DOTALL)
    assert f"https:{CUT}//evil.example" in theirs
    # What GitHub makes a link by itself, also if it is an entity or behind a backslash.
    assert not re.search(r"://|www\.|@\S|&#", theirs.replace(f"@{CUT}", ""))
    assert "](javascript:" not in theirs
    links = re.findall(r"(?<!\\)\]\(([^)]*)\)", theirs)
    assert all(not re.match(r"\w+:", link) for link in links)
    headings = [line for line in theirs.splitlines() if line.startswith("#")]
    expected = [line for line in plain.splitlines() if line.startswith("#")]
    assert len(headings) == len(expected) and "## heading" not in headings
    tables, usual = (re.findall(r"(?:^\|.*\n)+", text, re.M) for text in (theirs, plain))
    assert [table.count("\n") for table in tables] == [table.count("\n") for table in usual]
    assert sum(map(len, tables)) > 1000
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table
    assert sum(line.startswith("```") for line in theirs.splitlines()) % 2 == 0


def test_a_command_to_copy_names_folders_as_one_word_each(reports: tuple[Path, Path]) -> None:
    page = html.unescape((reports[0] / "report.html").read_text())
    (command,) = re.findall(r"<code>(python -m analysis [^\n]*)</code>", page)
    folders = [f"reports/default/machines/{name}" for name in MACHINES]
    words = ["python", "-m", "analysis", *sorted(folders), "--out", "reports/default"]
    assert sorted(shlex.split(command)) == sorted(words)


def test_no_cell_of_a_table_is_a_formula(reports: tuple[Path, Path]) -> None:
    apostrophes = 0
    for path in sorted((reports[0] / "tables").glob("*.csv")):
        with path.open(newline="") as file:
            first, *rows = csv.reader(file)
        for row in rows:
            assert len(row) == len(first), path.name
            for text in row:
                assert not FORMULA.match(text) or is_number(text), f"{path.name}: {text}"
                apostrophes += text.startswith("'")
        for row in csv.reader(path.read_text().splitlines(), delimiter=";"):
            assert not any(map(FORMULA.match, row)), f"{path.name}: {row}"
    assert apostrophes > 5


def test_nothing_is_written_elsewhere(reports: tuple[Path, Path]) -> None:
    for out in reports:
        allowed = {"report.html", "report.md", "figures", "tables"}
        assert {path.name for path in out.iterdir()} == allowed
        for parent, name in ((out.parent, "report"), (out.parents[1], "folder")):
            assert [path.name for path in parent.iterdir()] == [name]
        for path in out.rglob("*"):
            assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name), path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=1+1", "'=1+1"), ("+a", "'+a"), ("-a", "'-a"), ("@a", "'@a"), ("\t=1", "'\t'=1"),
        ("\ra", "'\ra"), ("\uff1d1+1", "'\uff1d1+1"), ("a=1", "a=1"), ("", ""), (" =1", " =1"),
        ("a;=1+1", "a;'=1+1"), ("=a;@b\t-c\n+d", "'=a;'@b\t'-c\n'+d"), ("a; =1;b", "a; =1;b"),
        (-1, "-1"), (-0.5, "-0.5"), ("-0.5", "-0.5"), ("+1e-08", "+1e-08"), ("-2+3", "'-2+3"),
        (float("-inf"), "-inf"), (True, "yes"), (None, ""),
    ],
)  # fmt: skip
def test_a_cell_of_a_file(value: Any, text: str) -> None:
    assert cell(value) == text


def test_a_cell_in_markdown() -> None:
    table = markdown_table(["a", "b|c"], [["x\n| y", "<b>[t](u) 3 < 4 \\|"]])
    head, line, row = table.splitlines()
    assert head == "| a | b\\|c |" and line == "| --- | --- |"
    assert row == "| x \\| y | &lt;b>[t]\\(u) 3 < 4 \\| |"


@pytest.mark.parametrize(
    "link", ["ftp://e.example", "WWW.e.example", "a+b.c@e.example", "(http://e", r"a\@-e.example"]
)
def test_a_link_is_shown_as_text(link: str) -> None:
    _, _, row = markdown_table(["a"], [[link]]).splitlines()
    assert row.replace(CUT, "") == f"| {link} |" and CUT in row
    assert markdown_table(["a"], [["a&commat;b &lt;"]]).endswith("| a&amp;commat;b &lt; |")


def test_marks_are_the_reports_own() -> None:
    theirs, own = f"{OWN} \\` `", "`a` *b* [c](../../docs/c.md)"
    shown = r"[own]\(../../docs/own.md) \*\*strong\*\* \*loud\* \`code\` \_lean_ \~\~gone\~~ \` \`"
    assert for_markdown(theirs) == shown == quoted(quoted(theirs))
    assert Sheet(["a"], [[theirs]]).markdown().endswith(f"| {shown} |")
    assert for_markdown(Rich(f"{own} {quoted(theirs)}")) == f"{own} {shown}"
    page = str(for_html(Rich(f"{own} {quoted(theirs)}")))
    marked = '<code>a</code> <i>b</i> <a href="../../docs/c.md">c</a>'
    assert page.startswith(marked) and "<" not in page.removeprefix(marked)
    assert html.unescape(page).endswith(f"{OWN} ` `") and unquoted(quoted(OWN)) == OWN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("_x_ __y__, (_z_)", r"\_x_ \_\_y_\_, (\_z_)"),
        ("learning_rate a_b_ _ ", "learning_rate a_b_ _ "),
        ("~x~ and ~~y~~.", r"\~x~ and \~\~y\~\~."),
        ("in ~/x, ~ 5", "in ~/x, ~ 5"),
        ("$x$ and US$", f"{DOLLAR}x{DOLLAR} and US{DOLLAR}"),
    ],
)
def test_emphasis_and_formulas_are_shown_as_text(text: str, shown: str) -> None:
    assert for_markdown(text) == shown
    assert quoted(quoted(text)) == quoted(text) and unquoted(quoted(text)) == text
    assert html.unescape(str(for_html(Rich(quoted(text))))) == text


def test_a_part_of_a_file_name() -> None:
    assert file_name("intel-xeon-2c-24gb-3681d7") == "intel-xeon-2c-24gb-3681d7"
    assert file_name("../../etc/passwd") == "etc-passwd" and file_name("..") == "unnamed"


def test_records_are_read_without_control_characters(tmp_path: Path) -> None:
    folder = hostile(tmp_path / "one", MACHINES[0])
    records = read_json(folder / "records.json", MachineRecords)
    (reason,) = {c.reason for x in records.contests for c in x.contenders if "Error" in c.reason}
    assert reason.startswith("Error: | a | b |\n<img") and reason.endswith(" txt.exe")


def opened_and_saved(playwright: Any, chromium: str, out: Path) -> tuple[int, list[str]]:
    """How many files were saved, and everything that ran, failed or asked for a network."""
    events: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.on("dialog", lambda dialog: (events.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: events.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(("file:", "data:", "blob:"))
                or events.append(asked.url))  # fmt: skip
        for path in [*sorted(out.glob("figures/*.svg")), out / "report.html"]:
            page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for button in page.locator("thead button").all():
            button.click()
        saved = page.locator("a[data-from^=csv-]").all()[:6]  # a browser stops a page at ten
        for link in saved:
            with page.expect_download() as download:
                link.click()
            name = download.value.suggested_filename
            text = Path(download.value.path()).read_bytes()
            assert text == (out / "tables" / name).read_bytes()
        browser.close()
    return len(saved), events


def test_nothing_of_theirs_runs_in_a_browser(reports: tuple[Path, Path]) -> None:
    """Pages and drawings are opened, sections unfolded, columns sorted, and files saved."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    # In a thread of its own, because another test's browser may be open in this one.
    with ThreadPoolExecutor(1) as thread:
        saved, events = thread.submit(opened_and_saved, playwright, chromium, reports[0]).result()
    assert saved and events == []


@pytest.mark.parametrize("command", ["```", "a ```` b", "plain"])
def test_a_command_does_not_end_its_fence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The command that is advised is the recorded one with more replicates."""
    monkeypatch.setattr(comparisons, "advice", lambda *given: Advice(["More."], command))
    folder = made(tmp_path / "one", "here", "other", "trap-x", "x", "x")
    write_report(load([folder]), tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    (mark,) = re.findall(rf"^(`+)\n{re.escape(command)}\n\1$", text, re.M)
    assert mark not in command
