/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy as JSON, with its words for people. Nothing is claimed that is not enforced. A guarded plugin has no
 * rules for files and network, so none of them is listed.
 */
#include "policy/policy.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* ---- one value ---- */

static void write_list(const char *const *list, struct mor_buf *out)
{
	for (size_t i = 0; list && list[i]; i++)
		mor_buf_printf(out, "%s%s", i ? ", " : "", list[i]);
}

/* The value of the key in this policy, with defaults. */
static const void *field_of(const struct mor_policy *shown, const struct mor_policy_key *key)
{
	return (const char *)shown + key->offset;
}

/* Of a key that is a number; a field of another type is not read. */
static uint64_t number_in(const struct mor_policy_key *key, const void *field)
{
	if (key->type == MOR_POLICY_BYTES)
		return *(const uint64_t *)field;
	return key->flags & MOR_POLICY_LIMIT ? *(const uint32_t *)field : 0;
}

/* For people; "" if the key is not set. */
static void write_value(const struct mor_policy_key *key, const void *field, struct mor_buf *out)
{
	uint64_t number = number_in(key, field);
	char text[32];

	switch (key->type) {
	case MOR_POLICY_LEVEL:
	case MOR_POLICY_DENIAL:
	case MOR_POLICY_BOOL:
		break;
	case MOR_POLICY_PATH:
		mor_buf_text(out, *(char *const *)field ? *(char *const *)field : "");
		break;
	case MOR_POLICY_PATHS:
	case MOR_POLICY_NAMES:
		write_list(*(const char *const *const *)field, out);
		break;
	case MOR_POLICY_NETWORK:
		write_list((const char *const *)((const struct mor_network *)field)->to, out);
		break;
	case MOR_POLICY_BYTES:
		mor_buf_text(out, number ? mor_format_bytes(number, text) : "");
		break;
	case MOR_POLICY_COUNT:
		if (number)
			mor_buf_printf(out, "%llu", (unsigned long long)number);
		break;
	default:
		number *= key->type == MOR_POLICY_SECONDS ? 1000 : 1;
		mor_buf_text(out, number ? mor_format_ms(number, text) : "");
	}
}

/* ---- lines ---- */

/* The table's text with the value in place of %s. */
static void fill_hole(const char *text, struct mor_slice value, struct mor_buf *out)
{
	const char *hole = strstr(text, "%s");

	mor_buf_append(out, text, hole ? (size_t)(hole - text) : strlen(text));
	if (hole) {
		mor_buf_slice(out, value);
		mor_buf_text(out, hole + 2);
	}
}

static const char *level_text(const struct mor_policy *policy)
{
	switch (policy->level) {
	case MOR_LEVEL_AUTO:
		return "confined (auto: t1 where this machine allows it, else t0)";
	case MOR_LEVEL_T0:
		return "confined (t0: Landlock, seccomp and a broker)";
	case MOR_LEVEL_T1:
		return "confined (t1: Landlock, seccomp and a broker, in namespaces with a minimal root)";
	case MOR_LEVEL_GUARDED:
		break;
	}
	return policy->unconfined ?
		       "NOT CONFINED, as asked: it may do whatever this user may; all its processes are killed "
		       "with it" :
		       "not confined (guarded): it may do whatever this user may; it gains no privileges, and "
		       "all its processes are killed with it";
}

/* NULL: the key does not apply to this policy. */
static const char *text_of(const struct mor_policy *policy, const struct mor_policy_key *key, bool present)
{
	if (key->type == MOR_POLICY_LEVEL)
		return level_text(policy);
	if ((key->flags & MOR_POLICY_RULE || !(key->flags & MOR_POLICY_SETTING) ||
	     key->type == MOR_POLICY_DENIAL) &&
	    !mor_policy_confined(policy))
		return NULL;
	/* Writing and its exceptions apply only to a workspace. */
	if (key->offset == offsetof(struct mor_policy, workspace) && !present && policy->workspace_later)
		return "may read the workspace that it is run for";
	if (key->offset == offsetof(struct mor_policy, workspace_write) && !policy->workspace &&
	    !policy->workspace_later)
		return NULL;
	if ((key->offset == offsetof(struct mor_policy, protected_paths) ||
	     key->offset == offsetof(struct mor_policy, unprotect) ||
	     key->offset == offsetof(struct mor_policy, git)) &&
	    !(policy->workspace && policy->workspace_write))
		return NULL;
	if (key->type == MOR_POLICY_NETWORK && policy->network.to)
		return "may connect (TCP only, no name service) to: %s";
	if (key->offset == offsetof(struct mor_policy, workspace_write) && mor_policy_writes_own_code(policy))
		return "may write in the workspace, where its own code is: it can change what runs next time";
	return present ? key->text : key->text_no;
}

