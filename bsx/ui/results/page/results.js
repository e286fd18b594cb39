// The page of a run: the list of segments, the selection, what is taken away.
import { Data, ends } from "./data.js";
import { diff } from "./diff.js";
import { Grid } from "./grid.js";

/** @typedef {import("./data.js").Columns} Columns */
/** @typedef {import("./data.js").Choice} Choice */

const own = `/results/${/** @type {HTMLElement} */ (document.querySelector("script[data-run]")).dataset.run}`;
const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const count = (/** @type {number} */ value) => value.toLocaleString("en-GB");
const announce = (/** @type {string} */ text) => { $("announce").textContent = text; };

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node|string)} content
 * @returns {any}
 */
const make = (tag, attributes = {}, ...content) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
};

/** @param {string} path @param {RequestInit} [how] */
const ask = async (path, how) => {
  const answer = await fetch(`${own}${path}`, how);
  if (answer.ok) return answer;
  let said = `The server answered ${answer.status}.`;
  try { said = (await answer.clone().json()).error ?? said; } catch { /* no JSON */ }
  throw Object.assign(new Error(said), { answer });
};

// ---------------------------------------------------------------- what is kept

/** Segments that are kept, with their notes; saved at once, and never over what another tab has written. */
class Selection {
  constructor() {
    /** @type {Map<string, string>} as this page shows them */
    this.notes = new Map();
    /** @type {Map<string, string>} as the server knows them */
    this.known = new Map();
    /** @type {Map<string, Promise<void>>} */
    this.saving = new Map();
    this.changed = () => {};
  }

  async read() {
    const content = await (await ask("/selection")).json();
    this.take(content, new Set([...this.saving.keys()]));
  }

  /** @param {{segments: Record<string, {note: string}>}} content @param {Set<string>} but segments that are being saved */
  take(content, but = new Set()) {
    const now = new Map(Object.entries(content.segments).map(([name, one]) => [name, one.note]));
    for (const name of new Set([...now.keys(), ...this.notes.keys()])) {
      if (but.has(name)) continue;
      if (now.has(name)) this.notes.set(name, /** @type {string} */ (now.get(name)));
      else this.notes.delete(name);
    }
    this.known = now;
    this.changed();
  }

  /** @param {string} name @param {string | null} note */
  set(name, note) {
    if (note === null) this.notes.delete(name); else this.notes.set(name, note);
    this.changed();
    return this.save(name);
  }

  /** @param {string} name */
  save(name) {
    const before = this.saving.get(name) ?? Promise.resolve();
    const after = before.then(() => this.send(name)).finally(() => { if (this.saving.get(name) === after) this.saving.delete(name); });
    this.saving.set(name, after);
    return after;
  }

  /** @param {string} name */
  async send(name) {
    for (let turn = 0; turn < 5; turn += 1) {
      const was = this.known.get(name) ?? null, note = this.notes.get(name) ?? null;
      if (was === note) return;
      const answer = await fetch(`${own}/selection`, {
        method: "POST", keepalive: true, headers: { "content-type": "application/json" },
        body: JSON.stringify({ segment: name, was, note }),
      });
      const content = await answer.json();
      if (answer.ok) {
        this.take(content, new Set([...this.saving.keys()]));
        $("kept-status").dataset.saved = String(content.version);
        return;
      }
      if (answer.status !== 409) { announce(`Not saved: ${content.error}`); $("kept-status").textContent = `Not saved: ${content.error}`; return; }
      const theirs = content.segments[name]?.note ?? null;
      this.take(content, new Set([...this.saving.keys()]));
      if (note === null && theirs !== null) {
        this.notes.set(name, theirs);
        announce(`Another tab has changed the note of ${name}: it stays.`);
      } else if (note !== null && theirs !== null && theirs !== note) {
        this.notes.set(name, [theirs, note].filter(Boolean).join("\n"));
        announce(`Another tab has changed the note of ${name}: both texts are kept.`);
      }
      this.changed();
    }
  }
}

// ---------------------------------------------------------------- the list

