/* SPDX-License-Identifier: Apache-2.0 */
/* What a method takes, and whether arguments fit. */
#include "runner/signature.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "console/console.h"

/* ---- parameters ---- */

struct mor_members mor_signature_members(struct mor_signature signature)
{
	return (struct mor_members){ signature.row ? signature.row->params : NULL,
				     mor_json_get(signature.declared, "parameters") };
}

bool mor_signature_wants_text(struct mor_signature signature, struct mor_slice parameter)
{
	return mor_member_is(mor_member_at(mor_signature_members(signature), parameter), "string");
}

/* Members of an object that must be there are shown one by one: "source.type=string". */
static void list_usage(struct mor_buf *out, struct mor_members members, const char *before)
{
	struct mor_member_iter it = mor_member_iter(members);

	while (mor_member_next(&it)) {
		struct mor_slice name = it.at.name;
		struct mor_members within = mor_member_inside(it.at);
		bool must = mor_member_required(members, name);
		const char *type = mor_member_type(it.at);
		char inside[100];

		if (must && mor_members_any(within)) {
			snprintf(inside, sizeof(inside), "%s%.*s.", before, (int)name.len, name.ptr);
			list_usage(out, within, inside);
			continue;
		}
		mor_buf_printf(out, " %s%s%.*s=%s%s", must ? "" : "[", before, (int)name.len, name.ptr,
			       type ? type : "value", must ? "" : "]");
	}
}

static struct mor_slice function_name(struct mor_signature signature)
{
	return signature.row ? mor_slice_of(signature.row->name) :
			       mor_json_string(mor_json_get(signature.declared, "name"));
}

int mor_signature_usage(struct mor_signature signature, struct mor_buf *out)
{
	struct mor_slice name = function_name(signature);

	mor_buf_text(out, name.ptr ? name.ptr : "?");
	list_usage(out, mor_signature_members(signature), "");
	return out->status;
}

/* ---- arguments ---- */

int mor_signature_refuse(struct mor_signature signature, mortise_error *err, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf usage = MOR_BUF_INIT;
	char what[260], shown[220];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	mor_signature_usage(signature, &usage);
	return mor_fail(err, MORTISE_EINPUT, "%s%s: %s", what,
			what[strlen(what) - 1] == '?' ? " Usage" : "; usage",
			mor_printable(mor_buf_view(&usage), shown, sizeof(shown)));
}

/* An object of the arguments: all of them, or a member that is an object itself. */
struct sheet {
	struct mor_signature function; /* for the usage */
	struct mor_members members;
	bool open;          /* others may be there */
	const char *before; /* of its members' names: "source." */
};

static const char *name_of(const struct sheet *sheet, char out[80])
{
	return mor_excerpt(function_name(sheet->function), out, 80);
}

/* The whole name of a member, printable. */
static const char *member_name(const struct sheet *sheet, struct mor_slice name, char out[120])
{
	char word[80];

	snprintf(out, 120, "%s%s", sheet->before, mor_excerpt(name, word, sizeof(word)));
	return out;
}

static const char *nearest_member(const struct sheet *sheet, struct mor_slice given)
{
	struct mor_member_iter it = mor_member_iter(sheet->members);
	char word[80];
	struct mor_nearest near = { .word = mor_excerpt(given, word, sizeof(word)) };

	while (mor_member_next(&it))
		mor_nearest_offer(&near, it.at.name.ptr);
	return mor_nearest_best(&near);
}

/* Where others are allowed too, it must not look like a known one misspelt. */
static int check_unknown(const struct sheet *sheet, struct mor_slice given, mortise_error *err)
{
	const char *best = nearest_member(sheet, given);
	char word[120], name[80];

	if (sheet->open && !best)
		return 0;
	member_name(sheet, given, word);
	return mor_signature_refuse(sheet->function, err, "\"%s\" has no argument \"%s\"%s%s%.80s%s",
				    name_of(sheet, name), word, best ? ": did you mean \"" : "",
				    best ? sheet->before : "", best ? best : "", best ? "\"?" : "");
}

static int check_members(const struct sheet *sheet, const struct mor_value *object, mortise_error *err);

