// SPDX-License-Identifier: Apache-2.0
// tenon/testing: a host for tests. Errors are PluginErrors with the code, message and data that a host sees.
import type { Dialect, Plugin } from "tenon";

/** How a host is made. */
export interface HostOptions {
  /** Default: the first that the plugin's declarations mean; plain for spawn(). */
  dialect?: Dialect;
  /** yams: the configuration for plugin.init. */
  config?: Record<string, unknown>;
}

/** How a plugin is started. */
export interface SpawnOptions extends HostOptions {
  env?: Record<string, string>;
  cwd?: string;
  framing?: "lines" | "be32" | "headers" | "decimal";
}

/** A host with one plugin. */
export interface Host {
  readonly dialect: Dialect;
  /** Pieces that the last call has streamed. */
  readonly streamed: unknown[];
  /** Other notifications of the plugin. */
  readonly notes: { method: string; params: any }[];
  /** gassist: whether the last turn asked something. */
  readonly keepsSession?: boolean;
  /**
   * A method or command by its name, greeted first. gassist: the data of `complete`; sunscreen and ayiou: the
   * result.
   */
  call(name: string, params?: Record<string, unknown> | unknown[]): Promise<any>;
  /** A chat message (ayiou), or the answer to a question (gassist). */
  say(text: string, who?: { user_id?: number; group_id?: number; self_id?: number }): Promise<any>;
  /** yams: the text of a file, by its path or its bytes. */
  extract(source: string | Uint8Array, options?: Record<string, unknown>): Promise<any>;
  /** sunscreen: a hook. */
  hook(name: string, context?: Record<string, unknown>): Promise<any>;
  /** Exactly this request, without a greeting before it. */
  request(method: string, params?: unknown): Promise<any>;
  /** A notification. */
  notify(method: string, params?: unknown): void;
  /** Ends the plugin's input and waits for its end; gives its exit status. */
  close(): Promise<number | string>;
}

/** A host whose plugin is a process. */
export interface SpawnedHost extends Host {
  /** All that it has written there. */
  readonly stderr: string;
  readonly process: import("node:child_process").ChildProcess;
}

/**
 * A host in the same process. Import this module before the plugin, or write `plugin.run(import.meta)` there.
 */
export function runInside(plugin: Plugin, options?: HostOptions): Host;

/** Starts a program, as a host would. */
export function spawn(command: string[], options?: SpawnOptions): SpawnedHost;
