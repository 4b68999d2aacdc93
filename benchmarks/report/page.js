"use strict";
// Sorting, searching and unfolding are all that need a script: the page reads the same without one.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const known = [], unknown = [];
      for (const row of body.rows) {
        const cell = row.cells[column];
        const text = cell.dataset.value ?? (cell.firstElementChild?.getAttribute("aria-label") || cell.textContent);
        (text === "\u2013" ? unknown : known).push([row, text]);
      }
      known.sort((one, other) => compare(one[1], other[1]) * (down ? -1 : 1));
      body.append(...known.map(([row]) => row), ...unknown.map(([row]) => row));
    });
  });
}

function compare(one, other) {
  const difference = Number(one) - Number(other);
  return Number.isNaN(difference) ? one.localeCompare(other, "en", { numeric: true }) : difference;
}

// What a link leads to is opened, and on paper the families of figures are; claims and tables stay folded there.
function unfold() {
  const goal = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let place = goal; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
  if (goal) goal.scrollIntoView();
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.family:not([open])")];
  for (const folded of opened) folded.open = true;
});
addEventListener("afterprint", () => {
  for (const folded of opened) folded.open = false;
});
addEventListener("hashchange", unfold);
unfold();

// All claims at once.
const claims = [...document.querySelectorAll("details.claim")];
if (claims.length) {
  const button = document.createElement("button");
  button.type = "button";
  button.id = "unfold";
  button.textContent = "Open all claims";
  button.addEventListener("click", () => {
    const open = claims.some((claim) => !claim.open);
    for (const claim of claims) claim.open = open;
    button.textContent = open ? "Fold all claims" : "Open all claims";
  });
  claims[0].before(button);
}

// Searching: every word must occur in a claim, in a figure's caption, or in a row of a table.
const form = document.getElementById("search"), wanted = document.getElementById("wanted");
const hits = document.getElementById("hits"), MOST = 30;
let places;
function indexed() {
  const named = [...document.querySelectorAll("[data-kind]")].map((place) => ({
    id: place.id,
    name: place.dataset.name,
    kind: place.dataset.kind,
    texts: [place.querySelector("summary, figcaption, .told").textContent + " " + place.dataset.name],
  }));
  const tables = [...document.querySelectorAll("main table.sortable")].map((table) => ({
    id: table.id,
    name: table.caption.textContent,
    kind: "table",
    texts: [table.caption.textContent, ...[...table.tBodies[0].rows].map((row) =>
      [...row.cells].map((cell) => cell.textContent).join(" "))],
  }));
  const ofFigure = (place) => place.id.startsWith("numbers-");
  const all = [...named, ...tables.filter((place) => !ofFigure(place)), ...tables.filter(ofFigure)];
  for (const place of all) place.texts = place.texts.map((text) => text.toLowerCase());
  return all;
}
function search() {
  const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits.hidden = !words.length;
  if (!words.length) return;
  places ??= indexed();
  const found = [];
  for (const place of places) {
    const lines = place.texts.filter((text) => words.every((word) => text.includes(word))).length;
    if (lines) found.push([place, lines]);
  }
  const list = document.createElement("ol");
  for (const [place, lines] of found.slice(0, MOST)) {
    const item = document.createElement("li"), link = document.createElement("a"), note = document.createElement("small");
    link.href = "#" + place.id;
    link.textContent = place.name;
    note.textContent = place.kind === "table" ? ` table, ${lines} ${lines === 1 ? "place" : "places"}` : ` ${place.kind}`;
    link.append(note);
    item.append(link);
    list.append(item);
  }
  const rest = document.createElement("p");
  rest.textContent = found.length ? `${found.length} found` + (found.length > MOST ? `, the first ${MOST} are listed` : "") : "Nothing found";
  hits.replaceChildren(rest, list);
}
form.hidden = false;
wanted.addEventListener("input", search);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  hits.querySelector("a")?.click();
});
hits.addEventListener("click", (event) => {
  if (event.target.closest("a")) {
    hits.hidden = true;
    setTimeout(unfold);
  }
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hits.hidden = true;
});
