/* SPDX-License-Identifier: Apache-2.0 */
/* yams: what its tables cannot express. The params of plugin.init, and the answers to handshake and init. */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "dialect/internal.h"

static bool is_init(const struct mor_method *method)
{
	return method->role == MOR_ROLE_INIT;
}

/* ---- plugin.init's params ---- */

/* {"config": C} and C's own keys beside it: the SDK reads the first, plugins written for the real host read
 * the others. Each ignores the rest. */
static void write_both(const struct mor_value *config, struct mor_writer *w)
{
	struct mor_json_iter it = mor_json_iter(config);

	if (mor_json_type(mor_json_get(config, "config")) == MOR_JSON_OBJECT) {
		mor_w_value(w, config); /* already wrapped by the user */
		return;
	}
	mor_w_object(w);
	mor_w_pair_value(w, "config", config);
	while (mor_json_next(&it)) {
		if (mor_slice_is(it.name, "config"))
			continue;
		mor_w_key_slice(w, it.name);
		mor_w_value(w, it.value);
	}
	mor_w_end(w);
}

/* Only plugin.init has params. The others must not even send {} (a plugin may refuse arguments). With
 * --strict the quirk is ignored. */
static int yams_greet(struct mor_peer *peer, const struct mor_method *method, struct mor_buf *params)
{
	const char *shape = peer->strict ? "spec" : peer->quirk ? peer->quirk(peer, "init_params") : NULL;
	bool raw = shape && strcmp(shape, "raw") == 0, spec = shape && strcmp(shape, "spec") == 0;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice config = peer->config.len ? peer->config : MOR_SLICE("{}");
	struct mor_writer w = { .out = params };
	int r;

	if (!is_init(method))
		return 0;
	if ((r = mor_doc_parse(config, 0, 0, &doc, NULL)) < 0)
		return r;
	if (raw) {
		mor_w_value(&w, mor_doc_root(doc));
	} else if (spec) {
		mor_w_object(&w);
		mor_w_pair_value(&w, "config", mor_doc_root(doc));
		mor_w_end(&w);
	} else {
		write_both(mor_doc_root(doc), &w);
	}
	return params->status;
}

/* ---- its answer ---- */

/* No text says where plugins put the reason; these are the places we have seen. */
static int init_answered(const struct mor_value *result, mortise_error *err)
{
	static const char *const members[] = { "error", "message", "reason" };
	const struct mor_value *status = mor_json_get(result, "status"), *why = NULL;
	char text[200];

	/* The real host reads nothing here, so plugins use "initialized", "ok" and null. */
	if (!mor_slice_is(mor_json_string(status), "error"))
		return 0;
	for (size_t i = 0; i < sizeof(members) / sizeof(*members) && !why; i++)
		if (mor_json_type(mor_json_get(result, members[i])) == MOR_JSON_STRING)
			why = mor_json_get(result, members[i]);
	if (!why)
		why = mor_json_at(result, "/error/message");
	if (mor_json_type(why) != MOR_JSON_STRING)
		return mor_fail(err, MORTISE_EREMOTE,
				"plugin.init answered status \"error\" and gave no reason");
	return mor_fail(err, MORTISE_EREMOTE, "plugin.init answered status \"error\": %s",
			mor_excerpt(mor_json_string(why), text, sizeof(text)));
}

/* ---- the handshake's answer ---- */

enum charset { IN_SPEC, HYPHENS, OUTSIDE };

static enum charset name_charset(struct mor_slice name)
{
	enum charset worst = name.len ? IN_SPEC : OUTSIDE;

	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];

		if (c == '-')
			worst = worst == IN_SPEC ? HYPHENS : worst;
		else if (c >= 0x80 || (!isalnum(c) && c != '_'))
			worst = OUTSIDE;
	}
	return worst;
}

#define OUTSIDE_TEXT "handshake.manifest: /name \"%s\" has other characters than letters, digits and underscore"

/* Real plugins have a hyphen in their names: only the specification forbids it. */
static int check_name(struct mor_peer *peer, struct mor_slice name, mortise_error *err)
{
	enum charset set = name_charset(name);
	char text[80];

	mor_excerpt(name, text, sizeof(text));
	if (set != IN_SPEC && peer->strict)
		return mor_fail(err, MORTISE_EPROTO, OUTSIDE_TEXT, text);
	if (set == OUTSIDE)
		peer->warn(peer, OUTSIDE_TEXT, text);
	return 0;
}

