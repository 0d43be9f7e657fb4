// SPDX-License-Identifier: Apache-2.0
// What a function may return when a text does not say enough.

/** Ayiou: an answer to a chat message. */
export class Reply {
  constructor(text, { actions = [], handled, block } = {}) {
    this.text = text ?? undefined;
    this.actions = actions;
    this.handled = handled;
    this.block = block;
  }
}

/** YAMS: the text of a file, and what is known about it. */
export class Extraction {
  constructor(content, metadata = {}) {
    this.content = content;
    this.metadata = metadata;
  }
}

/** Sunscreen: what a command or hook has done. */
export class Done {
  constructor(summary, files_written = []) {
    this.files_written = files_written;
    this.summary = summary;
  }
}
