/* SPDX-License-Identifier: Apache-2.0 */
/* mortise outdated: what differs between the project's lock, the store and the registries. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/table.h"
#include "lockfile/lockfile.h"
#include "registry/registry.h"

struct outdated_args {
	bool all;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct outdated_args, name)
static const struct mor_option outdated_options[] = {
	{ "all", 'a', NULL, "all installed plugins, not only those of the project", MOR_OPT_FLAG, FIELD(all),
	  NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", outdated_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

#define DIFFERS 1 /* exit status */

/* One plugin. */
struct state {
	const char *name;
	const struct mor_lockfile_entry *pinned; /* or NULL */
	/* the pinned version, else the current one; without doc: none */
	struct mor_installed used;
	char *place;                            /* of its registry, or NULL */
	char newest[MOR_STORE_VERSION_MAX + 1]; /* in the registry; "": none */
	char what[1200];                        /* "": nothing differs */
};

/* The registries that were read, each once. */
struct outdated_work {
	struct mor_store store;
	struct mor_lockfile lock;
	struct mor_store_list installed;
	struct outdated_place {
		char *path;
		struct mor_registry registry;
		mortise_error err; /* why it cannot be read */
	} * places;
	size_t count, cap;
	struct mor_table table;
	struct mor_buf json;
	struct mor_writer w;
	size_t differences;
};

static void outdated_work_fini(struct outdated_work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		mor_free(work->places[i].path);
		mor_registry_fini(&work->places[i].registry);
	}
	mor_free(work->places);
	mor_store_list_fini(&work->installed);
	mor_lockfile_fini(&work->lock);
	mor_store_fini(&work->store);
	mor_table_fini(&work->table);
	mor_buf_fini(&work->json);
}

/* ---- the three places ---- */

/* NULL: no memory. */
static const struct outdated_place *open_place(struct outdated_work *work, const char *path)
{
	struct outdated_place *place;

	for (size_t i = 0; i < work->count; i++)
		if (strcmp(work->places[i].path, path) == 0)
			return &work->places[i];
	if (mor_grow(&work->places, work->count, &work->cap, sizeof(*work->places)) < 0)
		return NULL;
	place = &work->places[work->count];
	*place = (struct outdated_place){ .path = mor_strdup(path), .registry = MOR_REGISTRY_INIT };
	if (!place->path)
		return NULL;
	work->count++;
	(void)mor_registry_visit(path, false, &place->registry, &place->err);
	return place;
}

static void tell_state(struct state *state, const char *text, const char *more)
{
	size_t len = strlen(state->what);

	snprintf(state->what + len, sizeof(state->what) - len, "%s%s%s", len ? "; " : "", text, more);
}

static void compare_installed(struct state *state)
{
	struct mor_lockfile_facts facts = mor_lockfile_facts_of(&state->used);
	const char *differs;
	bool no_memory;

	if (!state->used.doc) {
		tell_state(state, "not installed", "");
		return;
	}
	differs = state->pinned ? mor_lockfile_differs(state->pinned, &facts, &no_memory) : NULL;
	if (differs)
		tell_state(state,
			   strcmp(differs, "permissions") == 0 ? "installed with other " :
								 "installed with another ",
			   differs);
	else if (!state->used.approved)
		tell_state(state, "not approved", "");
}

/* What the registry has of the version that is used. */
static void compare_listed(struct state *state, const struct mor_registry *registry)
{
	const char *version = state->pinned ? state->pinned->version : state->used.version;
	const char *digest = state->pinned ? state->pinned->digest : state->used.digest;

	for (size_t i = 0; i < registry->count; i++) {
		const struct mor_registry_entry *entry = &registry->items[i];

		if (strcmp(entry->name, state->name) != 0 || strcmp(entry->version, version) != 0)
			continue;
		if (strcmp(entry->digest, digest) != 0)
			tell_state(state, "the registry has another content of ", version);
		return;
	}
	tell_state(state, "the registry does not have ", version);
}

static void compare_newest(struct state *state, const struct mor_registry *registry)
{
	static const struct mor_semver_range any = { .count = 0 };
	const struct mor_registry_entry *newest = mor_registry_newest(registry, state->name, &any);
	const char *version = state->pinned ? state->pinned->version : state->used.version;

	if (!newest)
		return;
	snprintf(state->newest, sizeof(state->newest), "%s", newest->version);
	if (mor_store_compare_versions(newest->version, version) > 0)
		tell_state(state, "newer: ", newest->version);
}

static int compare_registry(struct outdated_work *work, struct state *state, mortise_error *err)
{
	const struct outdated_place *place;

	if (!state->place)
		return 0;
	place = open_place(work, state->place);
	if (!place)
		return mor_fail_memory(err);
	if (place->err.code) {
		tell_state(state, "the registry cannot be read: ", place->err.text);
		return 0;
	}
	compare_listed(state, &place->registry);
	compare_newest(state, &place->registry);
	return 0;
}

/* ---- what is shown ---- */

static void add_json(struct outdated_work *work, const struct state *state)
{
	struct mor_writer *w = &work->w;

	mor_w_object(w);
	mor_w_pair(w, "name", state->name);
	mor_w_pair(w, "locked", state->pinned ? state->pinned->version : NULL);
	mor_w_pair(w, "installed", state->used.doc ? state->used.version : NULL);
	mor_w_pair(w, "newest", state->newest[0] ? state->newest : NULL);
	mor_w_pair(w, "registry", state->place);
	mor_w_pair(w, "differs", state->what[0] ? state->what : NULL);
	mor_w_end(w);
}

