// Heads of sortable tables become buttons. Numbers sort by their full value, what is not defined comes last.
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

const compare = (a, b, direction) => {
  if (a === null || b === null) return (a === null) - (b === null);
  return direction * (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b));
};

const headButton = (head, onClick) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  const arrow = document.createElement("span");
  arrow.className = "order";
  arrow.setAttribute("aria-hidden", "true");
  button.append(arrow);
  button.addEventListener("click", onClick);
  head.append(button);
};

// Numbers start with the largest, names with A.
const nextOrder = (head) => {
  const first = head.classList.contains("num") ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  return head.getAttribute("aria-sort") === first ? other : first;
};

const markOrder = (head, order) => {
  for (const sibling of head.parentElement.children) sibling.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
};

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const name = head.textContent;
    const key = (row) => {
      const cell = row.cells[place];
      if (!head.classList.contains("num")) return cell.textContent;
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    };
    headButton(head, () => {
      const order = nextOrder(head);
      const direction = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
      rows.sort((a, b) => compare(a[0], b[0], direction));
      table.tBodies[0].append(...rows.map(([, row]) => row));
      markOrder(head, order);
      say(`${table.caption.textContent}: sorted by ${name}, ${order}`);
    });
  });
}

// A table that is wider than its place fades out at the edge behind which there is more.
const edges = (box) => {
  box.classList.toggle("over", box.scrollWidth > box.clientWidth + 1);
  box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
};

{
  const boxes = [...document.querySelectorAll(".scroll")];
  const seen = new ResizeObserver((found) => { for (const one of found) edges(one.target.closest(".scroll")); });
  for (const box of boxes) {
    box.addEventListener("scroll", () => edges(box), { passive: true });
    seen.observe(box);
    if (box.firstElementChild) seen.observe(box.firstElementChild);
  }
}
