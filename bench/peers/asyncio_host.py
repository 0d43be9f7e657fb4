#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""asyncio_host.py SECONDS DEPTH:SIZE...: a host on Python's asyncio, as one writes it with the standard library
alone, and its plugin (this file again): JSON-RPC in lines, for each point of bench/sweep.h."""
import asyncio
import json
import statistics
import sys
import time

LIMIT = 1 << 30  # of a line


def serve():
    """One line at a time: an interpreter has nothing faster without a loop of its own."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": request["params"]}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


class Host:
    def __init__(self):
        self.waiting, self.last = {}, 0

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            __file__,
            "plugin",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LIMIT,
        )
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        while line := await self.process.stdout.readline():
            reply = json.loads(line)
            self.waiting.pop(reply["id"]).set_result(reply["result"])

    async def echo(self, text):
        self.last += 1
        future = self.waiting[self.last] = asyncio.get_running_loop().create_future()
        request = {"jsonrpc": "2.0", "id": self.last, "method": "echo", "params": {"text": text}}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        await self.process.stdin.drain()
        return (await future)["text"]

    async def stop(self):
        self.process.stdin.close()
        await self.reader
        await self.process.wait()


async def in_turn(host, text, count):
    for _ in range(count):
        if len(await host.echo(text)) != len(text):
            sys.exit("not what was sent")


async def timed(host, text, count, depth):
    """Nanoseconds of so many calls, `depth` of them under way."""
    begin = time.monotonic_ns()
    if depth == 1:
        await in_turn(host, text, count)
    else:
        await asyncio.gather(*(in_turn(host, text, count // depth) for _ in range(depth)))
    return time.monotonic_ns() - begin


async def point(host, budget, depth, size):
    text = ("abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]
    count, batches, total = 1 if depth == 1 else 4 * depth, [], 0
    await timed(host, text, depth, depth)
    while await timed(host, text, count, depth) < budget / 40:
        count *= 2
    while total < budget:
        took = await timed(host, text, count, depth)
        total += took
        batches.append(took // count)
    line = {"depth": depth, "size": size, "ns": int(statistics.median(batches)), "batches": len(batches)}
    print(json.dumps(line), flush=True)


async def main(seconds, *points):
    host = Host()
    await host.start()
    for word in points:
        await point(host, float(seconds) * 1e9, *map(int, word.split(":")))
    await host.stop()


if __name__ == "__main__":
    if sys.argv[1] == "plugin":
        serve()
    else:
        asyncio.run(main(*sys.argv[1:]))
