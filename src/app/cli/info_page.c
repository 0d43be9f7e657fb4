/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for people: absent things are left out, differences are marked. Machines use --json. Every value
 * comes from a plugin or a file, so it is made printable first.
 */
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/info.h"
#include "console/console.h"

/* ---- values as one printable line ---- */

static const char *value_line(const struct mor_value *value, char *out, size_t size)
{
	return mor_printable_value(value, out, size);
}

/* Empty lists and objects are shown no more than null is. */
static bool absent(const struct mor_value *value)
{
	enum mor_json_type type = mor_json_type(value);

	return type == MOR_JSON_MISSING || type == MOR_JSON_NULL ||
	       ((type == MOR_JSON_OBJECT || type == MOR_JSON_ARRAY) && mor_json_size(value) == 0);
}

static void print_row(struct mor_cli *cli, const char *label, const char *text)
{
	mor_outf(cli->console, "%s%s%s", mor_style(cli->console, MOR_STYLE_LABEL), label,
		 mor_style_end(cli->console));
	if (*text)
		mor_outf(cli->console, "%*s%s", 14 - (int)strlen(label), "", text);
	mor_out_text(cli->console, "\n");
}

static void value_row(struct mor_cli *cli, const char *label, const struct mor_value *value)
{
	char text[600];

	if (!absent(value))
		print_row(cli, label, value_line(value, text, sizeof(text)));
}

/* Elements of an array, joined. */
static void list_row(struct mor_cli *cli, const char *label, const struct mor_value *array,
		     const char *separator)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(array);
	char text[300];

	while (mor_json_next(&it)) {
		if (line.len)
			mor_buf_text(&line, separator);
		mor_buf_text(&line, value_line(it.value, text, sizeof(text)));
	}
	mor_buf_byte(&line, '\0');
	if (line.len > 1 && !mor_buf_failed(&line))
		print_row(cli, label, line.data);
}

/* ---- tables ---- */

/* libsmartcols knows how wide a character is on the screen. */
static struct libscols_table *new_table(const char *const *columns, size_t count)
{
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; table && i < count; i++)
		scols_table_new_column(table, columns[i], 0, 0);
	return table;
}

static void add_row(struct libscols_table *table, const char *const *cells, size_t count)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	for (size_t i = 0; line && i < count; i++)
		scols_line_set_data(line, i, cells[i]);
}

static void print_table(struct mor_cli *cli, struct libscols_table *table)
{
	char *text = NULL;

	/* Values are never cut to the terminal's width: people read and copy them. */
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	if (!scols_table_is_empty(table) && scols_print_table_to_string(table, &text) == 0) {
		const char *at = text;

		while (*at) {
			size_t len = strcspn(at, "\n"), used = len;

			while (used && at[used - 1] == ' ')
				used--;
			mor_outf(cli->console, "  %.*s\n", (int)used, at);
			at += len + (at[len] == '\n');
		}
	}
	free(text);
	scols_unref_table(table);
}

/* Values compare as JSON, so 1 and 1.0 are the same, and members may come in any order. */
static const char *verdict(const struct mor_value *given, const struct mor_value *applied)
{
	if (!given)
		return "* added by the plugin";
	if (!applied)
		return "* not applied";
	return mor_json_equal(given, applied) ? "" : "* differs";
}

static void config_row(struct libscols_table *table, struct mor_slice name, const struct mor_value *given,
		       const struct mor_value *applied)
{
	char key[200], left[300], right[300];

	mor_printable(name, key, sizeof(key));
	add_row(table,
		(const char *const[]){ key, given ? value_line(given, left, sizeof(left)) : "-",
				       applied ? value_line(applied, right, sizeof(right)) : "-",
				       verdict(given, applied) },
		4);
}

/* Shows the given configuration beside what the plugin says it applied. */
static void config(struct mor_cli *cli, const struct mor_value *given, const struct mor_value *applied)
{
	static const char *const columns[] = { "KEY", "GIVEN", "APPLIED", "" };
	struct libscols_table *table;
	struct mor_json_iter it;

	if (absent(given) && absent(applied))
		return;
	print_row(cli, "config", absent(applied) ? "(the plugin does not say what it applied)" : "");
	table = new_table(columns, absent(applied) ? 2 : 4);
	if (!table)
		return;
	it = mor_json_iter(given);
	while (mor_json_next(&it))
		config_row(table, it.name, it.value, mor_json_get_slice(applied, it.name));
	it = mor_json_iter(applied);
	while (mor_json_next(&it))
		if (!mor_json_get_slice(given, it.name))
			config_row(table, it.name, NULL, it.value);
	print_table(cli, table);
}

