// SPDX-License-Identifier: Apache-2.0
// Tenon for Node: write a plugin that runs as a process and speaks JSON-RPC with its host. These comments are
// the contract; docs/reference/tenon-node.md is made from them.

/** The protocols that a plugin can speak. `mortise explain DIALECT` shows each. */
export type Dialect = "yams" | "ayiou" | "gassist" | "sunscreen" | "sunscreen-json" | "kythe" | "plain";

/** Any value that JSON has. `undefined` and `NaN` are sent as null; a BigInt keeps its digits. */
export type Json = unknown;

/** The names of the types of parameters. */
export type TypeName = "string" | "integer" | "number" | "boolean" | "array" | "object" | "any";

/** One parameter of a function. */
export interface Field {
  /** What a value must be. Default: the type of the first choice, else any. */
  type?: TypeName;
  /** For people, in the manifest. */
  description?: string;
  /** Used where the caller gives none. A field without it is required. */
  default?: Json;
  /** Not required, and without a default: undefined where the caller gives none. */
  optional?: boolean;
  /** The choices. */
  enum?: readonly (string | number)[];
  /** For numbers. */
  minimum?: number;
  /** For numbers. */
  maximum?: number;
}

/**
 * The parameters of a function, in the order in which a command takes them. A bare type name is a field, too.
 */
export type Fields = Readonly<Record<string, Field | TypeName>>;

interface Types {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  array: any[];
  object: Record<string, any>;
  any: any;
}

type ValueOf<F> = F extends TypeName
  ? Types[F]
  : F extends { enum: readonly (infer Choice)[] }
    ? Choice
    : F extends { type: infer Name extends TypeName }
      ? Types[Name]
      : any;

/** What a function gets: the values of its fields, by name. TypeScript infers it from the table. */
export type Args<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { optional: true } ? ValueOf<F[Name]> | undefined : ValueOf<F[Name]>;
};

/** What a function without a table of fields gets: the parameters as they were sent. */
export type Params = Record<string, any>;

/** One call, the last argument of every function. */
export interface Call {
  /** The id of the request. What is sent back has every digit of it, also where this number is rounded. */
  readonly id: Json;
  /** The method on the wire. */
  readonly method: string;
  /** The parameters as they were sent. */
  readonly params: any;
  /** The dialect that the host speaks. */
  readonly dialect: Dialect;
  /** True when the plugin stops: end soon. After two seconds nobody waits any more. */
  readonly cancelled: boolean;
  /** Aborted when `cancelled` becomes true; for fetch, timers and streams. */
  readonly signal: AbortSignal;
  /**
   * Sends a piece of the result before the end. gassist and plain send it at once; the others put it in front
   * of the answer's text. Await it, and a slow host slows you down; without that, what you send waits in
   * memory.
   */
  stream(data: Json): Promise<void>;
  /** How far the work is, from 0 to 1. gassist: a line of its log; plain: a notification; others: stderr. */
  progress(fraction: number, text?: string): Promise<void>;
  /** A line for the log of the host; stderr where the dialect has none. */
  log(level: "debug" | "info" | "warning" | "error", text: string): Promise<void>;
  /** ayiou: the message that is answered. */
  readonly message: Message;
  /** sunscreen: the directory of the workspace. */
  readonly workspace: string;
  /** sunscreen-json: a directory for the plugin's own files. */
  readonly scratch: string;
  /** sunscreen: the workspace's sunscreen.yml. */
  readonly config: Record<string, any>;
  /** sunscreen: the flags as they came. */
  readonly flags: Record<string, any>;
  /** sunscreen: the words as they came. */
  readonly args: string[];
  /** gassist: the conversation so far, { role, content }. sunscreen: the context of a hook. */
  readonly context: any;
  /** gassist: what the engine says about the machine. */
  readonly system_info: string;
  /** yams: what is to be read. */
  readonly source: Source;
  /** yams: the options of the extraction. */
  readonly options: Record<string, any>;
}

