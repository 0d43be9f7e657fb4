/* SPDX-License-Identifier: Apache-2.0 */
/* What was learnt, as options and as a [sandbox] table. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "jailed/inside.h"

int mor_learnt_plan(const struct mor_jailed_plan *plan, const struct mor_learn *learn,
		    struct mor_jailed_plan *ret)
{
	int r = 0;

	*ret = *plan;
	ret->write = plan->workspace && (plan->write || learn->write);
	ret->git = plan->workspace && (plan->git || learn->git);
	ret->spawn = plan->spawn || learn->spawn;
	ret->read = (struct mor_text_list){ 0 };
	for (size_t i = 0; r == 0 && i < plan->read.count; i++)
		r = mor_text_list_add(&ret->read, plan->read.item[i]);
	for (size_t i = 0; r == 0 && i < learn->count; i++)
		if (!learn->paths[i].why)
			r = mor_text_list_add(&ret->read, learn->paths[i].path);
	return r;
}

/* --network without a list. */
static bool is_all(const char *word)
{
	return strcmp(word, "true") == 0;
}

/* ---- as options ---- */

static void add_word(struct mor_buf *out, const char *before, const char *word)
{
	mor_buf_text(out, before);
	mor_buf_shell_word(out, word);
}

void mor_learnt_options(const struct mor_jailed_plan *granted, struct mor_buf *out)
{
	const struct {
		const char *option, *value;
	} texts[] = { { " -w ", granted->workspace },
		      { " --plugin-dir ", granted->plugin_dir },
		      { " --scratch ", granted->scratch } };
	const struct {
		const char *option;
		const struct mor_text_list *words;
	} lists[] = { { " --unprotect ", &granted->unprotect },
		      { " --limit ", &granted->limit },
		      { " --env ", &granted->env },
		      { " --read ", &granted->read } };

	mor_buf_text(out, "mortise jail");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].value)
			add_word(out, texts[i].option, texts[i].value);
	mor_buf_printf(out, "%s%s%s", granted->write ? " --write" : "", granted->git ? " --git" : "",
		       granted->spawn ? " --spawn" : "");
	for (size_t i = 0; i < granted->network.count; i++)
		if (is_all(granted->network.item[i]))
			mor_buf_text(out, " --network");
		else
			add_word(out, " --network=", granted->network.item[i]);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (size_t k = 0; k < lists[i].words->count; k++)
			add_word(out, lists[i].option, lists[i].words->item[k]);
	mor_buf_text(out, " --");
	for (const char *const *word = granted->argv; *word; word++)
		add_word(out, " ", *word);
}

/* ---- as [sandbox] ---- */

/* A JSON string is a TOML string, if there is no control character in it. A path that has one is not granted:
 * in a comment it is made printable. */
static void add_text(struct mor_buf *out, const char *text)
{
	char shown[4 * PATH_MAX];

	mor_buf_json_string(out, mor_slice_of(mor_printable(mor_slice_of(text), shown, sizeof(shown))));
}

static void add_real(struct mor_buf *out, const char *path)
{
	char real[PATH_MAX];

	add_text(out, realpath(path, real) ? real : path);
}

static void add_place(struct mor_buf *out, const char *key, const char *path)
{
	if (!path)
		return;
	mor_buf_printf(out, "%s = ", key);
	add_real(out, path);
	mor_buf_byte(out, '\n');
}

static void add_list(struct mor_buf *out, const char *key, const struct mor_text_list *list)
{
	if (!list->count)
		return;
	mor_buf_printf(out, "%s = [", key);
	for (size_t i = 0; i < list->count; i++) {
		mor_buf_text(out, i ? ", " : "");
		add_text(out, list->item[i]);
	}
	mor_buf_text(out, "]\n");
}

static void add_reads(struct mor_buf *out, const struct mor_text_list *read, size_t typed)
{
	if (!read->count)
		return;
	mor_buf_text(out, "read = [\n");
	for (size_t i = 0; i < read->count; i++) {
		mor_buf_text(out, "  ");
		(i < typed ? add_real : add_text)(out, read->item[i]);
		mor_buf_text(out, ",\n");
	}
	mor_buf_text(out, "]\n");
}

/* "files=64" becomes files = 64, "memory=1G" memory = "1G". */
static void add_limits(struct mor_buf *out, const struct mor_text_list *limits)
{
	for (size_t i = 0; i < limits->count; i++) {
		const char *equals = strchr(limits->item[i], '=');

		if (!equals)
			continue;
		mor_buf_printf(out, "%.*s = ", (int)(equals - limits->item[i]), limits->item[i]);
		if (equals[1 + strspn(equals + 1, "0123456789")])
			add_text(out, equals + 1);
		else
			mor_buf_text(out, equals + 1);
		mor_buf_byte(out, '\n');
	}
}

/* What was asked for and is not granted, as comments: a user who knows better moves a line up. */
static void add_withheld(struct mor_buf *out, const struct mor_learn *learn)
{
	enum mor_learn_why last = MOR_LEARN_GRANTED;

	for (size_t i = 0; i < learn->count; i++) {
		const struct mor_learn_path *item = &learn->paths[i];

		if (!item->why)
			continue;
		if (item->why != last)
			mor_buf_printf(out, "# Not granted: %s.\n", mor_learn_why_text(item->why));
		last = item->why;
		if (item->why == MOR_LEARN_NETWORK) {
			mor_buf_text(out, "# network = true\n");
			continue;
		}
		mor_buf_text(out, "#   ");
		add_text(out, item->path);
		mor_buf_text(out, item->why == MOR_LEARN_NEVER ? "\n" : ",\n");
	}
}

void mor_learnt_table(const struct mor_jailed_plan *granted, size_t typed, const struct mor_learn *learn,
		      struct mor_buf *out)
{
	mor_buf_text(out, "[sandbox]\n");
	add_place(out, "workspace", granted->workspace);
	mor_buf_text(out, granted->write ? "workspace_write = true\n" : "");
	mor_buf_text(out, granted->git ? "git = true\n" : "");
	add_list(out, "unprotect", &granted->unprotect);
	mor_buf_text(out, granted->spawn ? "spawn = true\n" : "");
	if (granted->network.count && is_all(granted->network.item[0]))
		mor_buf_text(out, "network = true\n");
	else
		add_list(out, "network", &granted->network);
	add_place(out, "scratch", granted->scratch);
	add_limits(out, &granted->limit);
	add_reads(out, &granted->read, typed);
	add_withheld(out, learn);
}