/* The limits in force: dialect, files and command line together. */
static void timeouts(struct mor_cli *cli, const struct mor_value *object)
{
	static const char *const columns[] = { "METHOD", "LIMIT" };
	struct mor_json_iter it = mor_json_iter(object);
	struct libscols_table *table;

	if (absent(object))
		return;
	print_row(cli, "time limits", "");
	table = new_table(columns, 2);
	if (!table)
		return;
	while (mor_json_next(&it)) {
		char name[200], limit[32];
		int64_t ms = mor_json_int(it.value, 0);

		mor_printable(it.name, name, sizeof(name));
		add_row(table,
			(const char *const[]){ name, ms > 0 ? mor_format_ms((uint64_t)ms, limit) : "none" }, 2);
	}
	print_table(cli, table);
}

/* ---- the parts of the page ---- */

static void identity(struct mor_cli *cli, const struct mor_value *d)
{
	char name[200], version[100];
	const struct mor_value *hello = mor_json_get(d, "identity");

	mor_outf(cli->console, "%s%s%s", mor_style(cli->console, MOR_STYLE_TITLE),
		 value_line(mor_json_get(d, "name"), name, sizeof(name)), mor_style_end(cli->console));
	if (!absent(mor_json_get(d, "version")))
		mor_outf(cli->console, " %s", value_line(mor_json_get(d, "version"), version, sizeof(version)));
	mor_out_text(cli->console, "\n");
	value_row(cli, "description", mor_json_get(d, "description"));
	value_row(cli, "author", mor_json_get(hello, "author"));
	value_row(cli, "dialect", mor_json_get(d, "dialect"));
	if (strcmp(mor_json_text(mor_json_get(d, "transport"), "stdio"), "stdio") != 0)
		value_row(cli, "transport", mor_json_get(d, "transport"));
	value_row(cli, "manifest", mor_json_get(d, "manifest"));
	list_row(cli, "command", mor_json_get(d, "command"), " ");
	value_row(cli, "directory", mor_json_get(d, "cwd"));
	list_row(cli, "interfaces", mor_json_get(d, "interfaces"), ", ");
}

/* One row per capability, its members below. */
static void capabilities(struct mor_cli *cli, const struct mor_value *object)
{
	struct mor_json_iter it = mor_json_iter(object);
	char name[200], text[600];

	if (absent(object))
		return;
	if (mor_json_type(object) == MOR_JSON_ARRAY) {
		list_row(cli, "capabilities", object, ", ");
		return;
	}
	print_row(cli, "capabilities", "");
	while (mor_json_next(&it)) {
		struct mor_json_iter member = mor_json_iter(it.value);

		mor_outf(cli->console, "  %s", mor_printable(it.name, name, sizeof(name)));
		if (mor_json_type(it.value) != MOR_JSON_OBJECT)
			mor_outf(cli->console, ": %s", value_line(it.value, text, sizeof(text)));
		mor_out_text(cli->console, "\n");
		while (mor_json_type(it.value) == MOR_JSON_OBJECT && mor_json_next(&member)) {
			mor_outf(cli->console, "    %s: ", mor_printable(member.name, name, sizeof(name)));
			mor_outf(cli->console, "%s\n", value_line(member.value, text, sizeof(text)));
		}
	}
}

/* "    volume (number, required): the volume to set" */
static void parameters(struct mor_cli *cli, const struct mor_value *schema)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(schema, "properties"));

	while (mor_json_next(&it)) {
		struct mor_json_iter required = mor_json_iter(mor_json_get(schema, "required"));
		const struct mor_value *type = mor_json_get(it.value, "type"),
				       *doc = mor_json_get(it.value, "description");
		char name[200], text[600];
		bool must = false;

		while (mor_json_next(&required))
			must = must || mor_slice_eq(mor_json_string(required.value), it.name);
		mor_outf(cli->console, "    %s (%s%s)", mor_printable(it.name, name, sizeof(name)),
			 absent(type) ? "any" : value_line(type, text, sizeof(text)), must ? ", required" : "");
		if (mor_json_string(doc).len)
			mor_outf(cli->console, ": %s", value_line(doc, text, sizeof(text)));
		mor_out_text(cli->console, "\n");
	}
}

