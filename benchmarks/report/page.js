"use strict";
// A click on a heading sorts its table by that column; another click turns the order round.
document.addEventListener("click", (event) => {
  const heading = event.target.closest("thead th");
  if (!heading) return;
  const place = heading.cellIndex, body = heading.closest("table").tBodies[0];
  const upward = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", upward ? "ascending" : "descending");
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const order = (one, two) => "value" in one.dataset && "value" in two.dataset
    ? one.dataset.value - two.dataset.value : compare(one.textContent, two.textContent);
  const rows = [...body.rows].sort((one, two) => order(one.cells[place], two.cells[place]));
  body.append(...(upward ? rows : rows.reverse()));
});