/** @param {Columns} columns @param {Float64Array} values */
const browse = async (columns, values) => {
  const data = new Data(columns, values);
  const selection = new Selection();
  const { systems, metrics } = columns;
  /** @type {Map<string, number[]>} */
  const placesOf = new Map();
  columns.segments.forEach((name, place) => { placesOf.set(name, [...(placesOf.get(name) ?? []), place]); });
  const kept = new Uint8Array(data.size);
  /** @type {Map<number, Promise<void>>} */
  const fetched = new Map();

  const digits = metrics.map((_, metric) => {
    const start = metric * systems.length * data.size;
    const [low, high] = ends(values.subarray(start, start + systems.length * data.size));
    return Math.max(Math.abs(low), Math.abs(high)) <= 2 ? 4 : 2;
  });
  const spelled = (/** @type {number} */ value, /** @type {number} */ metric) => (Number.isNaN(value) ? "–" : value.toFixed(digits[metric]));

  // Systems by their mean under the first metric: the best comes first.
  const mean = (/** @type {number} */ system) => {
    let sum = 0, n = 0;
    for (const value of data.scores(0, system)) if (!Number.isNaN(value)) { sum += value; n += 1; }
    return n ? (metrics[0].higher ? sum / n : -sum / n) : -Infinity;
  };
  const best = systems.map((_, i) => i).sort((x, y) => (metrics.length ? mean(y) - mean(x) : 0) || x - y);

  /** @type {Choice} */
  const choice = {
    metric: 0, other: metrics.length > 1 ? 1 : 0, a: best[0], b: best.length > 1 ? best[1] : -1,
    sort: best.length > 1 ? "difference" : "score", down: best.length > 1, query: "", document: -1,
    shortest: 0, longest: Infinity, low: -Infinity, high: Infinity, gap: 0, keptOnly: false,
  };
  let marks = "reference";

  const column = (/** @type {string} */ role, /** @type {string | undefined} */ name) =>
    columns.texts.findIndex((one) => one.role === role && (name === undefined || one.name === name));
  const sides = () => [
    ...columns.texts.map((one, i) => ({ ...one, i })).filter((one) => one.role !== "candidate"),
    ...[choice.a, choice.b].filter((system) => system >= 0).map((system) => ({ role: "candidate", name: systems[system], i: column("candidate", systems[system]) })),
  ].filter((one) => one.i >= 0);

  /** @param {number} i @returns {Promise<void>} */
  const need = (i) => {
    if (!fetched.has(i)) {
      fetched.set(i, (async () => { data.texts.set(i, await (await ask(`/texts/${i}`)).json()); })().catch((error) => { fetched.delete(i); throw error; }));
    }
    return /** @type {Promise<void>} */ (fetched.get(i));
  };
  let warming = 0;
  const needed = async () => {
    await Promise.all(sides().map((one) => need(one.i)));
    // Texts and orders are made ready for searching and sorting while nobody waits.
    const sorts = /** @type {Choice["sort"][]} */ ([...$("sort").options].map((/** @type {HTMLOptionElement} */ one) => one.value));
    const ready = [
      () => data.searchable(sides().map((one) => one.i)),
      ...sorts.flatMap((sort) => [true, false].map((down) => () => data.order({ ...choice, sort, down }))),
    ];
    warming += 1;
    const turn = warming;
    const next = () => {
      const job = turn === warming ? ready.shift() : undefined;
      if (job === undefined) { if (turn === warming) document.documentElement.dataset.warm = String(turn); return; }
      job();
      (window.requestIdleCallback ?? window.setTimeout)(next);
    };
    (window.requestIdleCallback ?? window.setTimeout)(next);
  };
  const textOf = (/** @type {number} */ i, /** @type {number} */ place) => (i < 0 ? null : data.texts.get(i)?.[place] ?? null);

  /** The pieces of each text of a segment, marked as the reader asked. @param {number} place */
  const marked = (place) => {
    const shown = sides();
    const reference = textOf(column("reference", undefined), place);
    const texts = shown.map((one) => textOf(one.i, place));
    const candidates = shown.map((one, k) => k).filter((k) => shown[k].role === "candidate");
    /** @type {Map<number, Node[]>} */
    const nodes = new Map();
    const put = (/** @type {number} */ k, /** @type {{text: string, differs: boolean}[]} */ pieces, look = "") => {
      nodes.set(k, pieces.map((piece) => (piece.differs ? make("mark", look ? { class: look } : {}, piece.text) : document.createTextNode(piece.text))));
    };
    if (marks === "reference" && reference !== null) {
      candidates.forEach((k, turn) => {
        const text = texts[k];
        if (text === null) return;
        const [left, right] = diff(reference, text);
        put(k, right);
        if (turn === 0) put(shown.findIndex((one) => one.role === "reference"), left, "absent");
      });
    } else if (marks === "systems" && candidates.length === 2 && texts[candidates[0]] !== null && texts[candidates[1]] !== null) {
      const [left, right] = diff(/** @type {string} */ (texts[candidates[0]]), /** @type {string} */ (texts[candidates[1]]));
      put(candidates[0], left);
      put(candidates[1], right);
    }
    return shown.map((one, k) => ({ ...one, text: texts[k], nodes: nodes.get(k) }));
  };

  /** @param {number} place @param {{role: string, name: string, text: string | null, nodes?: Node[]}[]} texts */
  const listed = (place, texts) => {
    const list = make("dl");
    for (const one of texts) {
      const lang = one.role === "source" ? columns.languages.source : columns.languages.target;
      const said = make("dd", { dir: "auto", ...(lang ? { lang } : {}) });
      if (!data.texts.has(/** @type {any} */ (one).i)) said.append(make("span", { class: "missing" }, "…"));
      else if (one.text === null) said.append(make("span", { class: "missing" }, "(none)"));
      else if (one.text === "") said.append(make("span", { class: "missing" }, "(empty)"));
      else said.append(...(one.nodes ?? [one.text]));
      list.append(make("div", { class: "pair" }, make("dt", {}, make("bdi", {}, one.name)), said));
    }
    return list;
  };

  /** @param {number} place */
  const figures = (place) => {
    const two = choice.b >= 0;
    const head = make("tr", {}, make("td"), make("th", { scope: "col", class: "num", dir: "auto", title: systems[choice.a] }, systems[choice.a]),
      ...(two ? [make("th", { scope: "col", class: "num", dir: "auto", title: systems[choice.b] }, systems[choice.b])] : []));
    const rows = metrics.map((metric, m) => {
      const x = data.scores(m, choice.a)[place], y = two ? data.scores(m, choice.b)[place] : NaN;
      const better = Number.isNaN(x) || Number.isNaN(y) || x === y ? 0 : (x > y) === metric.higher ? 1 : 2;
      const cell = (/** @type {number} */ value, /** @type {boolean} */ wins) => make("td", { class: `num${wins ? " better" : ""}`, title: Number.isNaN(value) ? "no score" : String(value) }, spelled(value, m));
      return make("tr", {}, make("th", { scope: "row", dir: "auto", title: metric.name }, `${metric.title}${metric.higher ? "" : " ↓"}`), cell(x, better === 1), ...(two ? [cell(y, better === 2)] : []));
    });
    return make("table", { class: "figures" }, make("caption", { class: "sr" }, `Scores of ${columns.segments[place]}`), make("thead", {}, head), make("tbody", {}, ...rows));
  };

  /** @param {string} name @param {string} label */
  const noteField = (name, label) => {
    const field = make("textarea", { "aria-label": label, maxlength: "10000", dir: "auto", rows: "1" });
    field.value = selection.notes.get(name) ?? "";
    let timer = 0;
    const save = () => { window.clearTimeout(timer); if (selection.notes.has(name)) selection.save(name); };
    field.addEventListener("input", () => {
      selection.notes.set(name, field.value);
      window.clearTimeout(timer);
      timer = window.setTimeout(save, 400);
    });
    field.addEventListener("change", save);
    return field;
  };

  const alignable = column("reference", undefined) >= 0 && !columns.readOnly;
  /** @param {number} place */
  const row = (place) => {
    const name = columns.segments[place];
    const box = make("input", { type: "checkbox", ...(columns.readOnly ? { disabled: "" } : {}), "aria-label": `Keep ${name}` });
    box.checked = kept[place] === 1;
    box.addEventListener("change", () => { void selection.set(name, box.checked ? "" : null); });
    const first = make("div", {}, make("span", { class: "keep" }, box, make("span", { class: "name", dir: "auto" }, name)));
    if (columns.documentNames.length > 1) first.append(make("span", { class: "from", dir: "auto" }, columns.documentNames[data.documents[place]]));
    const second = make("div", {}, listed(place, marked(place)));
    if (kept[place]) second.append(make("label", { class: "noted" }, "Note", noteField(name, `Note on ${name}`)));
    const actions = make("div", { class: "actions" });
    if (alignable) {
      for (const system of [choice.a, choice.b].filter((one) => one >= 0)) {
        if (column("candidate", systems[system]) < 0) continue;
        const button = make("button", { type: "button", class: "pill", "aria-label": `Token alignment of ${systems[system]}, ${name}` }, choice.b >= 0 ? `Align ${systems[system]}` : "Align tokens");
        button.addEventListener("click", () => { void align(system, place); });
        actions.append(button);
      }
    }
    const third = make("div", {}, figures(place), actions);
    const made = make("div", { class: kept[place] ? "row is-kept" : "row" }, first, second, third);
    return made;
  };

  let texts = 1; // how many a row has
  const guess = (/** @type {number} */ place, /** @type {number} */ width) => {
    const narrow = width < 768;
    const letters = Math.max(20, (narrow ? width - 30 : width - 530) / 8.5);
    const lines = texts * Math.ceil((data.lengths[place] || 1) / letters);
    const high = lines * 25 + texts * (width < 1200 ? 26 : 6) + 20;
    const scores = (metrics.length + 1) * 25 + 60;
    return Math.round(narrow ? high + scores + 50 : Math.max(high, scores));
  };

  const grid = new Grid($("grid"), /** @type {HTMLElement} */ ($("grid").querySelector(".gridbody")), {
    row, guess,
    key: (event, place) => {
      const name = columns.segments[place];
      if (event.key === " " && !columns.readOnly) {
        void selection.set(name, selection.notes.has(name) ? null : "");
        announce(`${name} is ${selection.notes.has(name) ? "kept" : "kept no longer"}`);
        return true;
      }
      if (event.key.toLowerCase() === "n" && !columns.readOnly) {
        if (!selection.notes.has(name)) void selection.set(name, "");
        grid.drawn.get(grid.active)?.querySelector("textarea")?.focus();
        return true;
      }
      if (event.key.toLowerCase() === "a" && alignable) { void align(choice.a, place); return true; }
      return false;
    },
  });

  // ---------------------------------------------------------------- choosing

  const option = (/** @type {string|number} */ value, /** @type {string} */ text) => new Option(text, String(value));
  const fill = (/** @type {string} */ id, /** @type {HTMLOptionElement[]} */ options, /** @type {string|number} */ value) => {
    $(id).replaceChildren(...options);
    $(id).value = String(value);
  };
  const ordered = best.map((system) => option(system, systems[system]));
  fill("a", ordered.map((one) => /** @type {HTMLOptionElement} */ (one.cloneNode(true))), choice.a);
  fill("b", [option(-1, "none"), ...ordered], choice.b);
  fill("metric", metrics.map((one, i) => option(i, one.title)), choice.metric);
  fill("other", metrics.map((one, i) => option(i, one.title)), choice.other);
  fill("document", [option(-1, "all"), ...columns.documentNames.map((name, i) => option(i, name || "(none)"))], -1);
  $("document-box").hidden = columns.documentNames.length < 2;

  const options = () => {
    /** @type {[string, string][]} */
    const sorts = [["place", "order of the file"], ["score", "score"]];
    if (choice.b >= 0) sorts.push(["difference", "difference of the two systems"]);
    if (metrics.length > 1) sorts.push(["disagreement", "disagreement of two metrics"]);
    sorts.push(["length", "length"]);
    if (!sorts.some(([value]) => value === choice.sort)) choice.sort = "score";
    fill("sort", sorts.map(([value, text]) => option(value, text)), choice.sort);
    /** @type {[string, string][]} */
    const ways = [];
    if (column("reference", undefined) >= 0) ways.push(["reference", "what differs from the reference"]);
    if (choice.b >= 0) ways.push(["systems", "what the two systems differ in"]);
    ways.push(["", "nothing"]);
    if (!ways.some(([value]) => value === marks)) marks = ways[0][0];
    fill("marks", ways.map(([value, text]) => option(value, text)), marks);
    $("down").value = choice.down ? "1" : "";
    $("other-box").hidden = choice.sort !== "disagreement";
    $("gap-box").hidden = choice.b < 0;
    const scores = data.scores(choice.metric, choice.a);
    const [low, high] = ends(scores);
    for (const [id, value] of /** @type {[string, number][]} */ ([["low", low], ["high", high]])) {
      $(id).min = low; $(id).max = high; $(id).value = value;
    }
    [choice.low, choice.high] = [-Infinity, Infinity];
    const widest = choice.b < 0 ? 0 : Math.max(...ends(data.differences(choice.metric, choice.a, choice.b)).map(Math.abs));
    $("gap").min = 0; $("gap").max = widest; $("gap").value = 0;
    choice.gap = 0;
    outputs();
  };
  const legend = () => {
    const [a, b] = [systems[choice.a], systems[choice.b]];
    const words = /^(zh|yue|ja|th|lo|km|my|bo)\b/.test(columns.languages.target) ? "characters" : "words";
    /** @type {Record<string, string>} */
    const said = {
      reference: `Marked: ${words} of a candidate that are not in the reference; in the reference, shaded: ${words} that ${a} lacks.`,
      systems: `Marked: ${words} of ${a} that ${b} lacks, and the other way round.`,
    };
    $("legend").textContent = said[marks] ?? "";
  };
  const outputs = () => {
    legend();
    for (const id of ["low", "high", "gap"]) {
      const text = Number($(id).value).toFixed(digits[choice.metric]);
      /** @type {HTMLElement} */ (document.querySelector(`output[for="${id}"]`)).textContent = text;
    }
  };

  const show = () => {
    performance.mark("filter-begins");
    const searched = sides().map((one) => one.i);
    texts = Math.max(1, searched.length);
    const places = data.choose(choice, searched, kept);
    grid.show(places);
    performance.measure("filter", "filter-begins");
    $("status").textContent = places.length === data.size ? `${count(data.size)} segments`
      : `${count(places.length)} of ${count(data.size)} segments match`;
  };
  const reload = async () => {
    options();
    show();
    const before = JSON.stringify([choice, marks]);
    await needed();
    if (before === JSON.stringify([choice, marks]) && choice.query === "") grid.again();
    else show();
  };

  const form = /** @type {HTMLFormElement} */ (document.querySelector(".browse"));
  const number = (/** @type {string} */ id, /** @type {number} */ otherwise) => ($(id).value === "" ? otherwise : Number($(id).value));
  if (window.matchMedia("(max-width: 48rem)").matches) /** @type {any} */ (form.querySelector(".filters")).open = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    const id = /** @type {HTMLElement} */ (event.target).id;
    if (["a", "b", "metric"].includes(id)) {
      [choice.a, choice.b, choice.metric] = [Number($("a").value), Number($("b").value), Number($("metric").value)];
      if (choice.a === choice.b) { choice.b = -1; $("b").value = "-1"; }
      void failing(reload());
      return;
    }
    if (id === "marks") { marks = $("marks").value; legend(); grid.show(grid.places, false); return; }
    if (id === "low" && Number($("low").value) > Number($("high").value)) $("high").value = $("low").value;
    if (id === "high" && Number($("high").value) < Number($("low").value)) $("low").value = $("high").value;
    choice.sort = $("sort").value;
    choice.down = $("down").value === "1";
    choice.other = Number($("other").value);
    choice.query = $("query").value;
    choice.document = Number($("document").value);
    choice.shortest = number("shortest", 0);
    choice.longest = number("longest", Infinity);
    choice.low = $("low").value === $("low").min ? -Infinity : Number($("low").value);
    choice.high = $("high").value === $("high").max ? Infinity : Number($("high").value);
    choice.gap = choice.b < 0 ? 0 : Number($("gap").value);
    choice.keptOnly = $("kept-only").checked;
    $("other-box").hidden = choice.sort !== "disagreement";
    outputs();
    show();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const id of ["query", "shortest", "longest"]) $(id).value = "";
    $("document").value = "-1";
    $("kept-only").checked = false;
    Object.assign(choice, { query: "", document: -1, shortest: 0, longest: Infinity, keptOnly: false });
    options();
    show();
    announce("All segments are shown");
  });

  // ---------------------------------------------------------------- the selection

  const list = /** @type {HTMLElement} */ (document.querySelector(".kept"));
  const shownNotes = () => JSON.stringify([...selection.notes.keys()]);
  let drawnNotes = "";
  const drawSelection = () => {
    const names = [...selection.notes.keys()];
    $("kept-status").textContent = columns.readOnly && !names.length ? "Results are only shown here: nothing can be kept."
      : names.length ? `${count(names.length)} segment${names.length === 1 ? " is" : "s are"} kept, in ${own.endsWith(".jsonl") ? "a file beside the table" : "selection.json"}.` : "No segment is kept yet.";
    if (drawnNotes === `${shownNotes()} ${data.texts.size} ${choice.a} ${choice.b}`) {
      for (const field of list.querySelectorAll("textarea")) {
        const note = selection.notes.get(/** @type {HTMLElement} */ (field.closest("li"))?.dataset.name ?? "");
        if (note !== undefined && field !== document.activeElement && field.value !== note) field.value = note;
      }
      return;
    }
    drawnNotes = `${shownNotes()} ${data.texts.size} ${choice.a} ${choice.b}`;
    list.replaceChildren(...names.map((name) => {
      const place = placesOf.get(name)?.[0];
      const go = make("button", { type: "button", class: "pill", "aria-label": `Show ${name} in the list` }, "Show");
      go.addEventListener("click", () => {
        if (place === undefined) return;
        if (!grid.reveal(place)) { form.reset(); grid.reveal(place); }
      });
      const away = make("button", { type: "button", class: "pill", "aria-label": `Keep ${name} no longer` }, "Remove");
      away.addEventListener("click", () => { void selection.set(name, null); $("kept-title").tabIndex = -1; $("kept-title").focus(); });
      const item = make("li", {}, make("span", { class: "name", dir: "auto" }, name),
        ...(place === undefined ? [] : [listed(place, sides().map((one) => ({ ...one, text: textOf(one.i, place) })))]),
        make("label", { class: "noted" }, "Note", noteField(name, `Note on ${name}, in the selection`)),
        make("div", { class: "actions" }, ...(place === undefined ? [] : [go]), ...(columns.readOnly ? [] : [away])));
      item.dataset.name = name;
      return item;
    }));
  };

  let before = new Set();
  let savedNotes = "";
  selection.changed = () => {
    const now = new Set(selection.notes.keys());
    const turned = [...new Set([...now, ...before])].filter((name) => now.has(name) !== before.has(name));
    before = now;
    const places = new Set(turned.flatMap((name) => placesOf.get(name) ?? []));
    for (const place of places) kept[place] = now.has(columns.segments[place]) ? 1 : 0;
    if (places.size) grid.again((place) => places.has(place));
    for (const [at, drawn] of grid.drawn) {
      const field = drawn.querySelector("textarea");
      const note = selection.notes.get(columns.segments[grid.places[at]]);
      if (field && note !== undefined && field !== document.activeElement && field.value !== note) field.value = note;
    }
    drawSelection();
    const saved = JSON.stringify([...selection.known.keys()]);
    if (saved !== savedNotes) { // what is taken away is made of what the server has saved
      savedNotes = saved;
      void failing(away());
    }
  };

  // ---------------------------------------------------------------- token alignment

  /** @param {number} system @param {number} place */
  const align = async (system, place) => {
    const dialog = $("alignment");
    const content = dialog.querySelector(".content");
    content.replaceChildren(make("p", { role: "status" }, "The encoder reads the texts; the first time takes some seconds."));
    if (!dialog.open) dialog.showModal();
    try {
      const found = await (await ask(`/align/${system}/${place}`)).json();
      content.replaceChildren(...alignment(found, systems[system], columns.segments[place], columns.languages.target));
    } catch (error) {
      content.replaceChildren(make("p", { role: "alert", dir: "auto" }, `No alignment: ${/** @type {Error} */ (error).message}`));
    }
  };

  selection.changed();
  /** @type {HTMLElement} */ (form).hidden = false;
  $("grid").hidden = false;
  await failing(selection.read());
  if (!metrics.length || !data.size) {
    form.hidden = $("grid").hidden = true;
    $("status").textContent = "This table has no column of scores to look at.";
    return;
  }
  await failing(reload());
  drawSelection();
  document.documentElement.dataset.segments = "shown";
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void failing(selection.read());
    else for (const field of document.querySelectorAll("textarea")) field.dispatchEvent(new Event("change"));
  });
};