/* The actions of the plugin, under the names that users type. */
static void actions(struct mor_cli *cli, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	char text[600];

	if (absent(list))
		return;
	print_row(cli, "actions", "");
	while (mor_json_next(&it)) {
		const struct mor_value *doc = mor_json_get(it.value, "description");

		mor_outf(cli->console, "  %s", value_line(mor_json_get(it.value, "name"), text, sizeof(text)));
		if (!absent(doc))
			mor_outf(cli->console, ": %s", value_line(doc, text, sizeof(text)));
		mor_out_text(cli->console, "\n");
		parameters(cli, mor_json_get(it.value, "parameters"));
	}
}

/* "  weather (天气): what it does". Offers from the manifest are already listed as actions. */
static void commands(struct mor_cli *cli, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	char text[600];

	if (mor_json_type(list) != MOR_JSON_ARRAY || absent(list))
		return;
	print_row(cli, "commands", "");
	while (mor_json_next(&it)) {
		const struct mor_value *doc = mor_json_get(it.value, "description");
		struct mor_json_iter alias = mor_json_iter(mor_json_get(it.value, "aliases"));
		const char *before = " (";

		if (absent(mor_json_get(it.value, "name")))
			continue;
		mor_outf(cli->console, "  %s", value_line(mor_json_get(it.value, "name"), text, sizeof(text)));
		for (; mor_json_next(&alias); before = ", ")
			mor_outf(cli->console, "%s%s", before, value_line(alias.value, text, sizeof(text)));
		mor_out_text(cli->console, *before == ',' ? ")" : "");
		if (mor_json_string(doc).len)
			mor_outf(cli->console, ": %s", value_line(doc, text, sizeof(text)));
		mor_out_text(cli->console, "\n");
	}
}

/* Of a gRPC plugin, as they are called. */
static void service_methods(struct mor_cli *cli, const struct mor_value *service)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(service, "methods"));
	const char *name = mor_json_text(mor_json_get(service, "name"), "");

	while (mor_json_next(&it)) {
		const char *streams = mor_json_text(mor_json_get(it.value, "streams"), NULL);

		mor_outf(cli->console, "  %s/%s (%s) -> %s%s%s%s\n", name,
			 mor_json_text(mor_json_get(it.value, "name"), ""),
			 mor_json_text(mor_json_get(it.value, "input"), ""),
			 mor_json_text(mor_json_get(it.value, "output"), ""), streams ? "; streams (" : "",
			 streams ? streams : "", streams ? "): cannot be called" : "");
	}
}

static void services(struct mor_cli *cli, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	if (mor_json_type(list) != MOR_JSON_ARRAY)
		return;
	print_row(cli, "methods",
		  absent(list) ? "not known: it has no reflection; --proto FILE.desc describes them" : "");
	while (mor_json_next(&it))
		service_methods(cli, it.value);
}

static void state(struct mor_cli *cli, const struct mor_value *d)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	int64_t pid = mor_json_int(mor_json_get(d, "pid"), 0);
	const char *name = mor_json_text(mor_json_get(d, "state"), "unknown");
	bool bad = strcmp(name, "failed") == 0;

	mor_buf_printf(&line, "%s%s%s", mor_style(cli->console, bad ? MOR_STYLE_BAD : MOR_STYLE_GOOD), name,
		       mor_style_end(cli->console));
	if (pid > 0)
		mor_buf_printf(&line, " (process %lld)", (long long)pid);
	mor_buf_byte(&line, '\0');
	if (!mor_buf_failed(&line))
		print_row(cli, "state", line.data);
	value_row(cli, "last error", mor_json_get(d, "last_error"));
}

/* All other members of the answer. */
static void health_result(struct mor_buf *line, const char *result)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;
	char name[100], text[200];
	const char *before = " (";

	if (mor_doc_parse(mor_slice_of(result), MOR_JSON_NAN, 0, &doc, NULL) < 0)
		return;
	it = mor_json_iter(mor_doc_root(doc));
	if (mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT)
		return;
	while (mor_json_next(&it)) {
		if (mor_slice_is(it.name, "status"))
			continue;
		mor_buf_printf(line, "%s%s: ", before, mor_printable(it.name, name, sizeof(name)));
		mor_buf_text(line, value_line(it.value, text, sizeof(text)));
		before = ", ";
	}
	if (*before == ',')
		mor_buf_byte(line, ')');
}

