// Which words of a text another lacks: the longest common sequence of words; of scripts without blanks, of characters.

/** @typedef {{text: string, differs: boolean}} Piece */

const single = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}";
const token = new RegExp(`[${single}]\\p{M}*|(?:(?![${single}])[\\p{L}\\p{N}\\p{M}\\u200c\\u200d])+(?:['’\\-.,](?=[\\p{L}\\p{N}])(?:(?![${single}])[\\p{L}\\p{N}\\p{M}\\u200c\\u200d])+)*|\\s+|.`, "gsu");
const most = 4_000_000; // cells of the table; longer texts are not compared word by word

/**
 * Cut a text into words, marks and white space; nothing is lost.
 * @param {string} text
 * @returns {string[]}
 */
export const tokens = (text) => text.match(token) ?? [];

/**
 * Say which of the words of each list are part of their longest common sequence.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[Uint8Array, Uint8Array]} 1 where a word is common
 */
export const common = (a, b) => {
  const inA = new Uint8Array(a.length), inB = new Uint8Array(b.length);
  let start = 0, endA = a.length, endB = b.length;
  while (start < endA && start < endB && a[start] === b[start]) { inA[start] = inB[start] = 1; start += 1; }
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA -= 1; endB -= 1; inA[endA] = inB[endB] = 1; }
  const n = endA - start, m = endB - start;
  if (n * m > most || n === 0 || m === 0) return [inA, inB];
  const wide = m + 1;
  const lengths = new Uint16Array((n + 1) * wide);
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      lengths[i * wide + j] = a[start + i] === b[start + j] ? lengths[(i + 1) * wide + j + 1] + 1
        : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < n && j < m;) {
    if (a[start + i] === b[start + j]) { inA[start + i] = inB[start + j] = 1; i += 1; j += 1; }
    else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) i += 1;
    else j += 1;
  }
  return [inA, inB];
};

/**
 * @param {string[]} words
 * @param {number[]} places of those that are no white space
 * @param {Uint8Array} kept
 * @returns {Piece[]}
 */
const pieces = (words, places, kept) => {
  const differs = new Uint8Array(words.length);
  places.forEach((place, k) => { differs[place] = kept[k] ? 0 : 1; });
  // White space between two words that differ is marked with them.
  for (let i = 1; i < words.length - 1; i += 1) {
    if (!words[i].trim() && differs[i - 1] && differs[i + 1]) differs[i] = 1;
  }
  /** @type {Piece[]} */
  const found = [];
  words.forEach((word, i) => {
    const last = found.at(-1);
    if (last && last.differs === Boolean(differs[i])) last.text += word;
    else found.push({ text: word, differs: Boolean(differs[i]) });
  });
  return found;
};

/**
 * Compare two texts: the pieces of each, with what the other lacks marked.
 * @param {string} a
 * @param {string} b
 * @returns {[Piece[], Piece[]]}
 */
export const diff = (a, b) => {
  const sides = [a, b].map((text) => {
    const words = tokens(text);
    const places = words.map((_, i) => i).filter((i) => words[i].trim());
    return { words, places, keys: places.map((i) => words[i].normalize("NFC")) };
  });
  const [left, right] = sides;
  const [inA, inB] = common(left.keys, right.keys);
  return [pieces(left.words, left.places, inA), pieces(right.words, right.places, inB)];
};
