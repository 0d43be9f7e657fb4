// SPDX-License-Identifier: Apache-2.0
// A conversation is plain code: `const answer = yield "Where to?"` in an (async) generator function.

/** A generator that has asked and waits. */
export class Talk {
  constructor(generator, call) {
    this.generator = generator;
    this.call = call;
    this.question = undefined;
  }

  /** To the next question, or to the end. Resolves to this Talk, or to { value }. */
  async go(answer) {
    const step = await this.generator.next(answer);
    if (step.done) return { value: step.value };
    this.question = step.value;
    return this;
  }

  /** No answer will come. `finally` blocks run; another question is not asked. */
  async end() {
    try {
      await this.generator.return();
    } catch (error) {
      console.error(error);
    }
  }
}

export const isTalk = (value) =>
  typeof value === "object" &&
  value !== null &&
  typeof value.next === "function" &&
  typeof value.return === "function";
