/*
 * The bot's TOML: [external-plugin-bridge] of an Ayiou bot, with our own additions.
 *
 *	[external-plugin-bridge]
 *	enabled = true
 *	[external-plugin-bridge.plugins.weather]
 *	command = "python3"              looked for in PATH, or a path; no shell
 *	args = ["-u", "weather.py"]
 *	cwd = "plugins"                  relative to this file, as everything else; default: its directory
 *	env = { KEY = "value" }          added to ours
 *	auto_restart = true              default false: a plugin that died stays dead
 *	max_restarts = 3                 within 20 s
 *	priority = 10                    ours: smaller is earlier, default 100; equal ones in the order of the file
 *	timeout = "60s"                  ours: of handle; or { handle = "60s", matches = "5s" }
 *	prefilter = true                 ours: only texts that begin with one of metadata.commands
 *
 * Other sections belong to the bot and are not looked at. A key of this section that is not known is a warning.
 */
#ifndef MOR_MANIFEST_BOT_H
#define MOR_MANIFEST_BOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

struct mor_bot_plugin {
	char *name;   /* its key in the file: who it is                                               */
	char **argv;  /* command and args, NULL-terminated; a command with a slash is absolute        */
	char **env;   /* NAME=VALUE, NULL-terminated; or NULL                                         */
	char **set;   /* what the rest amounts to as settings: "timeouts.handle=60s", NULL-terminated */
	int64_t priority;
	bool auto_restart, prefilter;
	unsigned line, column; /* where it stands */
};

struct mor_bot {
	struct mor_bot_plugin *plugins; /* in the order of their turns */
	size_t count;
	char **warnings; /* NULL-terminated, or NULL */
};

/* MORTISE_ENOTFOUND; MORTISE_EMANIFEST with file, line, column, key and remedy: also where the bridge is disabled, or
 * has no plugins. */
int mor_bot_load(const char *path, struct mor_bot **ret, mortise_error *err);
struct mor_bot *mor_bot_free(struct mor_bot *bot); /* NULL is fine; returns NULL */

#endif
