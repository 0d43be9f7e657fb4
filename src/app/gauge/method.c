/* SPDX-License-Identifier: Apache-2.0 */
/* Which method to call if the user names none: it must do nothing but answer. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "gauge/gauge.h"

/* Methods that only ask, where the dialect has no ping. */
static const struct harmless {
	const char *dialect, *method, *params;
} questions[] = {
	/* "Does this message concern you?": what the bot asks each plugin for every message. */
	{ "ayiou", "matches", "{\"text\":\"mortise bench\",\"message_type\":\"private\",\"user_id\":1}" },
};

#define SHOWN 12 /* names in the text of an error */

static const struct mor_value *row_with_role(const struct mor_value *table, const char *from, const char *role)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "methods"));

	while (mor_json_next(&it))
		if (strcmp(mor_json_text(mor_json_get(it.value, "from"), ""), from) == 0 &&
		    (!role || strcmp(mor_json_text(mor_json_get(it.value, "role"), ""), role) == 0))
			return it.value;
	return NULL;
}

int mor_gauge_is_called(const char *dialect, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *table = mor_runner_dialect_table(dialect);

	if (!table || row_with_role(mor_doc_root(table), "host", NULL))
		return 0;
	return mor_fail(
		err, MORTISE_EUNSUPPORTED,
		"plugins of the dialect %s are not called: they ask for their work themselves, so there is no "
		"call to measure; 'mortise index --json' tells what an analyzer and its driver use",
		dialect);
}

/* One per line to "a, b, c, ..." */
static void list_names(struct mor_slice offers, struct mor_buf *out)
{
	for (int i = 0; offers.len; i++) {
		const char *end = memchr(offers.ptr, '\n', offers.len);
		size_t len = end ? (size_t)(end - offers.ptr) : offers.len, used = len + (end != NULL);

		if (i == SHOWN) {
			mor_buf_text(out, ", ...");
			return;
		}
		mor_buf_text(out, i ? ", " : "");
		mor_buf_append(out, offers.ptr, len);
		offers = (struct mor_slice){ offers.ptr + used, offers.len - used };
	}
}

static int ask_for_method(const char *dialect, const char *plugin, bool greets, struct mor_slice offers,
			  mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;

	list_names(offers, &names);
	if (mor_buf_failed(&names))
		return mor_fail_memory(err);
	if (names.len)
		return mor_fail(err, MORTISE_EINVAL,
				"name the METHOD to measure: %s has none that is known to do no harm; this "
				"plugin offers %.*s",
				dialect, (int)names.len, names.data);
	if (strcmp(dialect, "plain") == 0) /* also what nobody has said anything about */
		return mor_fail(
			err, MORTISE_EINVAL,
			"name the METHOD to measure: plain has none that is known to do no harm; if the plugin "
			"speaks another protocol, name that (--dialect; 'mortise probe' finds it)");
	if (!greets) /* then nobody can list them */
		plugin = NULL;
	return mor_fail(err, MORTISE_EINVAL,
			"name the METHOD to measure: %s has none that is known to do no harm%s%s%s", dialect,
			plugin ? "; 'mortise info " : "", plugin ? plugin : "",
			plugin ? "' shows what the plugin offers" : "");
}

/* RAW: the names of the table are those on the wire. Without params the host sends its own for a ping. */
int mor_gauge_method(const char *dialect, const char *plugin, struct mor_slice offers,
		     struct mor_gauge_method *ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *table = mor_runner_dialect_table(dialect);
	const struct mor_value *ping = row_with_role(mor_doc_root(table), "host", "ping");

	*ret = (struct mor_gauge_method){ .flags = MORTISE_RAW };
	if (ping) {
		snprintf(ret->name, sizeof(ret->name), "%s", mor_json_text(mor_json_get(ping, "name"), ""));
		return 0;
	}
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (strcmp(questions[i].dialect, dialect) != 0)
			continue;
		snprintf(ret->name, sizeof(ret->name), "%s", questions[i].method);
		ret->params = questions[i].params;
		return 0;
	}
	return ask_for_method(dialect, plugin, row_with_role(mor_doc_root(table), "host", "hello") != NULL,
			      offers, err);
}
