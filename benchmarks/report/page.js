"use strict";
// Sorting is all that needs a script: the page reads the same without one.
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
        const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
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

// What is folded on the screen is printed, and what a link leads to is opened.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
function unfold() {
  const goal = location.hash && document.getElementById(location.hash.slice(1));
  for (let place = goal; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
  if (goal) goal.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();
