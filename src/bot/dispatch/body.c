/* SPDX-License-Identifier: Apache-2.0 */
/* One process of a bot's plugin: how it starts and how it ends. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "dispatch/bot.h"
#include "lockfile/lockfile.h"
#include "store/store.h"

#define DIALECT "ayiou"

/* ---- its settings ---- */

/* Settings and variables of the file come first, so that --set and --env on the command line win. */
static int join_lists(char *const *own, const struct mor_text_list *more, struct mor_text_list *ret)
{
	int r = 0;

	for (; r == 0 && own && *own; own++)
		r = mor_text_list_add(ret, *own);
	for (size_t i = 0; r == 0 && i < more->count; i++)
		r = mor_text_list_add(ret, more->item[i]);
	return r;
}

/* Which directory it has now. MORTISE_ENOTFOUND: it is not installed; MORTISE_EMANIFEST: it is no plugin for a
 * bot. */
static int find_installed(const struct mor_botfile_plugin *config, char **ret, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed found = { 0 };
	int r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(err) :
							 mor_store_has_place(&store, err);

	if (r == 0 && (r = mor_lockfile_installed(&store, config->plugin, &found, err)) == 0)
		r = mor_fail(err, MORTISE_ENOTFOUND, "no plugin is installed");
	r = r < 0 ? r : 0;
	if (r == 0 && found.dialect && strcmp(found.dialect, DIALECT) != 0)
		r = mor_fail(err, MORTISE_EMANIFEST, "it speaks %s, and the plugins of a bot speak " DIALECT,
			     found.dialect);
	if (r == 0) {
		*ret = mor_take(&found.path);
		r = *ret ? 0 : mor_fail_memory(err);
	}
	mor_installed_fini(&found);
	mor_store_fini(&store);
	return r;
}

/* A program found through PATH belongs to the system, so we do not watch it. */
uint64_t mor_bot_body_print(const struct mor_botfile_plugin *config)
{
	MOR_CLEAN_TEXT char *installed = NULL;
	uint64_t print = MOR_HASH_BEGIN;

	if (config->plugin)
		return find_installed(config, &installed, NULL) == 0 ? mor_hash(installed, strlen(installed)) :
								       print;
	for (char **word = config->argv + !strchr(config->argv[0], '/'); *word; word++) {
		char path[4096];
		struct stat st;

		if (snprintf(path, sizeof(path), "%s/%s", **word == '/' ? "" : config->cwd, *word) >=
			    (int)sizeof(path) ||
		    stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		print = mor_hash_add(print, &st.st_ino, sizeof(st.st_ino));
		print = mor_hash_add(print, &st.st_size, sizeof(st.st_size));
		print = mor_hash_add(print, &st.st_mtim, sizeof(st.st_mtim));
	}
	return print;
}

/* ---- life ---- */

static int open_plugin(struct mor_bot_body *body, mortise_error *err)
{
	struct mor_runner *runner = &body->seat->run->runner;
	struct mor_text_list set = { 0 }, env = { 0 };
	mortise_plugin_options opt;
	int r = body->config.plugin ? find_installed(&body->config, &body->installed, err) : 0;

	if (r < 0) {
		MOR_CLEAN_TEXT char *where =
			mor_text_format("%s: plugin = \"%s\"", body->config.name, body->config.plugin);

		mor_fail_prefix(err, where ? where : body->config.name);
		return r;
	}
	if (join_lists(body->config.set, &runner->set, &set) < 0 ||
	    join_lists(body->config.env, &runner->args->env, &env) < 0) {
		r = mor_fail_memory(err);
	} else {
		mor_runner_plugin_options(runner, body->installed, (const char *const *)body->config.argv,
					  &opt);
		opt.name = body->config.name;
		opt.dialect = DIALECT;
		opt.set = set.item;
		opt.env = env.item;
		opt.on_event = mor_bot_event;
		opt.arg = body;
		r = mor_runner_plugin_new(runner, &opt, NULL, &body->plugin, err);
	}
	mor_free(set.item);
	mor_free(env.item);
	return r;
}

int mor_bot_body_new_take(struct mor_bot_seat *seat, struct mor_botfile_plugin *config,
			  struct mor_bot_body **ret, mortise_error *err)
{
	struct mor_bot_body *body = mor_zalloc(sizeof(*body));
	int r;

	if (!body) {
		mor_botfile_plugin_fini(config);
		return mor_fail_memory(err);
	}
	body->seat = seat;
	body->config = *config;
	*config = (struct mor_botfile_plugin){ 0 };
	body->print = mor_bot_body_print(&body->config);
	mor_list_append(&seat->run->bodies, &body->node);
	r = open_plugin(body, err);
	if (r == 0)
		*ret = body;
	else
		mor_bot_body_free(body);
	return r;
}

void mor_bot_body_free(struct mor_bot_body *body)
{
	mortise_plugin_unref(body->plugin);
	mor_list_remove(&body->node);
	mor_botfile_plugin_fini(&body->config);
	mor_free(body->installed);
	mor_free(body);
}

void mor_bot_body_start(struct mor_bot_body *body)
{
	mortise_error err = { 0 };

	if (mortise_plugin_start(body->plugin, &err) < 0)
		snprintf(body->why, sizeof(body->why), "%.*s", (int)sizeof(body->why) - 1, err.text);
}

bool mor_bot_body_revive(struct mor_bot_body *body)
{
	if (!body->config.auto_restart)
		return false;
	mor_bot_body_start(body);
	return mortise_plugin_state(body->plugin) != MORTISE_STOPPED;
}

bool mor_bot_body_is_over(const struct mor_bot_body *body)
{
	int state = mortise_plugin_state(body->plugin);

	return state == MORTISE_STOPPED || state == MORTISE_FAILED;
}

bool mor_bot_body_is_ready(const struct mor_bot_body *body)
{
	return body && mortise_plugin_state(body->plugin) == MORTISE_READY;
}

void mor_bot_body_retire(struct mor_bot_body *body)
{
	if (!body)
		return;
	body->retired = true;
	mortise_plugin_stop(body->plugin, MORTISE_STOP_POLITE, NULL);
}

void mor_bot_bodies_tend(struct mor_bot_run *run)
{
	MOR_LIST_EACH(node, after, &run->bodies) {
		struct mor_bot_body *body = mor_container_of(node, struct mor_bot_body, node);

		if (body->retired && mor_bot_body_is_over(body))
			mor_bot_body_free(body);
	}
}