static int add_state(struct outdated_work *work, struct state *state, mortise_error *err)
{
	const char *cells[] = { state->name,
				state->pinned ? state->pinned->version : "-",
				state->used.doc ? state->used.version : "-",
				state->newest,
				state->what,
				NULL };
	int r;

	compare_installed(state);
	r = compare_registry(work, state, err);
	if (r < 0)
		return r;
	if (!state->newest[0])
		cells[3] = "-";
	add_json(work, state);
	if (!state->what[0])
		return 0;
	work->differences++;
	mor_table_add(&work->table, cells);
	return 0;
}

/* ---- all of them ---- */

static int add_pinned(struct outdated_work *work, const struct mor_lockfile_entry *pinned, mortise_error *err)
{
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", pinned->name, pinned->version);
	struct state state = { .name = pinned->name, .pinned = pinned };
	int r;

	state.place = pinned->registry ? mor_lockfile_place(&work->lock, pinned->registry) : NULL;
	if (!word || (pinned->registry && !state.place))
		return mor_fail_memory(err);
	r = mor_store_find(&work->store, word, &state.used, err);
	if (r == 0 || r == MORTISE_ENOTFOUND)
		r = add_state(work, &state, err);
	mor_installed_fini(&state.used);
	mor_free(state.place);
	return r;
}

static int add_installed(struct outdated_work *work, struct mor_installed *plugin, mortise_error *err)
{
	const char *place = mor_registry_of(plugin->from);
	struct state state = { .name = plugin->name, .used = *plugin };
	int r;

	state.place = mor_strdup(place);
	if (place && !state.place)
		return mor_fail_memory(err);
	r = add_state(work, &state, err);
	mor_free(state.place);
	return r;
}

static int collect_states(struct outdated_work *work, bool all, mortise_error *err)
{
	int r = mor_lockfile_find(&work->lock, err);

	all = all || r == 0;
	for (size_t i = 0; r >= 0 && i < work->lock.count; i++)
		r = add_pinned(work, &work->lock.items[i], err);
	if (r >= 0 && all)
		r = mor_store_list(&work->store, false, &work->installed, err);
	for (size_t i = 0; r >= 0 && i < work->installed.count; i++)
		if (!mor_lockfile_get(&work->lock, work->installed.items[i].name))
			r = add_installed(work, &work->installed.items[i], err);
	return r < 0 ? r : 0;
}

static int show_states(struct mor_cli *cli, struct outdated_work *work, mortise_error *err)
{
	if (mor_buf_failed(&work->json))
		return mor_fail_memory(err);
	if (cli->console->json) {
		mor_out_json(cli->console, mor_buf_view(&work->json));
		return 0;
	}
	return work->differences ? mor_table_print(&work->table, cli->console, err) : 0;
}

static int find_outdated(struct mor_cli *cli, struct outdated_work *work, mortise_error *err)
{
	static const char *const titles[] = { "NAME", "LOCKED", "INSTALLED", "NEWEST", "WHAT DIFFERS", NULL };
	const struct outdated_args *args = cli->args;
	int r;

	work->w.out = &work->json;
	if (mor_store_open(NULL, NULL, &work->store) < 0)
		return mor_fail_memory(err);
	mor_table_add(&work->table, titles);
	mor_w_object(&work->w);
	mor_w_pair_bool(&work->w, "ok", true);
	mor_w_key(&work->w, "plugins");
	mor_w_array(&work->w);
	r = collect_states(work, args->all, err);
	mor_w_end(&work->w);
	mor_w_pair_int(&work->w, "differences", (int64_t)work->differences);
	mor_w_pair(&work->w, "lock", work->lock.path);
	mor_w_end(&work->w);
	return r < 0 ? r : show_states(cli, work, err);
}

static int outdated_run(struct mor_cli *cli)
{
	MOR_CLEAN(outdated_work) struct outdated_work work = { 0 };
	mortise_error err = { 0 };

	if (cli->words.count || cli->words.tail) {
		mor_fail(&err, MORTISE_EINVAL, "outdated takes no words");
		return mor_report_usage(cli->console, &err);
	}
	if (find_outdated(cli, &work, &err) < 0)
		return mor_report_error(cli->console, &err);
	return work.differences ? DIFFERS : 0;
}

const struct mor_cli_command mor_cli_command_outdated = {
	.row = MOR_CLI_ROW(outdated),
	.usage = "outdated [--all]",
	.words = "",
	.description =
		"In a project: one line for each plugin of its " MOR_LOCKFILE_NAME
		" that is not installed as pinned, or of which\n"
		"the registry has a newer version or another content. Elsewhere, and with --all: the same for "
		"the installed plugins\n"
		"that came from a registry. Nothing is printed if nothing differs.\n"
		"The exit status is 0 if nothing differs, and 1 if something does.",
	.examples = "mortise outdated\nmortise outdated --all --json",
	.options = groups,
	.args_size = sizeof(struct outdated_args),
	.common = FIELD(common),
	.run = outdated_run,
};
