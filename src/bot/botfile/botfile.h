/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bot's TOML: [external-plugin-bridge] of an Ayiou bot, with our own additions.
 *
 *	[external-plugin-bridge]
 *	enabled = true
 *	[external-plugin-bridge.plugins.weather]
 *	command = "python3"              looked for in PATH, or a path; no shell
 *	args = ["-u", "weather.py"]
 *	plugin = "weather"               ours, in place of command: an installed plugin, or NAME@VERSION
 *	cwd = "plugins"                  relative to this file, as everything else; default: its directory
 *	env = { KEY = "value" }          added to ours
 *	auto_restart = true              default false: a plugin that died stays dead
 *	max_restarts = 3                 within 20 s
 *	priority = 10                    ours: smaller is earlier, default 100; equal ones in file order
 *	timeout = "60s"                  ours: of handle; or { handle = "60s", matches = "5s" }
 *	prefilter = true                 ours: only texts that begin with one of metadata.commands
 *	enabled = false                  ours: as if it were not there; default true
 *
 *	[bot]                            all of it optional; the first three are Ayiou's own
 *	name = "my bot"
 *	ws_url = "ws://127.0.0.1:3001"   OneBot v11: we connect
 *	access_token = "…"
 *	listen = "ws://127.0.0.1:8081"   ours: it connects to us
 *	ca_file = "ca.pem"               ours: authorities that wss trusts, instead of the system's
 *	cert_file, key_file              ours: who we are, for listen = "wss://…"
 *	api_timeout = "30s"              ours: until a call must be answered
 *	ping = "30s"                     ours: after this much silence the connection is tried
 *
 * Other sections are ignored. An unknown key in these two is a warning.
 */
#ifndef MOR_BOTFILE_BOTFILE_H
#define MOR_BOTFILE_BOTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/url.h"

struct mor_botfile_plugin {
	char *name;   /* its key in the file, which identifies it */
	char *plugin; /* NAME or NAME@VERSION of an installed one; NULL: argv is the whole command */
	/* command and args, NULL-terminated; a command with a slash is absolute. With `plugin`:
	 * args, or NULL */
	char **argv;
	char **env; /* NAME=VALUE, NULL-terminated; or NULL                                         */
	char **set; /* the other keys as settings: "timeouts.handle=60s", NULL-terminated */
	char *cwd;  /* absolute; also among the settings                                            */
	int64_t priority;
	bool auto_restart, prefilter, enabled;
	unsigned line, column; /* its place in the file */
};

/* [bot]. Texts that are not given are NULL; paths are absolute. */
struct mor_botfile_network {
	char *name, *access_token;
	struct mor_url *connect, *listen; /* ws_url, listen */
	char *ca_file, *cert_file, *key_file;
	uint32_t api_ms, ping_ms;
};

struct mor_botfile {
	struct mor_botfile_network network;
	struct mor_botfile_plugin *plugins; /* in the order in which they handle an event */
	size_t count;
	char **warnings; /* NULL-terminated, or NULL */
};

/* MORTISE_ENOTFOUND; MORTISE_EMANIFEST with file, line, column, key and remedy, also if the bridge is
 * disabled or has no plugins. */
int mor_botfile_load(const char *path, struct mor_botfile **ret, mortise_error *err);
struct mor_botfile *mor_botfile_free(struct mor_botfile *bot); /* NULL is fine; returns NULL */
void mor_botfile_plugin_fini(struct mor_botfile_plugin *plugin);
/* Can a process with one config also serve the other? Priority and prefilter concern the bot, not the
 * process. */
bool mor_botfile_plugin_same(const struct mor_botfile_plugin *a, const struct mor_botfile_plugin *b);
bool mor_botfile_network_same(const struct mor_botfile_network *a, const struct mor_botfile_network *b);

#endif
