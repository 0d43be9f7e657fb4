/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands, in the order in which help lists them: the command's name in C, its name, the program
 * that runs it, its heading in the list, and what it does. From it come the dispatch (main.c), --help,
 * completion and the list of man pages (docs/meson.build reads this file). All else about a command is in its
 * entry (cli.h).
 */
#ifndef MOR_CLI_COMMANDS_H
#define MOR_CLI_COMMANDS_H

#include <stdint.h>

/* The programs (main.c says why there are several): the name in C, the file, and what to install where it is
 * missing. */
#define MOR_CLI_PROGRAMS(X) \
	X(QUICK, "mortise", "mortise") \
	X(FULL, "mortise-full", "all programs of mortise") \
	X(KYTHE, "mortise-kythe", "mortise's part for Kythe, or build it with libzip-dev and libpcre2-dev") \
	X(FARM, "mortise-farm", \
	  "mortise's part for farms, or build it with libpq-dev, libzip-dev and libpcre2-dev") \
	X(BOT, "mortise-bot", "mortise's part for bots, or build it with libwslay-dev and libssl-dev")

/* clang-format off */
#define MOR_CLI_COMMANDS(X) \
	X(call, "call", QUICK, "Use a plugin:", "call one method of a plugin") \
	X(run, "run", QUICK, "Use a plugin:", "run a plugin's command, hook or function") \
	X(chat, "chat", FULL, "Use a plugin:", "talk with a plugin: call functions, answer its questions") \
	X(session, "session", FULL, "Use a plugin:", "keep a plugin running between commands") \
	X(extract, "extract", FULL, "Use a plugin:", "extract the text of files with a YAMS plugin") \
	X(info, "info", FULL, "Know a plugin:", "what a plugin is, offers and needs, and its health") \
	X(explain, "explain", FULL, "Know a plugin:", "explain a protocol, or list those that Mortise speaks") \
	X(probe, "probe", FULL, "Know a plugin:", "find out which protocol a program speaks") \
	X(bench, "bench", FULL, "Know a plugin:", "how fast a plugin is, and where the time goes") \
	X(new, "new", FULL, "Write a plugin:", "make a new plugin's folder: program, manifest, test") \
	X(install, "install", FULL, "Installed plugins:", "install a plugin: see what it may do, and agree") \
	X(list, "list", FULL, "Installed plugins:", "list the installed plugins") \
	X(upgrade, "upgrade", FULL, "Installed plugins:", \
	  "install another version, and see what is different") \
	X(rollback, "rollback", FULL, "Installed plugins:", "go back to another installed version") \
	X(approve, "approve", FULL, "Installed plugins:", \
	  "agree to files of an installed plugin that have changed") \
	X(remove, "remove", FULL, "Installed plugins:", "remove an installed plugin, or one of its versions") \
	X(lock, "lock", FULL, "Installed plugins:", "pin the plugins that a project uses") \
	X(outdated, "outdated", FULL, "Installed plugins:", \
	  "say what differs between lock, installed plugins and registry") \
	X(bundle, "bundle", FULL, "Installed plugins:", "pack a plugin into one file, and sign it") \
	X(key, "key", FULL, "Installed plugins:", "make a key to sign plugins with, or show one") \
	X(trust, "trust", FULL, "Installed plugins:", \
	  "say whose signatures you know, and which plugin directories of YAMS you trust") \
	X(registry, "registry", FULL, "Installed plugins:", \
	  "make a directory with bundles a registry, or list one") \
	X(jail, "jail", QUICK, "This machine:", "run any program confined, as a plugin would be") \
	X(doctor, "doctor", FULL, "This machine:", "what this machine supports, and what to change") \
	X(index, "index", KYTHE, "Kythe:", "run Kythe analyzers over compilation records") \
	X(kzip, "kzip", KYTHE, "Kythe:", "make, show and merge archives of compilation records") \
	X(entries, "entries", KYTHE, "Kythe:", "read entry streams, and the manifests of a farm") \
	X(verify_entries, "verify-entries", KYTHE, "Kythe:", \
	  "check an entry stream against goals in the comments of its sources") \
	X(join, "join", FULL, "Many machines:", "join the parts of a run that was spread over machines") \
	X(worker, "worker", FARM, "Many machines:", "do the work of a farm") \
	X(farm, "farm", FARM, "Many machines:", "make, watch and clean a farm") \
	X(record, "record", QUICK, "Conversations:", "write down what a host and a plugin say to each other") \
	X(replay, "replay", FULL, "Conversations:", \
	  "play a recorded conversation to a plugin, or as a plugin") \
	X(tap, "tap", FULL, "Conversations:", "watch what a host and a plugin say to each other") \
	X(talk, "talk", FULL, "Conversations:", "format .talk files, and compare two") \
	X(check, "check", FULL, "Trials:", "check a plugin, or a host, against its protocol") \
	X(chaos, "chaos", QUICK, "Trials:", "disturb the messages between a host and a plugin") \
	X(completion, "completion", FULL, "This command:", "print a completion script for bash, zsh or fish") \
	X(help, "help", FULL, "This command:", "show the help of a command")
/* clang-format on */

#define X(name, ...) MOR_CLI_##name,
enum mor_cli_program { MOR_CLI_PROGRAMS(X) };
#undef X

/* Texts, not pointers to texts: the quick program has the table, too, and nothing of it is relocated. */
struct mor_cli_row {
	char name[16], group[20], summary[84];
	uint8_t program; /* enum mor_cli_program */
};
extern const struct mor_cli_row mor_cli_rows[];
extern const unsigned mor_cli_row_count;

#define X(name, ...) MOR_CLI_ROW_##name,
enum mor_cli_row_number { MOR_CLI_COMMANDS(X) };
#undef X
#define MOR_CLI_ROW(name) (&mor_cli_rows[MOR_CLI_ROW_##name])

const struct mor_cli_row *mor_cli_row_find(const char *word); /* NULL: no command has this name */

#endif
