/* SPDX-License-Identifier: Apache-2.0 */
/* mortise list: the installed plugins. Only their states are read; no file of a plugin is opened. */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/list.h"
#include "console/report.h"
#include "console/table.h"
#include "store/permissions.h"
#include "store/store.h"

struct list_args {
	bool all;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct list_args, name)
static const struct mor_option list_options[] = {
	{ "all", 'a', NULL, "all versions, not only those in use", MOR_OPT_FLAG, FIELD(all), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", list_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

#define CELL 120

/* ---- the cells ---- */

static void join_offers(const struct mor_value *offers, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(offers);

	while (mor_json_next(&it))
		mor_buf_printf(out, "%s%s", out->len ? ", " : "", mor_json_text(it.value, ""));
	mor_buf_byte(out, '\0');
}

static void write_may(const struct mor_installed *plugin, char *out, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;
	unsigned asked = mor_permissions_asked(plugin->permissions);

	if (!plugin->approved) {
		snprintf(out, size, "not approved");
		return;
	}
	mor_permissions_words(asked, ",", &words);
	snprintf(out, size, "%.*s", asked ? (int)words.len : 1, asked && words.data ? words.data : "-");
}

static void write_run(const struct mor_store_run *run, char *out, size_t size)
{
	struct tm day;
	time_t at = (time_t)run->at;

	if (!run->at || !localtime_r(&at, &day)) {
		snprintf(out, size, "never");
		return;
	}
	snprintf(out, size, "%s %04d-%02d-%02d %02d:%02d", run->status, day.tm_year + 1900, day.tm_mon + 1,
		 day.tm_mday, day.tm_hour, day.tm_min);
}

static void add_row(const struct mor_store *store, const struct mor_installed *plugin, bool all,
		    struct mor_table *table)
{
	MOR_CLEAN(mor_buf) struct mor_buf offers = MOR_BUF_INIT;
	char version[CELL], ran[CELL], may[CELL];
	struct mor_store_run run = { 0 };

	mor_store_run_read(store, plugin->name, &run);
	if (strcmp(run.version, plugin->version) != 0)
		run.at = 0; /* another version has run */
	snprintf(version, sizeof(version), "%s%s", plugin->version, all && plugin->current ? " *" : "");
	write_run(&run, ran, sizeof(ran));
	write_may(plugin, may, sizeof(may));
	join_offers(plugin->offers, &offers);
	table->failed |= mor_buf_failed(&offers);
	if (!table->failed)
		mor_table_add(table, (const char *const[]){ plugin->name, version, plugin->dialect, ran, may,
							    offers.data, NULL });
}

/* ---- printing ---- */

static int show_table(struct mor_cli *cli, const struct mor_store *store, const struct mor_store_list *list,
		      bool all, mortise_error *err)
{
	static const char *const titles[] = { "NAME", "VERSION", "DIALECT", "LAST RUN", "MAY", "OFFERS", NULL };
	struct mor_table table = { 0 };
	int r;

	if (list->count)
		mor_table_add(&table, titles);
	for (size_t i = 0; i < list->count; i++)
		add_row(store, &list->items[i], all, &table);
	r = mor_table_print(&table, cli->console, err);
	mor_table_fini(&table);
	return r;
}

static void show_json(struct mor_cli *cli, const struct mor_store *store, const struct mor_store_list *list)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_store_list_json(store, list, &w);
	mor_cli_list_trusted_json(cli, &w);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int show_list(struct mor_cli *cli, const struct mor_store *store, mortise_error *err)
{
	const struct list_args *args = cli->args;
	struct mor_store_list list = { 0 };
	mortise_error unsafe = { 0 };
	int r = mor_store_list(store, args->all, &list, err);

	if (r < 0)
		return r;
	if (mor_store_check_owner(store, NULL, &unsafe) < 0)
		mor_note(cli->console, "%s", unsafe.text);
	for (char **name = list.damaged; name && *name; name++)
		mor_note(cli->console,
			 "%s: its state.json is damaged: install %s again, or type: mortise remove %s", *name,
			 *name, *name);
	if (cli->console->json)
		show_json(cli, store, &list);
	else
		r = show_table(cli, store, &list, args->all, err);
	if (!list.count && !list.damaged && !cli->console->json)
		mor_note(cli->console, "no plugin is installed%s",
			 store->plugins ? "; mortise install DIR installs one" :
					  ": neither XDG_DATA_HOME nor HOME is an absolute path");
	if (r == 0 && !cli->console->json)
		mor_cli_list_trusted_show(cli);
	mor_store_list_fini(&list);
	return r;
}

static int list_run(struct mor_cli *cli)
{
	struct mor_store store = { 0 };
	mortise_error err = { 0 };
	int r, exit_code = 0;

	if (cli->words.count || cli->words.tail)
		r = mor_fail(&err, MORTISE_EINVAL, "list takes no words");
	else
		r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(&err) :
							     show_list(cli, &store, &err);
	if (r < 0)
		exit_code = mor_report_cause(cli->console, &err);
	mor_store_fini(&store);
	return exit_code;
}

const struct mor_cli_command mor_cli_command_list = {
	.row = MOR_CLI_ROW(list),
	.usage = "list [--all]",
	.words = "",
	.description = "One line per plugin: name, version, protocol, how its last run ended, what you have "
		       "allowed, and what it offers.\n"
		       "Then the YAMS plugins in YAMS' own directories and in those that you trust (mortise "
		       "trust).\n"
		       "Nothing is started, and no installed plugin's files are read.",
	.examples = "mortise list\nmortise list --all\nmortise list --json",
	.options = groups,
	MOR_CLI_ARGS(list_args),
	.run = list_run,
};
