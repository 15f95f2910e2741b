"use strict";
// What the page can do beyond being read. Without it the page is complete, as it stands.
document.documentElement.classList.add("scripted");
const all = (what, where = document) => [...where.querySelectorAll(what)];
const make = (tag, fields = {}, ...inside) => {
  const made = Object.assign(document.createElement(tag), fields);
  made.append(...inside);
  return made;
};

// A link into a closed section opens it.
function reveal(hash) {
  const target = document.getElementById(decodeURIComponent(hash.slice(1)));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  const own = target.querySelector(":scope > details");
  if (own) own.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", () => reveal(location.hash));
addEventListener("click", event => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link) return;
  const menu = link.closest(".menu");
  if (menu) menu.open = false;
  if (link.hash === location.hash) reveal(link.hash);
});
if (location.hash) reveal(location.hash);

// What is wider than the window can be scrolled with the keyboard, too.
const overflowing = new ResizeObserver(entries => {
  for (const { target } of entries) {
    const name = target.querySelector("caption, svg");
    if (target.scrollWidth > target.clientWidth + 1) {
      target.tabIndex = 0;
      target.setAttribute("role", "region");
      target.setAttribute("aria-label", name?.getAttribute("aria-label") ?? name?.textContent ?? "");
    } else {
      for (const one of ["tabindex", "role", "aria-label"]) target.removeAttribute(one);
    }
  }
});
all(".scroll").forEach(one => overflowing.observe(one));

// Sorting. What is not there comes last.
const plain = cell => cell.textContent.replace(/[\u2060,]/g, "").replace(/\u2212/g, "-").trim();
function compare(one, other, numbers) {
  if (!one || !other) return !one - !other;
  return numbers ? parseFloat(one) - parseFloat(other) : one.localeCompare(other, "en", { numeric: true });
}
function sort(table, place, descending) {
  const body = table.tBodies[0], rows = [...body.rows];
  const value = row => plain(row.cells[place]);
  const numbers = rows.every(row => !value(row) || !Number.isNaN(parseFloat(value(row))));
  rows.sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    return compare(a, b, numbers) * (descending && a && b ? -1 : 1);
  });
  body.append(...rows);
}
function sortable(table) {
  const headings = all("thead th", table);
  headings.forEach((heading, place) => {
    const button = make("button", { type: "button" }, ...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach(one => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(table, place, descending);
    });
  });
}

// Filtering, and the choice of what the others are compared with. A row that either leaves out
// is hidden.
function tools(table) {
  const shown = make("div", { className: "tools" });
  table.closest(".scroll").before(shown);
  return shown;
}
function show(table) {
  const wanted = (table.filter ?? "").toLowerCase().split(/\s+/);
  let left = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.replace(/\u2060/g, "").replace(/\u00a0/g, " ").toLowerCase();
    row.hidden = Boolean(row.other) || !wanted.every(word => text.includes(word));
    left += !row.hidden;
  }
  if (table.told) table.told.textContent = `${left} of ${table.tBodies[0].rows.length} rows`;
}
function filterable(table, place) {
  const field = make("input", { type: "search", autocomplete: "off" });
  table.told = make("output");
  field.addEventListener("input", () => { table.filter = field.value; show(table); });
  place.append(make("label", {}, "Rows with", field), table.told);
  show(table);
}
const REVERSE = { faster: "slower", slower: "faster" };
function reference(table, place, columns) {
  const rows = [...table.tBodies[0].rows].filter(row => row.dataset.exact);
  const sides = row => [columns.contender, columns.base].map(at => row.cells[at].textContent);
  for (const row of rows) row.original = [...row.cells].map(cell => cell.textContent);
  const names = [...new Set(rows.flatMap(sides))].sort();
  const choice = make("select", {}, make("option", { value: "" }, "all pairs"),
    ...names.map(name => make("option", { value: name }, name)));
  choice.addEventListener("change", () => {
    for (const row of rows) {
      row.original.forEach((text, at) => {
        if (row.cells[at].textContent !== text) row.cells[at].textContent = text;
      });
      row.cells[columns.verdict].className = `verdict ${plain(row.cells[columns.verdict]).replace(/ /g, "-")}`;
      const [contender, base] = sides(row);
      if (choice.value === contender) reverse(row, columns);
      row.other = choice.value && ![contender, base].includes(choice.value);
    }
    show(table);
  });
  place.append(make("label", {}, "Compared with", choice));
}
function reverse(row, columns) {
  const [ratio, low, high] = row.dataset.exact.split(" ").map(Number);
  const decimals = (row.original[columns.ratio].split(".")[1] ?? "").length;
  const inverse = value => (1 / value).toFixed(decimals);
  const put = (at, text) => { row.cells[at].textContent = text; };
  put(columns.contender, row.original[columns.base]);
  put(columns.base, row.original[columns.contender]);
  put(columns.ratio, inverse(ratio));
  if (low) put(columns.interval, `${inverse(high)} to ${inverse(low)}`);
  const verdict = row.original[columns.verdict];
  put(columns.verdict, REVERSE[verdict] ?? verdict);
  row.cells[columns.verdict].className = `verdict ${(REVERSE[verdict] ?? verdict).replace(/ /g, "-")}`;
}
for (const table of all(".table table")) {
  const rows = table.tBodies[0].rows.length;
  const headings = all("thead th", table).map(plain);
  const at = word => headings.findIndex(heading => heading.includes(word));
  const columns = { contender: at("contender"), base: at("compared with"), ratio: at("ratio"),
    interval: at("interval"), verdict: at("verdict") };
  if (rows > 2) sortable(table);
  const choosable = table.querySelector("tr[data-exact]") && Object.values(columns).every(one => one >= 0);
  if (!choosable && rows <= 12) continue;
  const place = tools(table);
  if (choosable) reference(table, place, columns);
  if (rows > 12) filterable(table, place);
}

// Files from this one file.
function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
function drawing(svg) {
  const copy = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.style.background = style.getPropertyValue("--paper");
  return new XMLSerializer().serializeToString(copy)
    .replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim())
    .replace(/currentcolor/gi, style.getPropertyValue("--ink").trim());
}
function unpacked({ cells, rows, order }) {
  let above = [];
  return order.map(number => {
    above = rows[number].split(",").map((place, n) => place === "" ? above[n] : place);
    return above.map(place => cells[place]).join(",");
  }).join("\n");
}
for (const link of all("a[data-from]")) {
  link.addEventListener("click", event => {
    event.preventDefault();
    const source = document.getElementById(link.dataset.from), svg = source.querySelector("svg");
    if (svg) save(link.download, drawing(svg), "image/svg+xml");
    else save(link.download, unpacked(JSON.parse(source.textContent)), "text/csv");
  });
}