/** ayiou: a chat message. Numbers beyond 2^53 are BigInts. */
export interface Message {
  text: string;
  message_type: "private" | "group" | string;
  user_id: number | bigint | null;
  group_id: number | bigint | null;
  raw_message: string;
  self_id: number | bigint | null;
}

/** yams: what is to be read, by path or as bytes. */
export interface Source {
  type: "path" | "bytes";
  path?: string;
  bytes?: Buffer;
  /** The bytes, wherever they are. */
  read(): Promise<Buffer>;
  /** The bytes as UTF-8. */
  text(): Promise<string>;
}

/** What the bot shall do besides the reply. */
export type Action =
  | { type: "reply"; text: string }
  | { type: "image"; url: string }
  | { type: "send"; target_type: "private" | "group"; target_id: number | bigint; message: string };

/** ayiou: an answer to a chat message. `block` (default true): no other plugin gets the message. */
export class Reply {
  constructor(text?: string | null, more?: { actions?: Action[]; handled?: boolean; block?: boolean });
  text?: string;
  actions: Action[];
  handled?: boolean;
  block?: boolean;
}

/** yams: the text of a file, and what is known about it. */
export class Extraction {
  constructor(content: string, metadata?: Record<string, Json>);
  content: string;
  metadata: Record<string, Json>;
}

/** sunscreen: what a command or hook has done. */
export class Done {
  constructor(summary: string, files_written?: string[]);
  summary: string;
  files_written: string[];
}

/**
 * An error with a code and data of its own. Any other error gets the dialect's code, and its stack goes to
 * stderr.
 */
export class PluginError extends Error {
  constructor(code: number, message: string, data?: Json);
  code: number;
  data?: Json;
}

/** A conversation: `const answer = yield "Where to?"`. gassist and ayiou have them. */
export type Conversation = AsyncGenerator<Json, Json, string> | Generator<Json, Json, string>;

/**
 * What a function returns is the result: a text where the dialect wants a text; an object goes through. It
 * may be asynchronous. Code that blocks the event loop blocks the answers to pings, too.
 */
export type Result = Json | Promise<Json> | Conversation;

/** A function with a table of fields. */
export type Work<A> = (args: A, call: Call) => Result;

/** More about a method or command than its name. */
export interface Named {
  /** On the wire. A sunscreen command may be `KIND:NAME`; an ayiou command `roll` is the message `/roll …`. */
  name: string;
  description?: string;
  /** Other names (ayiou). */
  aliases?: string[];
  /** sunscreen: default `scaffold`; sunscreen-json: `app`. */
  kind?: string;
}

/** What a plugin says about itself. */
export interface PluginOptions {
  name: string;
  version: string;
  description?: string;
  author?: string;
  /** The dialect, or several among which the host's first bytes decide. Default: what the declarations mean. */
  dialect?: Dialect | Dialect[];
  /** Refuse parameters that are not declared. */
  strict?: boolean;
  /** kythe: how entries are written. Default: protobuf. */
  encoding?: "protobuf" | "json";
  /** yams: the interfaces of the handshake. Default: content_extractor_v1 where there is an extractor. */
  interfaces?: string[];
  /** yams: more capabilities for the handshake. */
  capabilities?: Record<string, Json>;
  /** sunscreen, for --manifest: what the plugin may do. */
  permissions?: { workspace_write?: boolean; network?: boolean; declared_paths?: string[] };
  /** gassist, for --manifest: whether the engine keeps the process running; without it, true. */
  persistent?: boolean;
}

/** yams: which files an extractor reads. */
export interface ExtractorOptions {
  /** MIME types. */
  formats?: string[];
  /** With or without the dot. */
  extensions?: string[];
}

/** kythe: a name in the graph. */
export interface VName {
  signature?: string;
  corpus?: string;
  root?: string;
  path?: string;
  language?: string;
}

