// SPDX-License-Identifier: Apache-2.0
// How numbers and tables look.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytes(count) {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

function percent(part, whole) {
  return `${whole ? Math.round((100 * part) / whole) : 0}%`;
}

function bar(part, whole, width = 20) {
  const filled = whole ? Math.round((width * part) / whole) : 0;
  return "#".repeat(Math.min(filled, width)).padEnd(width, ".");
}

/** Rows of cells as lines; columns with numbers (given by index) stand right. */
function table(rows, right = [0]) {
  const widths = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, String(cell).length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          const text = String(cell);
          return right.includes(i) ? text.padStart(widths[i]) : text.padEnd(widths[i]);
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** File names may hold anything; a terminal must not be steered by them. */
function printable(name) {
  // eslint-disable-next-line no-control-regex
  return name.replace(/[\u0000-\u001f\u007f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

export { bar, bytes, percent, printable, table };
