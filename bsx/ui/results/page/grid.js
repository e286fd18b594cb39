// A grid of which only the rows in sight are in the document: thousands of rows, each as high as its texts.

/** Heights of rows and their sums: a Fenwick tree, so that one row's height changes in little time. */
export class Heights {
  /** @param {number} size @param {(i: number) => number} guess */
  constructor(size, guess) {
    this.size = size;
    this.heights = new Float64Array(size);
    for (let i = 0; i < size; i += 1) this.heights[i] = guess(i);
    this.sums = new Float64Array(size + 1);
    for (let i = 1; i <= size; i += 1) {
      this.sums[i] += this.heights[i - 1];
      const up = i + (i & -i);
      if (up <= size) this.sums[up] += this.sums[i];
    }
    this.step = 1;
    while (this.step * 2 <= size) this.step *= 2;
  }

  /** The top of a row; of the number of rows, the height of all. @param {number} row */
  top(row) {
    let sum = 0;
    for (let i = row; i > 0; i -= i & -i) sum += this.sums[i];
    return sum;
  }

  get total() { return this.top(this.size); }

  /** The row at a height. @param {number} height */
  at(height) {
    let place = 0, left = height;
    for (let step = this.step; step > 0; step = Math.floor(step / 2)) {
      if (place + step <= this.size && this.sums[place + step] <= left) {
        place += step;
        left -= this.sums[place];
      }
    }
    return Math.min(place, Math.max(0, this.size - 1));
  }

  /** @param {number} row @param {number} height @returns {number} by how much it has grown */
  set(row, height) {
    const grown = height - this.heights[row];
    if (grown !== 0) {
      this.heights[row] = height;
      for (let i = row + 1; i <= this.size; i += i & -i) this.sums[i] += grown;
    }
    return grown;
  }
}

const beyond = 400; // pixels above and below that are drawn too

export class Grid {
  /**
   * @param {HTMLElement} box what scrolls, with the role of a grid
   * @param {HTMLElement} body within it
   * @param {object} make
   * @param {(place: number) => HTMLElement} make.row draws the row of a segment: an element whose children are cells
   * @param {(place: number, width: number) => number} make.guess about how high it will be
   * @param {(event: KeyboardEvent, place: number) => boolean} make.key what a key in a cell does; true if it did
   */
  constructor(box, body, make) {
    this.box = box;
    this.body = body;
    this.make = make;
    /** @type {Uint32Array} */
    this.places = new Uint32Array(0);
    this.heights = new Heights(0, () => 0);
    /** @type {Map<number, HTMLElement>} the rows in the document, by their number */
    this.drawn = new Map();
    this.active = 0;
    this.column = 0;
    this.width = 0;
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    box.addEventListener("keydown", (event) => this.pressed(event));
    box.addEventListener("focusin", (event) => this.entered(event));
    new ResizeObserver(() => {
      if (this.body.clientWidth !== this.width && this.body.clientWidth) this.show(this.places, false);
    }).observe(body);
  }

  /** Show these segments. @param {Uint32Array} places @param {boolean} [fromTop] */
  show(places, fromTop = true) {
    const first = fromTop ? 0 : this.heights.at(this.box.scrollTop);
    this.width = this.body.clientWidth;
    this.places = places;
    this.heights = new Heights(places.length, (i) => this.make.guess(places[i], this.width));
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.active = fromTop ? 0 : Math.max(0, Math.min(this.active, places.length - 1));
    this.box.setAttribute("aria-rowcount", String(places.length + 1));
    this.box.scrollTop = fromTop ? 0 : this.heights.top(Math.min(first, places.length));
    this.draw();
  }

  /** Draw rows anew of which something else has changed. @param {(place: number) => boolean} [which] */
  again(which = () => true) {
    const focused = document.activeElement;
    const held = focused instanceof HTMLElement && this.body.contains(focused)
      ? [focused.closest('[role="row"]')?.getAttribute("aria-rowindex"), this.column] : null;
    for (const [number, row] of this.drawn) {
      if (which(this.places[number])) { row.remove(); this.drawn.delete(number); }
    }
    this.draw();
    if (held && !this.body.contains(document.activeElement)) this.focus(Number(held[0]) - 2, Number(held[1]));
  }

