// Cells know the heads of their columns, so that depl.css can show rows as cards on a phone.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table.docutils")) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    if (!heads.length || table.querySelector("[colspan], [rowspan]")) continue;
    table.classList.add("cards");
    for (const row of table.querySelectorAll("tbody tr"))
      [...row.cells].forEach((cell, place) => { cell.dataset.head = heads[place] ?? ""; });
  }
});
