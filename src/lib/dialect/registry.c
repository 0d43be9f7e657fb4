/* SPDX-License-Identifier: Apache-2.0 */
/* The list of dialects, and how to find a row in one. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "dialect/internal.h"
#include "dialect/list.h" /* made from meson.build, which is the registry */

#define DECLARE(name) extern const struct mor_dialect mor_dialect_##name;
MOR_DIALECT_LIST(DECLARE)
#define ADDRESS(name) &mor_dialect_##name,
static const struct mor_dialect *const dialects[] = { MOR_DIALECT_LIST(ADDRESS) NULL };

const struct mor_field mor_strings[] = {
	{ .name = "[]", .type = MOR_T_STRING },
	{ 0 },
};

const struct mor_dialect *const *mor_dialects(void)
{
	return dialects;
}

const struct mor_dialect *mor_dialect_find(const char *name)
{
	for (size_t i = 0; name && dialects[i]; i++)
		if (strcmp(dialects[i]->name, name) == 0)
			return dialects[i];
	return NULL;
}

int mor_dialect_require(const char *name, const struct mor_dialect **ret, mortise_error *err)
{
	const struct mor_dialect *found = mor_dialect_find(name);
	struct mor_nearest near = { .word = name };
	char known[200] = "", quoted[64];
	size_t used = 0;

	if (found) {
		*ret = found;
		return 0;
	}
	for (size_t i = 0; dialects[i] && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 dialects[i]->name);
	if (!name || !*name)
		return mor_fail(err, MORTISE_EMANIFEST, "no dialect is named: this version speaks %s", known);
	mor_excerpt(mor_slice_of(name), quoted, sizeof(quoted));
	for (size_t i = 0; dialects[i]; i++)
		mor_nearest_offer(&near, dialects[i]->name);
	if (mor_nearest_best(&near))
		return mor_fail(err, MORTISE_EMANIFEST,
				"unknown dialect \"%s\": did you mean \"%s\"? (this version speaks %s)", quoted,
				mor_nearest_best(&near), known);
	return mor_fail(err, MORTISE_EMANIFEST, "unknown dialect \"%s\": this version speaks %s", quoted,
			known);
}

/* ---- rows ---- */

const struct mor_timing mor_timing_none;
const struct mor_outcome mor_outcome_none;

const struct mor_method *mor_dialect_method(const struct mor_dialect *dialect, enum mor_side from,
					    struct mor_slice name)
{
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (m->from == from && (mor_slice_is(name, m->name) || mor_text_in(name, m->also)))
			return m;
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (m->from == from && strcmp(m->name, "*") == 0)
			return m;
	return NULL;
}

static bool is_action(const struct mor_method *m, struct mor_slice action)
{
	if (m->from != MOR_FROM_HOST)
		return false;
	return m->action ? mor_slice_is(action, m->action) :
			   mor_slice_is(action, m->name) || mor_text_in(action, m->also);
}

/* If actions are the plugin's own words, one of them may be called "ping" or "shutdown". */
const struct mor_method *mor_dialect_action(const struct mor_dialect *dialect, struct mor_slice action)
{
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if ((m->role == MOR_ROLE_CALL || m->role == MOR_ROLE_INPUT || m->role == MOR_ROLE_NOTE) &&
		    is_action(m, action)) /* not those of the start, health and stop */
			return m;
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (m->action && is_action(m, MOR_SLICE("*")))
			return m;
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (is_action(m, action))
			return m;
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (is_action(m, MOR_SLICE("*")))
			return m;
	return NULL;
}

const struct mor_method *mor_dialect_role(const struct mor_dialect *dialect, enum mor_side from,
					  enum mor_role role, const struct mor_method *after)
{
	for (const struct mor_method *m = after ? after + 1 : dialect->methods; m->name; m++)
		if (m->from == from && m->role == role)
			return m;
	return NULL;
}

bool mor_dialect_is_first(const struct mor_dialect *dialect, const struct mor_method *row)
{
	const struct mor_method *m = dialect->methods;

	while (m->from != row->from || strcmp(m->name, row->name) != 0)
		m++;
	return m == row;
}

const char *mor_dialect_code_name(const struct mor_dialect *dialect, int64_t code)
{
	for (const struct mor_code *c = dialect->codes; c && c->name; c++)
		if (c->code == code)
			return c->name;
	return NULL;
}

int64_t mor_dialect_code_for(const struct mor_dialect *dialect, int status, int64_t fallback)
{
	for (const struct mor_code *c = dialect->codes; c && c->name; c++)
		if (c->status == status)
			return c->code;
	return fallback;
}

const struct mor_quirk *mor_dialect_quirk(const struct mor_dialect *dialect, enum mor_core_quirk core)
{
	for (const struct mor_quirk *q = dialect->quirks; q && q->name; q++)
		if (q->core == core)
			return q;
	return NULL;
}

/* ---- interfaces ---- */

struct mor_slice mor_interface_id(const struct mor_value *element)
{
	if (mor_json_type(element) == MOR_JSON_OBJECT)
		element = mor_json_get(element, "id");
	return mor_json_string(element);
}

/* What the plugin itself lists: an array of ids, or an object with ids as keys. NULL: no list, so the
 * capabilities decide. */
static const struct mor_value *listed_interfaces(const struct mor_dialect *dialect,
						 const struct mor_value *identity)
{
	const struct mor_value *list =
		dialect->offer ? mor_json_at(identity, dialect->offer->interfaces) : NULL;
	enum mor_json_type type = mor_json_type(list);

	return type == MOR_JSON_ARRAY || type == MOR_JSON_OBJECT ? list : NULL;
}

typedef void interface_fn(struct mor_slice id, void *arg);

static void each_interface(const struct mor_dialect *dialect, const struct mor_value *identity,
			   interface_fn *each, void *arg)
{
	const struct mor_value *list = listed_interfaces(dialect, identity);
	const struct mor_inferred *inferred = dialect->offer ? dialect->offer->inferred : NULL;
	struct mor_json_iter it = mor_json_iter(list);

	while (list && mor_json_next(&it)) {
		struct mor_slice id = it.name.ptr ? it.name : mor_interface_id(it.value);

		if (id.ptr)
			each(id, arg);
	}
	for (; !list && inferred && inferred->at; inferred++)
		if (mor_json_at(identity, inferred->at))
			each(mor_slice_of(inferred->interface), arg);
}

struct interface_list {
	struct mor_writer writer;
	int count;
};

static void write_interface(struct mor_slice id, void *arg)
{
	struct interface_list *list = arg;

	mor_w_slice(&list->writer, id);
	list->count++;
}

int mor_dialect_interfaces(const struct mor_dialect *dialect, const struct mor_value *identity,
			   struct mor_buf *out)
{
	struct interface_list list = { .writer = { .out = out } };

	mor_w_array(&list.writer);
	each_interface(dialect, identity, write_interface, &list);
	mor_w_end(&list.writer);
	return out->status < 0 ? out->status : list.count;
}

struct interface_wish {
	const char *name;
	bool found;
};

static void match_interface(struct mor_slice id, void *arg)
{
	struct interface_wish *wish = arg;

	wish->found = wish->found || mor_slice_is(id, wish->name);
}

bool mor_dialect_announces(const struct mor_dialect *dialect, const struct mor_value *identity,
			   const char *interface)
{
	struct interface_wish wish = { .name = interface };

	each_interface(dialect, identity, match_interface, &wish);
	return wish.found;
}