/** @param {any} found @param {string} system @param {string} segment @param {string} lang of the texts */
const alignment = (found, system, segment, lang) => {
  const token = { dir: "auto", ...(lang ? { lang } : {}) };
  const [left, right] = ["candidate", "reference"].map((side) => found[side].tokens);
  const matched = (/** @type {any[]} */ from) => new Set(from.filter((one) => one.weight).map((one) => one.match));
  const rows = left.map((/** @type {any} */ one, /** @type {number} */ i) => i).filter((/** @type {number} */ i) => left[i].weight || matched(right).has(i));
  const across = right.map((/** @type {any} */ one, /** @type {number} */ j) => j).filter((/** @type {number} */ j) => right[j].weight || matched(left).has(j));
  const head = make("tr", {}, make("td"), ...across.map((/** @type {number} */ j) => make("th", { scope: "col", ...token }, right[j].token)));
  const body = rows.map((/** @type {number} */ i) => make("tr", {}, make("th", { scope: "row", ...token }, left[i].token),
    ...across.map((/** @type {number} */ j) => {
      const cosine = found.cosines[i][j];
      const best = left[i].weight && left[i].match === j, down = right[j].weight && right[j].match === i;
      return make("td", { class: `heat h${Math.max(0, Math.min(9, Math.floor(cosine * 10)))}${best || down ? " match" : ""}` },
        cosine.toFixed(2), ...(best || down ? [make("span", { class: "arrow" }, `${best ? "▸" : ""}${down ? "▾" : ""}`)] : []));
    })));
  const said = `${system}, ${segment}: P ${found.precision.toFixed(3)}, R ${found.recall.toFixed(3)}, F1 ${found.f1.toFixed(3)}. Cosines of the tokens, candidate in rows, reference in columns. ▸ is the best match of a row, ▾ of a column.`;
  const leftward = 2 * right.filter((/** @type {any} */ one) => /\p{Script=Arab}|\p{Script=Hebr}/u.test(one.token)).length > right.length;
  return [
    make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Token alignment", dir: leftward ? "rtl" : "ltr" },
      make("table", { class: "grid" }, make("caption", {}, said), make("thead", {}, head), make("tbody", {}, ...body))),
    make("p", { class: "note" }, found.signature),
  ];
};