/* The policy with its defaults filled in; borrows everything. */
static struct mor_policy in_force(const struct mor_policy *policy)
{
	struct mor_policy shown = *policy;

	shown.limits = mor_policy_limits(policy);
	shown.protected_paths = (char **)(uintptr_t)mor_policy_protected(policy);
	/* The namespaces of t1 include this one. */
	shown.pidns = policy->pidns || policy->level == MOR_LEVEL_T1;
	return shown;
}

static bool is_present(const struct mor_policy_key *key, const void *field, const struct mor_buf *value)
{
	if (key->type == MOR_POLICY_BOOL)
		return *(const bool *)field;
	if (key->type == MOR_POLICY_DENIAL)
		return *(const enum mor_on_denial *)field == MOR_ON_DENIAL_KILL;
	return value->len > 0 || (key->type == MOR_POLICY_NETWORK && ((const struct mor_network *)field)->all);
}

int mor_policy_limits_set(const struct mor_policy *policy, struct mor_buf *out)
{
	for (const struct mor_policy_key *key = mor_policy_keys; key->name; key++) {
		MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;

		if (key->flags & MOR_POLICY_LIMIT)
			write_value(key, field_of(policy, key), &value);
		if (value.len)
			mor_buf_printf(out, "%ssandbox.%s %.*s", out->len ? ", " : "", key->name,
				       (int)value.len, value.data);
	}
	return out->status;
}

/* ---- JSON ---- */

static void json_list(const char *const *list, struct mor_buf *out)
{
	mor_buf_byte(out, '[');
	for (size_t i = 0; list && list[i]; i++) {
		mor_buf_text(out, i ? "," : "");
		mor_buf_json_string(out, mor_slice_of(list[i]));
	}
	mor_buf_byte(out, ']');
}

static void json_network(const struct mor_network *network, struct mor_buf *out)
{
	if (network->to)
		json_list((const char *const *)network->to, out);
	else
		mor_buf_text(out, network->all ? "true" : "false");
}

/* Numbers in the unit of the struct: bytes, seconds (cpu), milliseconds (wall). */
static void json_value(const struct mor_policy_key *key, const void *field, struct mor_buf *out)
{
	uint64_t number;

	switch (key->type) {
	case MOR_POLICY_LEVEL:
		mor_buf_json_string(out, mor_slice_of(mor_level_name(*(const enum mor_level *)field)));
		break;
	case MOR_POLICY_DENIAL:
		mor_buf_json_string(out, mor_slice_of(mor_on_denial_name(*(const enum mor_on_denial *)field)));
		break;
	case MOR_POLICY_BOOL:
		mor_buf_text(out, *(const bool *)field ? "true" : "false");
		break;
	case MOR_POLICY_PATH:
		if (*(char *const *)field)
			mor_buf_json_string(out, mor_slice_of(*(char *const *)field));
		else
			mor_buf_text(out, "null");
		break;
	case MOR_POLICY_PATHS:
	case MOR_POLICY_NAMES:
		json_list(*(const char *const *const *)field, out);
		break;
	case MOR_POLICY_NETWORK:
		json_network(field, out);
		break;
	default:
		if ((number = number_in(key, field)))
			mor_buf_printf(out, "%llu", (unsigned long long)number);
		else
			mor_buf_text(out, "null");
	}
}

static int json_lines(const struct mor_policy *shown, struct mor_buf *out)
{
	const char *comma = "";

	for (const struct mor_policy_key *key = mor_policy_keys; key->name; key++) {
		MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT, line = MOR_BUF_INIT;
		const void *field = field_of(shown, key);
		const char *text;

		write_value(key, field, &value);
		text = text_of(shown, key, is_present(key, field, &value));
		if (!text)
			continue;
		fill_hole(text, mor_buf_view(&value), &line);
		if (value.status || line.status)
			return MORTISE_ENOMEM;
		mor_buf_text(out, comma);
		mor_buf_json_string(out, mor_buf_view(&line));
		comma = ",";
	}
	return 0;
}

int mor_policy_json(const struct mor_policy *policy, struct mor_buf *out)
{
	struct mor_policy shown = in_force(policy);
	int r;

	for (const struct mor_policy_key *key = mor_policy_keys; key->name; key++) {
		mor_buf_printf(out, "%s\"%s\":", key == mor_policy_keys ? "{" : ",", key->name);
		/* A rule that is not enforced is null. "false" would look like a promise. */
		if (!(key->flags & MOR_POLICY_RULE || key->type == MOR_POLICY_DENIAL) ||
		    mor_policy_confined(policy))
			json_value(key, field_of(&shown, key), out);
		else
			mor_buf_text(out, "null");
	}
	mor_buf_text(out, ",\"text\":[");
	r = json_lines(&shown, out);
	mor_buf_text(out, "]}");
	return r < 0 ? r : out->status;
}
