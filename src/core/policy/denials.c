/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of what was denied. See denials.h. */
#include "policy/denials.h"

#include <string.h>

#include "base/alloc.h"

enum { TOLD = 5, CURES = 6 }; /* in one line; --json has all */

void mor_denials_fini(struct mor_denials *denials)
{
	for (size_t i = 0; i < denials->count; i++) {
		mor_free(denials->items[i].syscall);
		mor_free(denials->items[i].path);
	}
	mor_free(denials->items);
	*denials = (struct mor_denials){ 0 };
}

static int add_item(struct mor_denials *denials, const struct mor_record *record)
{
	struct mor_denial item = { .what = record->forbidden,
				   .count = record->count,
				   .allowed = record->allowed != 0,
				   .with_spawn = record->with_spawn != 0 };
	struct mor_denial *items = mor_realloc(denials->items, (denials->count + 1) * sizeof(*denials->items));

	if (!items)
		return MORTISE_ENOMEM;
	denials->items = items;
	item.syscall = mor_strndup(record->syscall, strnlen(record->syscall, sizeof(record->syscall)));
	item.path = mor_strndup(record->path, strnlen(record->path, sizeof(record->path)));
	if (!item.syscall || !item.path) {
		mor_free(item.syscall);
		mor_free(item.path);
		return MORTISE_ENOMEM;
	}
	items[denials->count++] = item;
	return 1;
}

int mor_denials_take(struct mor_denials *denials, const struct mor_record *record)
{
	if (record->kind == MOR_RECORD_EXITED) {
		denials->total = record->count;
		return 0;
	}
	/* Behind the last one: there was no memory for one of them. */
	if (record->index > denials->count || record->index >= MOR_PLAN_NEEDED_MAX ||
	    record->forbidden >= MOR_FORBIDDEN_COUNT)
		return 0;
	if (record->index == denials->count)
		return add_item(denials, record);
	denials->items[record->index].count = record->count;
	return 0;
}

struct mor_violation mor_denials_violation(const struct mor_denial *denial, const char *plugin,
					   enum mor_policy_source source)
{
	const struct mor_forbidden_row *row = &mor_forbidden_rows[denial->what];

	return (struct mor_violation){ .plugin = plugin,
				       .syscall = denial->syscall,
				       .path = denial->path,
				       .rule = row->rule,
				       .source = source,
				       .row = row,
				       .denied = true };
}

/* ---- in one line ---- */

/* Adds the text with a comma, unless it is in `list` already. false: it is. */
static bool add_once(struct mor_buf *list, const char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; list->len && at + len <= list->len; at++)
		if (memcmp(list->data + at, text, len) == 0 && (at == 0 || list->data[at - 1] == ' ') &&
		    (at + len == list->len || list->data[at + len] == ','))
			return false;
	mor_buf_printf(list, "%s%s", list->len ? ", " : "", text);
	return true;
}

/* Different calls for one thing (open and openat) are one deed here. */
static size_t list_deeds(const struct mor_denials *denials, const char *plugin, enum mor_policy_source source,
			 struct mor_buf *out)
{
	size_t told = 0, others = 0;

	for (size_t i = 0; i < denials->count; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf deed = MOR_BUF_INIT;
		struct mor_violation v = mor_denials_violation(&denials->items[i], plugin, source);

		if (denials->items[i].allowed)
			continue;
		if (told == TOLD) {
			others++;
			continue;
		}
		mor_violation_deed(&v, &deed);
		if (denials->items[i].count > 1)
			mor_buf_printf(&deed, " (%llu times)", (unsigned long long)denials->items[i].count);
		if (mor_buf_byte(&deed, '\0') == 0)
			told += add_once(out, deed.data);
	}
	return others;
}

static void list_cures(const struct mor_denials *denials, const char *plugin, enum mor_policy_source source,
		       struct mor_buf *out)
{
	size_t told = 0;

	for (size_t i = 0; i < denials->count && told < CURES; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf cure = MOR_BUF_INIT;
		struct mor_violation v = mor_denials_violation(&denials->items[i], plugin, source);

		if (denials->items[i].allowed)
			continue;
		mor_violation_cure(&v, &cure);
		if (cure.len && mor_buf_byte(&cure, '\0') == 0)
			told += add_once(out, cure.data);
	}
	if (told == CURES)
		mor_buf_text(out, " and so on");
}

int mor_denials_text(const struct mor_denials *denials, const char *plugin, enum mor_policy_source source,
		     struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf deeds = MOR_BUF_INIT, cures = MOR_BUF_INIT;
	uint64_t seen = 0;
	size_t others;

	for (size_t i = 0; i < denials->count; i++)
		seen += denials->items[i].allowed ? 0 : denials->items[i].count;
	if (!seen)
		return out->status;
	others = list_deeds(denials, plugin, source, &deeds);
	list_cures(denials, plugin, source, &cures);
	mor_buf_printf(out, "%s tried to %.*s", plugin, (int)deeds.len, deeds.data ? deeds.data : "");
	if (denials->total > seen) /* beyond what is kept */
		mor_buf_printf(out, " and more than %zu other things", others);
	else if (others)
		mor_buf_printf(out, " and %zu other thing%s", others, others == 1 ? "" : "s");
	if (cures.len)
		mor_buf_printf(out, "; to allow it, %.*s", (int)cures.len, cures.data);
	return deeds.status ? deeds.status : cures.status ? cures.status : out->status;
}

/* ---- for machines ---- */

int mor_denials_json(const struct mor_denials *denials, const char *plugin, enum mor_policy_source source,
		     struct mor_buf *out)
{
	size_t kept = 0, written = 0;

	for (size_t i = 0; i < denials->count; i++)
		kept += !denials->items[i].allowed;
	mor_buf_text(out, "{\"event\":\"sandbox_denials\",\"plugin\":");
	mor_buf_json_string(out, mor_slice_of(plugin));
	mor_buf_printf(out, ",\"total\":%llu,\"kept\":%zu,\"denials\":[", (unsigned long long)denials->total,
		       kept);
	for (size_t i = 0; i < denials->count; i++) {
		struct mor_violation v = mor_denials_violation(&denials->items[i], plugin, source);

		if (denials->items[i].allowed)
			continue;
		mor_buf_text(out, written++ ? ",{" : "{");
		mor_violation_members(&v, out);
		mor_buf_printf(out, ",\"count\":%llu}", (unsigned long long)denials->items[i].count);
	}
	mor_buf_text(out, "]}");
	return out->status;
}

int mor_denials_need_json(const struct mor_denial *need, const char *plugin, enum mor_policy_source source,
			  struct mor_buf *out)
{
	struct mor_violation v = mor_denials_violation(need, plugin, source);

	mor_buf_text(out, "{\"event\":\"sandbox_need\",\"plugin\":");
	mor_buf_json_string(out, mor_slice_of(plugin));
	mor_buf_byte(out, ',');
	mor_violation_members(&v, out);
	mor_buf_printf(out, ",\"with_spawn\":%s,\"action\":\"allowed\"}", need->with_spawn ? "true" : "false");
	return out->status;
}
