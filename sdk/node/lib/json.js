// SPDX-License-Identifier: Apache-2.0
// JSON as it must go over the wire: ids keep every digit (JSON.parse rounds them), and a text is never NaN.

const MARK = /["[\]{}]/g; // all that matters when a value is skipped

/** The index after the string that begins at `at`. */
function afterString(text, at) {
  for (let end = at; ;) {
    end = text.indexOf('"', end + 1);
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 92) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
}

function afterBlanks(text, at) {
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}

/** The index after the value at `at`. No recursion: a message may be nested as deep as it likes. */
function afterValue(text, at) {
  const first = text[at];
  if (first === '"') return afterString(text, at);
  if (first !== "{" && first !== "[") {
    while (at < text.length && !/[\s,\]}]/.test(text[at])) at++;
    return at;
  }
  let depth = 0;
  for (;;) {
    MARK.lastIndex = at;
    const { index } = MARK.exec(text);
    const mark = text[index];
    if (mark === '"') at = afterString(text, index);
    else {
      depth += mark === "{" || mark === "[" ? 1 : -1;
      at = index + 1;
      if (depth === 0) return at;
    }
  }
}

/** The text of a member of an object, as it was sent; the last one, as JSON.parse takes it. */
export function rawMember(text, name) {
  let found;
  let at = afterBlanks(text, afterBlanks(text, 0) + 1);
  while (text[at] === '"') {
    const end = afterString(text, at);
    const key = text.slice(at, end);
    const from = afterBlanks(text, afterBlanks(text, end) + 1);
    const to = afterValue(text, from);
    if (key === `"${name}"` || (key.includes("\\") && JSON.parse(key) === name)) found = text.slice(from, to);
    at = afterBlanks(text, to);
    if (text[at] !== ",") break;
    at = afterBlanks(text, at + 1);
  }
  return found;
}

/** The texts of an array's elements. */
export function rawElements(text) {
  const list = [];
  let at = afterBlanks(text, afterBlanks(text, 0) + 1);
  while (at < text.length && text[at] !== "]") {
    const to = afterValue(text, at);
    list.push(text.slice(at, to));
    at = afterBlanks(text, to);
    if (text[at] !== ",") break;
    at = afterBlanks(text, at + 1);
  }
  return list;
}

const BEGINNING = '{"jsonrpc":"2.0","id":';
const COMMA = 44;

/** The id of a request, digit by digit. Most hosts write it at the beginning: then nothing is searched. */
export function rawId(text, id) {
  if (typeof id === "number" && Number.isSafeInteger(id)) {
    const digits = String(id);
    const at = text.startsWith(BEGINNING) ? BEGINNING.length : text.startsWith('{"id":') ? 6 : 0;
    if (at && text.startsWith(digits, at) && text.charCodeAt(at + digits.length) === COMMA) return digits;
    if (text.endsWith(`,"id":${digits}}`)) return digits;
  }
  return rawMember(text, "id");
}

// A number that JavaScript cannot hold goes out as a BigInt does: with all its digits.
const BIG = "\u0000big ";
const BIG_TEXT = /"\\u0000big (-?\d+)"/g;

/** JSON for the wire. What JSON does not know (undefined, NaN) is null; a BigInt keeps its digits. */
export function stringify(value) {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error;
  }
  const text = JSON.stringify(value, (key, item) => (typeof item === "bigint" ? BIG + item : item));
  return text.replace(BIG_TEXT, "$1");
}
