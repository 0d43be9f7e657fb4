// SPDX-License-Identifier: Apache-2.0
// Errors that become answers.

/** Codes of JSON-RPC 2.0, and those of the dialects. */
export const code = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  extraction: -32000,
  notInitialized: -32003,
};

export class PluginError extends Error {
  constructor(number, message, data) {
    super(message);
    this.name = "PluginError";
    this.code = number;
    if (data !== undefined) this.data = data;
  }
}

/** A value as an error text shows it: JSON, not longer than a line. */
export function shown(value) {
  let text;
  try {
    text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "nothing");
  } catch {
    text = "a value that is no JSON";
  }
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
