// SPDX-License-Identifier: Apache-2.0
// Memory, processor, ports: what /proc tells. Processes of other users show only what the kernel lets us see.
import fs from "node:fs/promises";
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { bar, bytes, percent, printable, table } from "./text.mjs";

const CLOCK_TICKS = 100; // USER_HZ: the same on every Linux that node runs on
const PAGE = 4096;

const read = (file) => fs.readFile(file, "utf8").catch(() => "");

async function pids() {
  return (await fs.readdir("/proc")).filter((name) => /^\d+$/.test(name));
}

/** {pid, name, ticks, resident} of every process; names hold blanks and brackets: it is cut at the last one. */
async function processes() {
  const all = await Promise.all(
    (await pids()).map(async (pid) => {
      const stat = await read(`/proc/${pid}/stat`);
      const end = stat.lastIndexOf(")");
      if (end < 0) return null;
      const fields = stat.slice(end + 2).split(" ");
      return {
        pid,
        name: printable(stat.slice(stat.indexOf("(") + 1, end)),
        ticks: Number(fields[11]) + Number(fields[12]),
        resident: Number(fields[21]) * PAGE,
      };
    }),
  );
  return all.filter(Boolean);
}

async function meminfo() {
  const info = {};
  for (const line of (await read("/proc/meminfo")).split("\n")) {
    const [, key, value] = line.match(/^(\w+):\s+(\d+) kB/) ?? [];
    if (key) info[key] = Number(value) * 1024;
  }
  return info;
}

// ---- overview

/** Of /proc: a blank in a name is written \040. */
function unescaped(word) {
  return word.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8)));
}

/** File systems on real devices, each once. */
async function filesystems() {
  const seen = new Map();
  for (const line of (await read("/proc/self/mounts")).split("\n")) {
    const [device, place] = line.split(" ").map(unescaped);
    if (!device?.startsWith("/") && device !== "overlay") continue;
    const known = seen.get(device);
    if (!known || place.length < known.length) seen.set(device, place);
  }
  const rows = [];
  for (const place of seen.values()) {
    const stat = await fs.statfs(place).catch(() => null);
    if (!stat || !stat.blocks) continue;
    const size = stat.blocks * stat.bsize;
    const used = size - stat.bfree * stat.bsize;
    const free = `${bytes(stat.bavail * stat.bsize)} free of ${bytes(size)}`;
    rows.push([printable(place), bar(used, size), percent(used, size), free]);
  }
  return rows;
}

function duration(seconds) {
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor((seconds % 86400) / 3600);
  return `${days ? `${days} d ` : ""}${hours} h ${Math.floor((seconds % 3600) / 60)} min`;
}

async function overview(given, call) {
  const info = await meminfo();
  const used = info.MemTotal - info.MemAvailable;
  const [one, five, fifteen] = os.loadavg().map((load) => load.toFixed(2));

  call.stream(`${os.hostname()}, ${os.type()} ${os.release()}, up ${duration(os.uptime())}\n`);
  call.stream(`Load    ${one} ${five} ${fifteen} on ${os.availableParallelism()} processors\n`);
  call.stream(
    `Memory  ${bar(used, info.MemTotal)} ${percent(used, info.MemTotal)}, ` +
      `${bytes(info.MemAvailable)} free of ${bytes(info.MemTotal)}\n`,
  );
  if (info.SwapTotal) {
    call.stream(
      `Swap    ${bar(info.SwapTotal - info.SwapFree, info.SwapTotal)} ` +
        `${bytes(info.SwapFree)} free of ${bytes(info.SwapTotal)}\n`,
    );
  }
  const rows = await filesystems();
  return rows.length ? `\n${table(rows, [2])}\n` : "";
}

// ---- memory, processor

async function memory({ top }, call) {
  const info = await meminfo();
  const programs = new Map();

  for (const one of await processes()) {
    const program = programs.get(one.name) ?? { name: one.name, resident: 0, processes: 0 };
    program.resident += one.resident;
    program.processes++;
    programs.set(one.name, program);
  }
  const largest = [...programs.values()]
    .filter((p) => p.resident)
    .sort((a, b) => b.resident - a.resident)
    .slice(0, top);
  call.stream(
    `${bytes(info.MemAvailable)} of ${bytes(info.MemTotal)} are available. ` +
      "Held by (shared pages count for each):\n",
  );
  const rows = largest.map((p) => [
    bytes(p.resident),
    percent(p.resident, info.MemTotal),
    bar(p.resident, info.MemTotal),
    p.name,
    p.processes > 1 ? `${p.processes} processes` : "",
  ]);
  return `${table(rows, [0, 1])}\n`;
}

async function processor({ seconds, top }, call) {
  const before = new Map((await processes()).map((p) => [p.pid, p.ticks]));
  const begun = process.hrtime.bigint();

  call.stream(`Measuring for ${seconds} s …\n`);
  await sleep(seconds * 1000, undefined, { signal: call.signal });
  const after = await processes();
  const passed = Number(process.hrtime.bigint() - begun) / 1e9;
  const busy = after
    .map((p) => ({ ...p, share: (p.ticks - (before.get(p.pid) ?? 0)) / CLOCK_TICKS / passed }))
    .filter((p) => p.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, top);
  if (!busy.length) return "Nothing used the processor.\n";
  const rows = busy.map((p) => [`${Math.round(p.share * 100)}%`, bar(p.share, 1), p.name, `pid ${p.pid}`]);
  return `${table(rows)}\n(100% is one processor of ${os.availableParallelism()})\n`;
}

// ---- ports

function address(hex) {
  const [host, port] = hex.split(":");
  const number = parseInt(port, 16);
  if (host.length === 8) {
    const parts = host
      .match(/../g)
      .reverse()
      .map((part) => parseInt(part, 16));
    return { host: parts.every((part) => part === 0) ? "every address" : parts.join("."), port: number };
  }
  if (/^0+$/.test(host)) return { host: "every address", port: number };
  return { host: host === "00000000000000000000000001000000" ? "::1" : "an IPv6 address", port: number };
}

async function listening() {
  const found = [];
  const tables = [
    ["tcp", "tcp", "0A"],
    ["tcp6", "tcp", "0A"],
    ["udp", "udp", "07"],
    ["udp6", "udp", "07"],
  ];
  for (const [file, kind, state] of tables) {
    for (const line of (await read(`/proc/net/${file}`)).split("\n").slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === state) found.push({ kind, inode: fields[9], ...address(fields[1]) });
    }
  }
  return found;
}

/** inode of a socket -> who holds it; only processes of ours can be looked into. */
async function holders() {
  const owners = new Map();
  for (const one of await processes()) {
    for (const fd of await fs.readdir(`/proc/${one.pid}/fd`).catch(() => [])) {
      const target = await fs.readlink(`/proc/${one.pid}/fd/${fd}`).catch(() => "");
      if (target.startsWith("socket:[")) owners.set(target.slice(8, -1), one);
    }
  }
  return owners;
}

async function ports() {
  const owners = await holders();
  const rows = (await listening())
    .sort((a, b) => a.port - b.port)
    .map((one) => {
      const owner = owners.get(one.inode);
      const who = owner ? `${owner.name} (pid ${owner.pid})` : "a process that is not yours";
      return [one.port, one.kind, one.host, who];
    });
  return rows.length ? `${table(rows)}\n` : "No port is listened on.\n";
}

export { memory, overview, ports, processor };