/* The result of our own health question, or what the library knows if we did not ask. */
static void health(struct mor_cli *cli, const struct mor_value *told, const struct mor_info_health *asked)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	const struct mor_value *known = mor_json_get(told, "healthy");
	bool answered = asked->result || asked->error;
	int healthy = mor_json_type(known) == MOR_JSON_BOOL ? mor_json_bool(known, false) : -1;
	char reason[300];

	healthy = answered ? asked->healthy : healthy;
	if (!answered && healthy < 0)
		return;
	if (healthy >= 0)
		mor_buf_printf(&line, "%s%s%s",
			       mor_style(cli->console, healthy ? MOR_STYLE_GOOD : MOR_STYLE_BAD),
			       healthy ? "healthy" : "not healthy", mor_style_end(cli->console));
	if (*asked->status)
		mor_buf_printf(&line, "%s\"%s\"", line.len ? ": " : "", asked->status);
	if (!answered && !absent(mor_json_get(told, "reason")))
		mor_buf_printf(&line, ": %s", value_line(mor_json_get(told, "reason"), reason, sizeof(reason)));
	if (asked->result)
		health_result(&line, asked->result);
	if (asked->error)
		mor_buf_printf(&line, "unknown: %s", asked->error);
	if (answered)
		mor_buf_printf(&line, ", answered in %lld ms", (long long)asked->time_ms);
	mor_buf_byte(&line, '\0');
	if (!mor_buf_failed(&line))
		print_row(cli, "health", line.data);
}

/* The level in force, then one line per permission. The first permission repeats the level, so it is left
 * out. */
static void confinement(struct mor_cli *cli, const struct mor_value *told)
{
	const struct mor_value *policy = mor_json_get(told, "policy");
	struct mor_json_iter it = mor_json_iter(mor_json_get(policy, "text"));
	char text[600];

	value_row(cli, "confinement", mor_json_get(told, "text"));
	if (mor_json_bool(mor_json_get(policy, "unconfined"), false))
		mor_outf(cli->console, "%14s%sas asked: --unconfined or sandbox.unconfined%s\n", "",
			 mor_style(cli->console, MOR_STYLE_WARN), mor_style_end(cli->console));
	for (mor_json_next(&it); mor_json_next(&it);)
		mor_outf(cli->console, "%14s%s\n", "", value_line(it.value, text, sizeof(text)));
}

/* The few counters that people look for; --json has all of them. */
static void counters(struct mor_cli *cli, const struct mor_value *c)
{
	char text[300];

	if (absent(c))
		return;
	snprintf(text, sizeof(text),
		 "%lld calls, %lld failed, %lld timed out; %lld restarts; %lld bytes of noise on stdout",
		 (long long)mor_json_int(mor_json_get(c, "calls"), 0),
		 (long long)mor_json_int(mor_json_get(c, "failed"), 0),
		 (long long)mor_json_int(mor_json_get(c, "timeouts"), 0),
		 (long long)mor_json_int(mor_json_get(c, "restarts"), 0),
		 (long long)mor_json_int(mor_json_get(c, "noise_bytes"), 0));
	print_row(cli, "counters", text);
}

static void warnings(struct mor_cli *cli, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	char text[600];

	while (mor_json_next(&it))
		mor_outf(cli->console, "%s%-13s%s %s\n", mor_style(cli->console, MOR_STYLE_WARN), "warning",
			 mor_style_end(cli->console), value_line(it.value, text, sizeof(text)));
}

/* Any JSON-RPC program, and nothing beside it says what it offers. */
static bool lists_nothing(const struct mor_value *d)
{
	return strcmp(mor_json_text(mor_json_get(d, "dialect"), ""), "plain") == 0 &&
	       absent(mor_json_get(d, "actions")) && absent(mor_json_get(d, "interfaces"));
}

/* First what the plugin is, then how it works, and the warnings last, where people see them. */
void mor_info_page(struct mor_cli *cli, const struct mor_value *d, const struct mor_info_health *asked)
{
	const char *last = mor_json_text(mor_json_get(d, "last_stderr"), "");

	identity(cli, d);
	actions(cli, mor_json_get(d, "actions"));
	if (absent(mor_json_get(d, "actions")))
		commands(cli, mor_json_at(d, "/identity/commands"));
	services(cli, mor_json_at(d, "/identity/services"));
	if (lists_nothing(d))
		print_row(cli, "methods",
			  "not known: plain has no list, and nothing is sent unasked; a program with one "
			  "answers 'mortise call … rpc.discover'");
	capabilities(cli, mor_json_get(d, "capabilities"));
	state(cli, d);
	health(cli, mor_json_get(d, "health"), asked);
	confinement(cli, mor_json_get(d, "confinement"));
	timeouts(cli, mor_json_get(d, "timeouts"));
	config(cli, mor_json_get(d, "config"), mor_json_get(d, "config_applied"));
	counters(cli, mor_json_get(d, "counters"));
	if (*last)
		value_row(cli, "last stderr", mor_json_get(d, "last_stderr"));
	warnings(cli, mor_json_get(d, "warnings"));
}
