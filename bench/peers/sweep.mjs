// SPDX-License-Identifier: Apache-2.0
// What bench/sweep.h is for C: calls echo(text) for each point of the command line, and prints the medians.
import process from "node:process";

const now = () => Number(process.hrtime.bigint());

async function inTurn(echo, text, count) {
    for (let i = 0; i < count; i++) {
        const reply = await echo(text);
        if (reply.length !== text.length)
            throw new Error("not what was sent");
    }
}

async function run(echo, text, count, depth) {
    if (depth === 1)
        return inTurn(echo, text, count);
    await Promise.all(Array.from({ length: depth }, () => inTurn(echo, text, count / depth)));
}

async function point(echo, budget, depth, size) {
    const text = "abcdefghijklmnopqrstuvwxyz".repeat(size / 26 + 1).slice(0, size);
    let count = depth === 1 ? 1 : 4 * depth;
    const timed = async () => {
        const begin = now();
        await run(echo, text, count, depth);
        return now() - begin;
    };
    await run(echo, text, depth, depth);
    while (await timed() < budget / 40)
        count *= 2;
    const batches = [];
    for (let total = 0; total < budget;) {
        const took = await timed();
        total += took;
        batches.push(Math.round(took / count));
    }
    batches.sort((a, b) => a - b);
    const ns = batches[batches.length >> 1];
    process.stdout.write(JSON.stringify({ depth, size, ns, batches: batches.length }) + "\n");
}

// words: SECONDS DEPTH:SIZE... The first calls are for the compiler.
export async function sweep(echo, [seconds, ...points]) {
    await run(echo, "warm", Math.ceil(Number(seconds) * 20_000 / 64) * 64, 64);
    for (const word of points)
        await point(echo, Number(seconds) * 1e9, ...word.split(":").map(Number));
}