/* MAJOR.MINOR.PATCH, and what semantic versions allow after '-' or '+'. */
static bool is_semantic(struct mor_slice version)
{
	unsigned dots = 0;
	bool digit = false;

	for (size_t i = 0; i < version.len; i++) {
		char c = version.ptr[i];

		if (isdigit((unsigned char)c)) {
			digit = true;
		} else if (c == '.' && digit && dots < 2) {
			dots++;
			digit = false;
		} else {
			return dots == 2 && digit && (c == '-' || c == '+');
		}
	}
	return dots == 2 && digit;
}

static int check_version(struct mor_peer *peer, struct mor_slice version, mortise_error *err)
{
	char text[80];

	if (!peer->strict || is_semantic(version))
		return 0;
	return mor_fail(err, MORTISE_EPROTO,
			"handshake.manifest: /version \"%s\" is not a semantic version (1.0.0)",
			mor_excerpt(version, text, sizeof(text)));
}

/* The real host never reads the handshake if there is a file. So a difference is only a warning. */
static void compare_member(struct mor_peer *peer, const struct mor_value *hello, const char *member)
{
	struct mor_slice said = mor_json_string(mor_json_get(hello, member));
	struct mor_slice file = mor_json_string(mor_json_get(peer->manifest, member));
	char a[80], b[80];

	if (!said.ptr || !file.ptr || mor_slice_eq(said, file))
		return;
	peer->warn(peer, "handshake.manifest: /%s is \"%s\", but %s says \"%s\": the file wins", member,
		   mor_excerpt(said, a, sizeof(a)), peer->dialect->manifest, mor_excerpt(file, b, sizeof(b)));
}

/* True if `identity` announces everything in `list`. */
static bool covers(const struct mor_peer *peer, const struct mor_value *list, const struct mor_value *identity)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it)) {
		struct mor_slice id = mor_interface_id(it.value);

		if (id.ptr && !mor_dialect_announces(peer->dialect, identity, id.ptr))
			return false;
	}
	return true;
}

static void compare_interfaces(struct mor_peer *peer, const struct mor_value *hello)
{
	const struct mor_value *said = mor_json_get(hello, "interfaces");
	const struct mor_value *file = mor_json_get(peer->manifest, "interfaces");
	MOR_CLEAN(mor_buf) struct mor_buf a = MOR_BUF_INIT, b = MOR_BUF_INIT;

	if (mor_json_type(said) != MOR_JSON_ARRAY || mor_json_type(file) != MOR_JSON_ARRAY)
		return;
	if (covers(peer, said, peer->manifest) && covers(peer, file, hello))
		return;
	if (mor_dialect_interfaces(peer->dialect, hello, &a) < 0 ||
	    mor_dialect_interfaces(peer->dialect, peer->manifest, &b) < 0)
		return;
	peer->warn(peer, "handshake.manifest: /interfaces is %.*s, but %s says %.*s: the file wins", (int)a.len,
		   a.data, peer->dialect->manifest, (int)b.len, b.data);
}

/* Missing members only warn: the real host uses the file's stem and "0.0.0" instead. */
static int hello_answered(struct mor_peer *peer, const struct mor_value *result, mortise_error *err)
{
	const struct mor_value *name = mor_json_get(result, "name"), *version = mor_json_get(result, "version");
	int r = 0;

	if (mor_json_type(result) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EPROTO,
				"handshake.manifest answered %s, not an object with name, version and "
				"interfaces",
				mor_json_type_name(mor_json_type(result)));
	if (mor_json_type(name) == MOR_JSON_STRING)
		r = check_name(peer, mor_json_string(name), err);
	else
		peer->warn(peer, "handshake.manifest: /name is missing");
	if (r < 0)
		return r;
	if (mor_json_type(version) == MOR_JSON_STRING)
		r = check_version(peer, mor_json_string(version), err);
	else
		peer->warn(peer, "handshake.manifest: /version is missing");
	if (r < 0)
		return r;
	compare_member(peer, result, "name");
	compare_member(peer, result, "version");
	compare_interfaces(peer, result);
	return 0;
}

static int yams_greeted(struct mor_peer *peer, const struct mor_method *method, const struct mor_value *result,
			mortise_error *err)
{
	if (is_init(method))
		return init_answered(result, err);
	if (method->role == MOR_ROLE_HELLO)
		return hello_answered(peer, result, err);
	return 0;
}

const struct mor_hooks mor_yams_hooks = {
	.greet = yams_greet,
	.greeted = yams_greeted,
};