// ---------------------------------------------------------------- what is taken away

/** @param {HTMLElement} button @param {() => string} text */
const copies = (button, text) => {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text());
    button.textContent = "Copied";
    announce("Copied");
    window.setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
};
for (const box of document.querySelectorAll(".commands")) {
  copies(/** @type {HTMLElement} */ (box.querySelector(".copy")), () => box.querySelector("code")?.textContent ?? "");
}

let asked = 0;
const away = async () => {
  const turn = asked += 1;
  const found = await (await ask("/exports")).json();
  if (turn !== asked) return; // a later answer says more
  const list = /** @type {HTMLElement} */ (document.querySelector(".exports"));
  list.replaceChildren(...found.map((/** @type {any} */ one) => {
    const link = make("a", { href: `${own}/export/${encodeURIComponent(one.name)}`, download: one.name }, one.title);
    link.addEventListener("click", async (/** @type {Event} */ event) => {
      event.preventDefault();
      $("away-status").textContent = `${one.name} is being made.`;
      try {
        const file = await (await ask(`/export/${encodeURIComponent(one.name)}`)).blob();
        const address = URL.createObjectURL(file);
        make("a", { href: address, download: one.name }).click();
        URL.revokeObjectURL(address);
        $("away-status").textContent = `${one.name} is saved where the browser keeps downloads.`;
      } catch (error) {
        $("away-status").textContent = `${one.name}: ${/** @type {Error} */ (error).message}`;
      }
    });
    const button = make("button", { type: "button", class: "pill copy", "aria-label": `Copy the command of ${one.name}` }, "Copy");
    copies(button, () => one.command);
    return make("li", {}, link, make("span", { class: "about" }, one.about),
      make("div", { class: "commands" }, make("pre", { tabindex: "0", "aria-label": `Command of ${one.name}` }, make("code", {}, one.command)), button));
  }));
};

/** Say what failed where it is seen. @template T @param {Promise<T>} work */
const failing = async (work) => {
  try { return await work; } catch (error) {
    $("status").textContent = /** @type {Error} */ (error).message;
    return undefined;
  }
};

void failing((async () => {
  const [columns, scores] = await Promise.all([ask("/columns").then((answer) => answer.json()), ask("/scores").then((answer) => answer.arrayBuffer())]);
  await browse(columns, new Float64Array(scores));
})());
void failing(away());
