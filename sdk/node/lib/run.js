// SPDX-License-Identifier: Apache-2.0
// plugin.run(): joins the wire, the dialect and the session.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { dialects, guess, has, meant } from "./dialects/index.js";
import { Analyzer } from "./dialects/kythe.js";
import { framings } from "./frames.js";
import { help, hint, manifest } from "./manifest.js";
import { Session } from "./session.js";
import { Input, Output } from "./streams.js";
import { claim, claimed } from "./wire.js";

const PROBE = 1000; // ms between looks whether the host still reads, after it has closed our input

/** run(import.meta) serves only if that file is the program that was started. */
export function isProgram(meta) {
  if (globalThis[Symbol.for("tenon.testing")]) return false;
  if (!meta) return true;
  if (typeof meta.main === "boolean") return meta.main;
  const bare = (file) => file.replace(/\.[cm]?[jt]s$/, "");
  try {
    return bare(fs.realpathSync(fileURLToPath(meta.url))) === bare(fs.realpathSync(process.argv[1]));
  } catch {
    return bare(fileURLToPath(meta.url)) === bare(path.resolve(process.argv[1] ?? ""));
  }
}

/** The dialects among which the first bytes decide; one, if it is known. */
export function candidates(plugin) {
  const asked = process.env.MORTISE_DIALECT;
  return asked && has(plugin, asked) ? [asked] : meant(plugin);
}

/** Texts of messages, through a framing, to the output. */
class Sender {
  constructor(output) {
    this.output = output;
    this.write = framings.lines.write;
  }

  send(text, now) {
    this.output.send(this.write(text), now);
  }

  room() {
    return this.output.room();
  }

  finish() {
    return this.output.finish();
  }
}

class Server {
  constructor(plugin, wire) {
    this.plugin = plugin;
    this.names = candidates(plugin);
    this.head = Buffer.alloc(0); // until the dialect is known
    this.output = new Output(wire.output, {
      gone: () => this.lost(),
      full: () => this.input.pause(),
      drained: () => this.input.resume(),
    });
    this.sender = new Sender(this.output);
    this.known();
    this.input = new Input(wire.input, {
      chunk: (bytes, size) => this.chunk(bytes, size),
      end: () => this.end(),
    });
    process.on("SIGTERM", () => (this.session ? this.session.stop() : process.exit(0)));
    if (this.session instanceof Analyzer) this.session.main();
  }

  /** Where one dialect is left, and it has one framing, there is nothing to wait for. */
  known() {
    const [name] = this.names;
    if (this.names.length === 1 && dialects[name].framing) this.begin(dialects[name], dialects[name].framing);
  }

  begin(dialect, framing) {
    const Kind = dialect.name === "kythe" ? Analyzer : Session;
    this.sender.write = framings[framing].write;
    this.framing = framing;
    this.session = new Kind(this.plugin, dialect, this.sender, { exit: (status) => process.exit(status) });
    this.reader = new framings[framing].Reader(
      {
        text: (text) => this.session.receive(text),
        bad: (number, why) => this.session.refuse?.(number, why),
        corrupt: (why) => this.corrupt(why),
      },
      dialect.limit,
    );
  }

  chunk(bytes, size) {
    this.output.planned = true; // by us: all answers to this chunk leave together
    if (!this.reader) {
      this.head = Buffer.concat([this.head, bytes.subarray(0, size)]);
      this.decide(false);
    } else this.reader.push(bytes, size);
    this.output.flush();
  }

  decide(final) {
    const found = guess(this.names, this.head, final);
    if (!found) return;
    this.begin(found.dialect, found.framing);
    this.reader.push(this.head);
  }

  corrupt(why) {
    process.stderr.write(`${this.plugin.options.name}: what the host sends cannot be read: ${why}\n`);
    this.input.close();
    this.session.refuse?.(-32700, `Parse error: ${why}`);
    this.session.inputEnd();
  }

  end() {
    if (!this.reader && this.head.length) this.decide(true);
    if (!this.session) process.exit(0);
    this.reader.end();
    this.session.inputEnd();
    if (this.session instanceof Session) this.probe(process.ppid);
  }

  /** Our input has ended while a call runs: a host that is gone is not waited for. Only a write shows it. */
  probe(parent) {
    setInterval(() => {
      if (process.ppid !== parent) this.session.stop();
      else if (this.session.stopping || this.session.current?.id === undefined) return;
      else if (this.framing === "lines")
        this.output.send(" ", true); // blank before the next JSON
      else if (this.session.dialect.name === "gassist")
        this.session.notify("log", { level: "debug", message: "stdin has ended" });
    }, PROBE);
  }

  /** Nobody reads: an end as any other, without a word. */
  lost() {
    if (this.session) this.session.stop();
    else process.exit(0);
  }
}

/** To stdout as it was given: in a file that others write too, a descriptor of our own has another position. */
function print(text) {
  const fd = claimed()?.output.fd ?? 1;
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length;) from += fs.writeSync(fd, bytes, from);
  claim(); // what the module has printed goes to stderr
  process.exit(0);
}

/** The author may have options of their own: only what begins like one of ours must be one. */
function answerOption(plugin, option = "") {
  if (option === "--manifest") print(manifest(plugin, process.argv[3] ?? meant(plugin)[0]));
  if (option === "--help") print(help(plugin, candidates(plugin)));
  if (!/^--(man|hel)/.test(option)) return;
  const known = "there are --manifest [DIALECT] and --help";
  process.stderr.write(`${plugin.options.name}: unknown option ${option}: ${known}\n`);
  process.exit(2);
}

export function serve(plugin) {
  answerOption(plugin, process.argv[2]);
  const { MORTISE_GRPC_SOCKET: socket, PLUGIN_PROTOCOL_VERSIONS: versions } = process.env;
  if (socket || versions !== undefined) {
    import("./grpc.js").then(({ serveGrpc, wanted }) => {
      const place = wanted(plugin);
      if (place === undefined) serveStdio(plugin);
      else serveGrpc(plugin, place);
    });
  } else serveStdio(plugin);
}

function serveStdio(plugin) {
  const wire = claim();
  if (wire.input.kind === "terminal") process.stderr.write(hint(plugin, candidates(plugin)[0]));
  new Server(plugin, wire);
}
