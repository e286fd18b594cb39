// All rows of a table of scores: searched and sorted in memory, shown page by page.
const showSegments = (box, data) => {
  const table = box.querySelector("table");
  const body = table.tBodies[0];
  const status = box.querySelector(".status");
  const pager = box.querySelector(".pager");
  const numeric = new Set(data.numeric);
  const metrics = new Set(data.metrics);
  const hidden = new Set(data.hidden);
  const state = { sort: null, direction: 1, query: "", category: "", size: 50, page: 0 };
  // Columns of sentences are wide, those of names are not.
  const long = new Set(data.columns.map((_, place) => place).filter((place) =>
    data.rows.some((row) => typeof row[place] === "string" && row[place].length > 24)));
  const ranges = new Map(data.metrics.map((place) => {
    let low = Infinity, high = -Infinity;
    for (const row of data.rows) {
      if (row[place] === null) continue;
      low = Math.min(low, row[place]);
      high = Math.max(high, row[place]);
    }
    return [place, [low, high]];
  }));
  const decimals = new Map([...numeric].map((place) => {
    const values = data.rows.map((row) => row[place]).filter((value) => value !== null);
    const whole = values.every((value) => Number.isInteger(value));
    return [place, whole ? 0 : values.every((value) => Math.abs(value) <= 2) ? 4 : 2];
  }));
  let texts = null; // lower-cased, made when first searched
  let chosen = data.rows.map((_, i) => i);

  const choose = () => {
    const query = state.query.trim().toLowerCase();
    if (query && texts === null) {
      texts = data.rows.map((row) => row.filter((cell) => typeof cell === "string").join("\n").toLowerCase());
    }
    chosen = [];
    for (let i = 0; i < data.rows.length; i += 1) {
      if (state.category && String(data.rows[i][data.category]) !== state.category) continue;
      if (query && !texts[i].includes(query)) continue;
      chosen.push(i);
    }
    if (state.sort !== null) {
      const place = state.sort;
      chosen.sort((a, b) => compare(data.rows[a][place], data.rows[b][place], state.direction) || a - b);
    }
    state.page = 0;
    draw();
  };

  const cellOf = (row, place, first) => {
    const cell = document.createElement(first ? "th" : "td");
    if (first) cell.scope = "row";
    const value = row[place];
    if (value === null) {
      cell.textContent = "–";
    } else if (numeric.has(place)) {
      cell.textContent = value.toFixed(decimals.get(place));
      cell.title = String(value);
    } else {
      cell.textContent = value;
      cell.dir = "auto";
    }
    if (numeric.has(place)) cell.classList.add("num");
    else cell.classList.add(long.has(place) ? "long" : "short");
    if (metrics.has(place) && value !== null) {
      const [low, high] = ranges.get(place);
      cell.classList.add("score");
      cell.style.setProperty("--share", `${high > low ? (100 * (value - low)) / (high - low) : 100}%`);
    }
    return cell;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(chosen.length / state.size));
    const start = state.page * state.size;
    const shown = data.columns.map((_, place) => place).filter((place) => !hidden.has(place));
    const rows = chosen.slice(start, start + state.size).map((i) => {
      const line = document.createElement("tr");
      line.append(...shown.map((place, k) => cellOf(data.rows[i], place, k === 0)));
      return line;
    });
    body.replaceChildren(...rows);
    const all = data.rows.length.toLocaleString("en-GB");
    const found = chosen.length.toLocaleString("en-GB");
    status.textContent = chosen.length === data.rows.length ? `${all} rows` : `${found} of ${all} rows match`;
    pager.querySelector(".where").textContent = `Page ${state.page + 1} of ${pages}`;
    pager.querySelector(".previous").disabled = state.page === 0;
    pager.querySelector(".next").disabled = state.page >= pages - 1;
  };

  const heads = () => {
    const row = table.tHead.rows[0];
    row.replaceChildren();
    data.columns.forEach((name, place) => {
      if (hidden.has(place)) return;
      const head = document.createElement("th");
      head.scope = "col";
      head.textContent = name;
      if (numeric.has(place)) head.classList.add("num");
      headButton(head, () => {
        const order = nextOrder(head);
        state.sort = place;
        state.direction = order === "ascending" ? 1 : -1;
        markOrder(head, order);
        choose();
        say(`Sorted by ${name}, ${order}`);
      });
      if (state.sort === place) head.setAttribute("aria-sort", state.direction === 1 ? "ascending" : "descending");
      row.append(head);
    });
  };

  // Paper has all rows that were chosen, if they are not too many; else it says which.
  const most = 1000;
  let held = null;
  window.addEventListener("beforeprint", () => {
    const start = state.page * state.size;
    const count = (value) => value.toLocaleString("en-GB");
    const which = chosen.length === data.rows.length ? "" : " that match";
    if (chosen.length <= most) {
      box.querySelector(".printed").textContent = `Printed: all ${count(chosen.length)} rows${which}.`;
      held = [state.size, state.page];
      [state.size, state.page] = [most, 0];
      draw();
    } else {
      const end = Math.min(start + state.size, chosen.length);
      box.querySelector(".printed").textContent =
        `Printed: rows ${count(start + 1)} to ${count(end)} of ${count(chosen.length)}${which}.`;
    }
  });
  window.addEventListener("afterprint", () => {
    if (held === null) return;
    [state.size, state.page] = held;
    held = null;
    draw();
  });

  const tools = box.querySelector(".tools");
  tools.querySelector("input").addEventListener("input", (event) => { state.query = event.target.value; choose(); });
  tools.querySelector(".size").addEventListener("change", (event) => {
    state.size = Number(event.target.value);
    state.page = 0;
    draw();
  });
  const category = tools.querySelector(".category");
  if (category) {
    for (const name of new Set(data.rows.map((row) => String(row[data.category])))) category.append(new Option(name, name));
    category.addEventListener("change", () => { state.category = category.value; choose(); });
  }
  const columns = tools.querySelector(".columns div");
  data.columns.forEach((name, place) => {
    const label = document.createElement("label");
    const box_ = document.createElement("input");
    box_.type = "checkbox";
    box_.checked = !hidden.has(place);
    box_.addEventListener("change", () => {
      if (box_.checked) hidden.delete(place); else hidden.add(place);
      heads();
      draw();
    });
    label.append(box_, name);
    columns.append(label);
  });
  pager.querySelector(".previous").addEventListener("click", () => { state.page -= 1; draw(); });
  pager.querySelector(".next").addEventListener("click", () => { state.page += 1; draw(); });
  tools.hidden = pager.hidden = false;
  heads();
  draw();
};

{
  const all = JSON.parse(document.getElementById("segments-data").textContent);
  for (const box of document.querySelectorAll(".segments")) showSegments(box, all[Number(box.dataset.segments)]);
}