  draw() {
    const { box, body, heights, places } = this;
    body.style.height = `${heights.total}px`;
    if (!places.length) return;
    const head = body.offsetTop;
    for (let turn = 0; turn < 4; turn += 1) {
      const from = heights.at(Math.max(0, box.scrollTop - head - beyond));
      const to = heights.at(box.scrollTop - head + box.clientHeight + beyond);
      for (const [number, row] of this.drawn) {
        if ((number < from || number > to) && number !== this.active) { row.remove(); this.drawn.delete(number); }
      }
      for (let number = from; number <= to; number += 1) this.insert(number);
      this.insert(this.active);
      const seen = heights.at(Math.max(0, box.scrollTop - head));
      let above = 0, changed = false;
      for (const [number, row] of this.drawn) {
        const grown = heights.set(number, row.offsetHeight);
        if (grown !== 0) changed = true;
        if (number < seen) above += grown;
      }
      for (const [number, row] of this.drawn) row.style.top = `${heights.top(number)}px`;
      if (!changed) break;
      body.style.height = `${heights.total}px`;
      if (above !== 0 && box.scrollTop > 0) box.scrollTop += above;
    }
  }

  /** @param {number} number */
  insert(number) {
    if (this.drawn.has(number) || number >= this.places.length) return;
    const row = this.make.row(this.places[number]);
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", String(number + 2));
    [...row.children].forEach((cell, k) => {
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-colindex", String(k + 1));
    });
    this.drawn.set(number, row);
    this.tabs(number, row);
    // In the order of the rows, so that screen readers go from one to the next.
    const after = [...this.drawn.keys()].filter((other) => other > number).sort((x, y) => x - y)[0];
    this.body.insertBefore(row, after === undefined ? null : this.drawn.get(after) ?? null);
  }

  /** Only the active cell, and what is in its row, is reached by Tab. @param {number} number @param {HTMLElement} row */
  tabs(number, row) {
    const active = number === this.active;
    [...row.children].forEach((cell, k) => { /** @type {HTMLElement} */ (cell).tabIndex = active && k === this.column ? 0 : -1; });
    for (const one of row.querySelectorAll("button, input, textarea")) {
      /** @type {HTMLElement} */ (one).tabIndex = active ? 0 : -1;
    }
  }

  /** Move the focus to a cell. @param {number} number @param {number} [column] */
  focus(number, column = this.column) {
    if (!this.places.length) return;
    const before = this.active;
    this.active = Math.max(0, Math.min(number, this.places.length - 1));
    const { box, heights, body } = this;
    const head = body.offsetTop;
    const top = heights.top(this.active) + head, end = top + heights.heights[this.active];
    if (top - head < box.scrollTop) box.scrollTop = top - head;
    else if (end > box.scrollTop + box.clientHeight) box.scrollTop = Math.min(top - head, end - box.clientHeight);
    this.draw();
    const row = this.drawn.get(this.active);
    const old = this.drawn.get(before);
    if (!row) return;
    this.column = Math.max(0, Math.min(column, row.children.length - 1));
    if (old) this.tabs(before, old);
    this.tabs(this.active, row);
    /** @type {HTMLElement} */ (row.children[this.column]).focus({ preventScroll: true });
  }

  /** Show and focus the row of a segment, if it is among those that are shown. @param {number} place @returns {boolean} */
  reveal(place) {
    const number = this.places.indexOf(place);
    if (number >= 0) this.focus(number, 0);
    return number >= 0;
  }

  /** @param {FocusEvent} event */
  entered(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const row = target.closest('[role="row"]');
    const cell = target.closest('[role="gridcell"]');
    if (!row || !cell || !this.body.contains(row)) return;
    const number = Number(row.getAttribute("aria-rowindex")) - 2;
    const column = [...row.children].indexOf(cell);
    if (number === this.active && column === this.column) return;
    const old = this.drawn.get(this.active);
    const before = this.active;
    this.active = number;
    this.column = column;
    if (old) this.tabs(before, old);
    this.tabs(number, /** @type {HTMLElement} */ (row));
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const cell = target.closest('[role="gridcell"]');
    if (!cell || event.altKey || event.metaKey) return;
    if (target !== cell) {
      if (event.key === "Escape") { /** @type {HTMLElement} */ (cell).focus(); event.preventDefault(); }
      return;
    }
    const far = this.heights.at(this.heights.top(this.active) + this.box.clientHeight) - this.active;
    const near = this.active - this.heights.at(Math.max(0, this.heights.top(this.active) - this.box.clientHeight));
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowDown: [this.active + 1, this.column], ArrowUp: [this.active - 1, this.column],
      ArrowRight: [this.active, this.column + 1], ArrowLeft: [this.active, this.column - 1],
      PageDown: [this.active + Math.max(1, far), this.column], PageUp: [this.active - Math.max(1, near), this.column],
      Home: [event.ctrlKey ? 0 : this.active, 0], End: [event.ctrlKey ? this.places.length - 1 : this.active, 9],
    };
    if (moves[event.key]) { this.focus(...moves[event.key]); event.preventDefault(); }
    else if (!event.ctrlKey && this.make.key(event, this.places[this.active])) event.preventDefault();
  }
}
