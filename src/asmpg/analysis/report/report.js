"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.querySelectorAll("th")];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const compare = (one, other) => {
        const [a, b] = [one, other].map((row) => row.cells[column]);
        if (a.dataset.key === undefined) return a.textContent.localeCompare(b.textContent);
        const [x, y] = [Number(a.dataset.key), Number(b.dataset.key)];
        return x === y ? 0 : x - y;
      };
      const rows = [...body.rows].sort(compare);
      body.append(...(down ? rows.reverse() : rows));
    });
  });
}
