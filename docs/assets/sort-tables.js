// Tables of a page that has an element with the attribute data-sortable are sorted by a click on a column's head, or by
// Enter on it; another one turns the order round. Numbers are compared as numbers; empty cells stay last.
(function () {
  "use strict";
  function value(row, column) {
    var text = (row.cells[column] ? row.cells[column].textContent : "").trim();
    var found = /^(?:[a-z-]+ )?([+-]?\d*[.,]?\d+(?:,\d{3})*)/.exec(text.replace(/\u2212/g, "-"));
    return { text: text, number: found ? parseFloat(found[1].replace(/,/g, "")) : NaN };
  }
  function sort(table, column, down) {
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows).map(function (row) {
      return { row: row, key: value(row, column) };
    });
    rows.sort(function (a, b) {
      if (!a.key.text || !b.key.text) return (a.key.text ? 0 : 1) - (b.key.text ? 0 : 1);
      var numbers = !isNaN(a.key.number) && !isNaN(b.key.number);
      var order = numbers ? a.key.number - b.key.number : a.key.text.localeCompare(b.key.text, "en");
      return down ? -order : order;
    });
    rows.forEach(function (one) { body.appendChild(one.row); });
  }
  function prepare(table) {
    if (!table.tHead || !table.tBodies.length) return;
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      head.tabIndex = 0;
      head.style.cursor = "pointer";
      head.setAttribute("aria-sort", "none");
      function act() {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.setAttribute("aria-sort", "none"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      }
      head.addEventListener("click", act);
      head.addEventListener("keydown", function (event) { if (event.key === "Enter") act(); });
    });
  }
  document.addEventListener("DOMContentLoaded", function () {
    if (!document.querySelector("[data-sortable]")) return;
    Array.prototype.forEach.call(document.querySelectorAll("article table"), prepare);
  });
})();