static int check_inside(const struct sheet *sheet, struct mor_member member, const struct mor_value *value,
			mortise_error *err)
{
	char before[128], inside[120];
	struct mor_members members = mor_member_inside(member);
	struct sheet within = { sheet->function, members, mor_members_open(members), before };

	snprintf(before, sizeof(before), "%s.", member_name(sheet, member.name, inside));
	return mor_members_known(members) ? check_members(&within, value, err) : 0;
}

static int check_value(const struct sheet *sheet, struct mor_member member, const struct mor_value *value,
		       mortise_error *err)
{
	char quoted[120], wanted[120], given[80];

	member_name(sheet, member.name, quoted);
	mor_printable_value(value, given, sizeof(given));
	if (mor_json_type(value) == MOR_JSON_NULL)
		return 0; /* the same as absent */
	if (!mor_member_fits(member, value))
		return mor_signature_refuse(sheet->function, err, "argument \"%s\" must be %s, not %s: %s",
					    quoted, mor_member_types(member, wanted),
					    mor_json_type_name(mor_json_type(value)), given);
	if (!mor_member_allows(member, value))
		return mor_signature_refuse(sheet->function, err, "argument \"%s\" must be one of %s, not %s",
					    quoted, mor_member_values(member, wanted), given);
	return mor_json_type(value) == MOR_JSON_OBJECT ? check_inside(sheet, member, value, err) : 0;
}

/* null counts as no value, unless the type allows null. */
static bool has_value(const struct sheet *sheet, struct mor_slice name, const struct mor_value *object)
{
	const struct mor_value *value = mor_json_get_slice(object, name);

	return value && (mor_json_type(value) != MOR_JSON_NULL ||
			 mor_member_fits(mor_member_get(sheet->members, name), value));
}

static int check_required(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	struct mor_slice wanted;
	char name[80], missing[120];

	for (size_t i = 0; (wanted = mor_members_required(sheet->members, i)).ptr; i++)
		if (!has_value(sheet, wanted, object))
			return mor_signature_refuse(sheet->function, err, "\"%s\" needs the argument \"%s\"",
						    name_of(sheet, name), member_name(sheet, wanted, missing));
	return 0;
}

/* ---- only in tables: what depends on other members ---- */

static int check_when(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	char name[80], missing[120];

	for (const struct mor_field *f = sheet->members.fields; f && f->name; f++)
		if (f->when && (f->flags & MOR_F_REQUIRED) && mor_field_applies(f, object) &&
		    !has_value(sheet, mor_slice_of(f->name), object))
			return mor_signature_refuse(sheet->function, err,
						    "\"%s\" needs the argument \"%s\" with %s%s",
						    name_of(sheet, name),
						    member_name(sheet, mor_slice_of(f->name), missing),
						    sheet->before, f->when);
	return 0;
}

static int check_any_of(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	char name[80], list[120];

	for (const struct mor_field *f = sheet->members.fields; f && f->name; f++) {
		if (!(f->flags & MOR_F_ANY_OF))
			continue;
		if (has_value(sheet, mor_slice_of(f->name), object))
			return 0;
		mor_buf_printf(&names, "%s%s%s", names.len ? " or " : "", sheet->before, f->name);
	}
	if (!names.len)
		return 0;
	return mor_signature_refuse(sheet->function, err, "\"%s\" needs %s", name_of(sheet, name),
				    mor_printable(mor_buf_view(&names), list, sizeof(list)));
}

/* ---- all of them ---- */

static int check_members(const struct sheet *sheet, const struct mor_value *object, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(object);
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		struct mor_member member = mor_member_get(sheet->members, it.name);

		r = member.name.ptr ? check_value(sheet, member, it.value, err) :
				      check_unknown(sheet, it.name, err);
	}
	r = r < 0 ? r : check_required(sheet, object, err);
	r = r < 0 ? r : check_when(sheet, object, err);
	return r < 0 ? r : check_any_of(sheet, object, err);
}

int mor_signature_check(struct mor_signature signature, const struct mor_value *arguments, mortise_error *err)
{
	struct sheet all = { signature, mor_signature_members(signature), signature.row, "" };

	return mor_members_known(all.members) ? check_members(&all, arguments, err) : 0;
}
