"use strict";

// Without this script the page says all that it has to say. With it tables are sorted by a click on
// a heading, and a drawing names the point that is pointed at.

function sort(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const down = heads[column].getAttribute("aria-sort") === "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => order(value(a), value(b)) * (down ? -1 : 1));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column));
    head.append(button);
  });
}

for (const figure of document.querySelectorAll(".fronts figure")) {
  const readout = figure.querySelector(".readout");
  const tell = (event) => {
    const title = event.target.closest(".mark")?.querySelector("title");
    if (title) readout.textContent = title.textContent;
  };
  figure.addEventListener("pointerover", tell);
  figure.addEventListener("focusin", tell);
}
