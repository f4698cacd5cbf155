// Sorting by any heading, by click or by keyboard (headings are buttons).

function sortValue(row, column) {
  const text = row.cells[column].dataset.value;
  const number = Number(text);
  return text === "" ? null : Number.isNaN(number) ? text.toLowerCase() : number;
}

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

// Gaps stay below in either direction.
function sortRows(table, column, descending) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows).map((row, place) => ({ row, place, value: sortValue(row, column) }));
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.place - b.place;
    return (descending ? -1 : 1) * compare(a.value, b.value) || a.place - b.place;
  });
  body.append(...rows.map((item) => item.row));
}

function makeSortable(table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", (event) => {
      const before = head.getAttribute("aria-sort");
      const first = event.currentTarget.dataset.better === "higher" ? "descending" : "ascending";
      const other = first === "descending" ? "ascending" : "descending";
      const now = before === first ? other : first;
      for (const cell of heads) cell.setAttribute("aria-sort", cell === head ? now : "none");
      sortRows(table, column, now === "descending");
    });
  });
}
