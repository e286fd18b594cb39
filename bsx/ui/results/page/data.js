// The numbers of a run in typed arrays: sorted and filtered without asking the server again.

/**
 * @typedef {object} Columns what the server tells of a run
 * @property {number} rows
 * @property {string[]} systems
 * @property {{name: string, title: string, higher: boolean, signature: string, human: boolean}[]} metrics
 * @property {string[]} segments
 * @property {number[]} documents
 * @property {string[]} documentNames
 * @property {number[]} lengths
 * @property {{role: string, name: string}[]} texts
 * @property {{source: string, target: string}} languages
 * @property {boolean} readOnly
 */

/**
 * @typedef {object} Choice what a reader wants to see
 * @property {number} metric
 * @property {number} other metric to hold it against
 * @property {number} a system
 * @property {number} b system to compare with, or -1
 * @property {"place"|"score"|"difference"|"disagreement"|"length"} sort
 * @property {boolean} down
 * @property {string} query
 * @property {number} document or -1
 * @property {number} shortest
 * @property {number} longest
 * @property {number} low
 * @property {number} high
 * @property {number} gap least difference of the two systems
 * @property {boolean} keptOnly
 */

/**
 * Ranks from 1, the smallest first; equal values share the mean of theirs, and what is missing has none.
 * @param {Float64Array} values
 * @returns {Float64Array}
 */
export const ranks = (values) => {
  const ranked = new Float64Array(values.length).fill(NaN);
  const order = sorted(values, false).filter((i) => !Number.isNaN(values[i]));
  for (let i = 0; i < order.length;) {
    let j = i;
    while (j + 1 < order.length && values[order[j + 1]] === values[order[i]]) j += 1;
    for (let k = i; k <= j; k += 1) ranked[order[k]] = (i + j) / 2 + 1;
    i = j + 1;
  }
  return ranked;
};

/**
 * Places in the order of their values; what is missing comes last, and ties as they stand in the table.
 * @param {Float64Array} values
 * @param {boolean} down
 * @returns {Uint32Array}
 */
export const sorted = (values, down) => {
  const present = [], missing = [];
  for (let i = 0; i < values.length; i += 1) (Number.isNaN(values[i]) ? missing : present).push(i);
  const order = Uint32Array.from(present);
  order.sort(down ? (x, y) => values[y] - values[x] || x - y : (x, y) => values[x] - values[y] || x - y);
  const all = new Uint32Array(values.length);
  all.set(order);
  all.set(missing, order.length);
  return all;
};

/** @param {Float64Array} values @returns {[number, number]} the smallest and the largest; 0 and 0 of none */
export const ends = (values) => {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 0];
};

export class Data {
  /**
   * @param {Columns} columns
   * @param {Float64Array} values metrics by systems by segments
   */
  constructor(columns, values) {
    this.columns = columns;
    this.size = columns.segments.length;
    this.values = values;
    this.documents = Int32Array.from(columns.documents);
    this.lengths = Float64Array.from(columns.lengths);
    /** @type {Map<number, (string|null)[]>} texts by the number of their column */
    this.texts = new Map();
    /** @type {Map<string, any>} what was computed once */
    this.known = new Map();
  }

  /** @param {number} metric @param {number} system */
  scores(metric, system) {
    const start = (metric * this.columns.systems.length + system) * this.size;
    return this.values.subarray(start, start + this.size);
  }

  /** How much better the first system is; negative where the second is. @param {number} metric @param {number} a @param {number} b */
  differences(metric, a, b) {
    return this.once(`difference ${metric} ${a} ${b}`, () => {
      const x = this.scores(metric, a), y = this.scores(metric, b), sign = this.columns.metrics[metric].higher ? 1 : -1;
      return x.map((value, i) => sign * (value - y[i]));
    });
  }

  /** Ranks among the segments, the worst first. @param {number} metric @param {number} system */
  ranked(metric, system) {
    return this.once(`rank ${metric} ${system}`, () => {
      const values = this.scores(metric, system);
      return ranks(this.columns.metrics[metric].higher ? values : values.map((value) => -value));
    });
  }

  /** The values by which a choice sorts. @param {Choice} choice @returns {Float64Array | null} */
  keys(choice) {
    const { sort, metric, other, a, b } = choice;
    if (sort === "score") return this.scores(metric, a);
    if (sort === "difference" && b >= 0) return this.differences(metric, a, b);
    if (sort === "disagreement") {
      return this.once(`disagreement ${metric} ${other} ${a}`, () => {
        const x = this.ranked(metric, a), y = this.ranked(other, a);
        return x.map((value, i) => Math.abs(value - y[i]));
      });
    }
    if (sort === "length") return this.lengths;
    return null;
  }

  /** The segments in the order of a choice. @param {Choice} choice @returns {Uint32Array} */
  order(choice) {
    const keys = this.keys(choice);
    if (keys === null) {
      const all = new Uint32Array(this.size);
      for (let i = 0; i < this.size; i += 1) all[i] = i;
      return choice.sort === "place" && choice.down ? all.reverse() : all;
    }
    const { sort, metric, other, a, b, down } = choice;
    return this.once(`order ${sort} ${metric} ${other} ${a} ${b} ${down}`, () => sorted(keys, down));
  }

  /**
   * The segments that a reader wants to see, in their order.
   * @param {Choice} choice
   * @param {number[]} searched columns of texts
   * @param {Uint8Array} kept 1 where a segment is in the selection
   * @returns {Uint32Array}
   */
  choose(choice, searched, kept) {
    const order = this.order(choice);
    const query = choice.query.trim().normalize("NFKC").toLowerCase();
    const texts = query ? this.searchable(searched) : [];
    const scores = this.scores(choice.metric, choice.a);
    const [lowest, highest] = this.once(`ends ${choice.metric} ${choice.a}`, () => ends(scores));
    const bounded = choice.low > lowest || choice.high < highest;
    const gaps = choice.gap > 0 && choice.b >= 0 ? this.differences(choice.metric, choice.a, choice.b) : null;
    const found = new Uint32Array(this.size);
    let count = 0;
    for (let k = 0; k < order.length; k += 1) {
      const i = order[k];
      if (choice.keptOnly && !kept[i]) continue;
      if (choice.document >= 0 && this.documents[i] !== choice.document) continue;
      if (this.lengths[i] < choice.shortest || this.lengths[i] > choice.longest) continue;
      if (bounded && !(scores[i] >= choice.low && scores[i] <= choice.high)) continue;
      if (gaps !== null && !(Math.abs(gaps[i]) >= choice.gap)) continue;
      if (query && !texts[i].includes(query)) continue;
      found[count] = i;
      count += 1;
    }
    return found.slice(0, count);
  }

  /** Name and texts of each segment in one string, as they are searched. @param {number[]} searched columns of texts @returns {string[]} */
  searchable(searched) {
    const texts = searched.map((column) => this.texts.get(column));
    const make = () => this.columns.segments.map((name, i) => [name, ...texts.map((column) => column?.[i] ?? "")].join("\n").normalize("NFKC").toLowerCase());
    return texts.includes(undefined) ? make() : this.once(`search ${searched}`, make);
  }

  /** @template T @param {string} key @param {() => T} make @returns {T} */
  once(key, make) {
    if (!this.known.has(key)) {
      if (this.known.size > 200) this.known.clear();
      this.known.set(key, make());
    }
    return this.known.get(key);
  }
}