/** kythe: one compilation record. The current directory is its working directory while the analysis runs. */
export interface Unit {
  workingDir: string;
  inputs: string[];
  arguments: string[];
  environment: Record<string, string>;
  output: string;
  entryContext: string;
  outputKey: string;
  details: any[];
}

/** kythe: the call of an analysis. */
export interface Analysis extends Call {
  readonly unit: Unit;
  /** The VName that entries must use for a path of the record; asked once per analysis. */
  vname(path: string, signature?: string): Promise<Required<VName>>;
  /** A fact about a node. */
  fact(source: VName, name: string, value?: string | Uint8Array): void;
  /** An edge between two nodes. */
  edge(source: VName, kind: string, target: VName): void;
  /** One record of any kind, for analyses whose output is not made of entries. */
  record(bytes: string | Uint8Array): void;
  /** A message about the source; line and column count from 1. */
  diagnostic(text: string, place?: { path?: string; line?: number; column?: number }): void;
}

/**
 * Which chat messages a handler takes: those that contain a text, that a pattern finds, or that a function
 * takes.
 */
export type Match = string | RegExp | ((message: Message) => boolean);

/** A plugin: declare it, declare functions, run it. Every declaration returns the plugin. */
export class Plugin {
  constructor(options: PluginOptions);

  /** A method, by its name on the wire; in every dialect. It goes before the library's own of that name. */
  method<const F extends Fields>(
    name: string | Named,
    description: string,
    fields: F,
    work: Work<Args<F>>,
  ): this;
  method<const F extends Fields>(name: string | Named, fields: F, work: Work<Args<F>>): this;
  method(name: string | Named, description: string, work: Work<Params>): this;
  method(name: string | Named, work: Work<Params>): this;

  /**
   * A command: a gassist function, a sunscreen command, an ayiou command, a plain method. gassist and plain
   * give parameters by name; sunscreen by position in the order of the fields, the rest from flags; ayiou the
   * words of the message, where a text that is the last parameter takes the rest of the line. Without fields:
   * sunscreen gives { args, flags }, ayiou { text, words }.
   */
  command<const F extends Fields>(
    name: string | Named,
    description: string,
    fields: F,
    work: Work<Args<F>>,
  ): this;
  command<const F extends Fields>(name: string | Named, fields: F, work: Work<Args<F>>): this;
  command(name: string | Named, description: string, work: Work<Params>): this;
  command(name: string | Named, work: Work<Params>): this;

  /** A hook of sunscreen. It gets the hook's context. */
  hook(name: string | Named, description: string, work: Work<Params>): this;
  hook(name: string | Named, work: Work<Params>): this;

  /** An extractor of yams: gives the text of a file, or an Extraction. */
  extractor(options: ExtractorOptions, work: Work<Source>): this;

  /**
   * A handler of chat messages (ayiou). Commands go first. What returns nothing has not handled the message.
   */
  handler(match: Match, work: Work<Message>): this;
  handler(work: Work<Message>): this;

  /**
   * An analysis (kythe) of records of a type. An error ends the process: the driver tries again in a new one.
   */
  analysis(type: string, work: (unit: Unit, call: Analysis) => void | Promise<void>): this;

  /**
   * Runs before the first call, with the configuration where the dialect has one. An error refuses the start.
   * yams: an object that it returns is the configuration as applied.
   */
  onStart(work: (config: Record<string, any>) => Result): this;

  /** Runs at the end: at shutdown, at the end of stdin, at SIGTERM. */
  onStop(work: () => void | Promise<void>): this;

  /**
   * Serves the host on stdin and stdout, and ends the process when it is done. From here on console.log and
   * children write to stderr. With `import.meta` it serves only if that file is the program that was started;
   * nothing happens where a test imports it. `PROGRAM --manifest [DIALECT]` prints the plugin's manifest,
   * `PROGRAM --help` what it is.
   */
  run(meta?: ImportMeta): void;
}
