/* SPDX-License-Identifier: Apache-2.0 */
/* Sunscreen: what its tables cannot express. A command's kind is found in the manifest; `commands` is
 * compared with it. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "dialect/internal.h"

/* ---- the offers: KIND:NAME ---- */

/* Filled by a walk over the offers. */
struct listing {
	struct mor_slice wanted, kind;    /* only offers of this name and kind; absent: any */
	const struct mor_value *other;    /* only offers that this object of kinds does not have; NULL: all */
	const struct mor_value *manifest; /* only offers that this manifest does not have; NULL: all */
	struct mor_buf names;             /* "scaffold:a, hook:b": the matches */
	unsigned matches;
	char found[100]; /* kind of the last match */
};

static bool in_manifest(const struct mor_value *manifest, struct mor_slice kind, struct mor_slice name);

static void take_listed(struct listing *l, struct mor_slice kind, struct mor_slice name)
{
	if ((l->wanted.ptr && !mor_slice_eq(l->wanted, name)) ||
	    (l->kind.ptr && !mor_slice_eq(l->kind, kind)) ||
	    (l->other && mor_json_get_slice(mor_json_get_slice(l->other, kind), name)) ||
	    (l->manifest && in_manifest(l->manifest, kind, name)) || !kind.ptr || !name.ptr ||
	    kind.len >= sizeof(l->found))
		return;
	mor_buf_printf(&l->names, "%s%.*s:%.*s", l->matches++ ? ", " : "", (int)kind.len, kind.ptr,
		       (int)name.len, name.ptr);
	memcpy(l->found, kind.ptr, kind.len);
	l->found[kind.len] = '\0';
}

/* {"scaffold":{"indexer":"..."}}: plugin.toml's [commands], and the answer to "commands". */
static void walk_kinds(const struct mor_value *kinds, struct listing *l)
{
	struct mor_json_iter kind = mor_json_iter(kinds);

	while (mor_json_next(&kind)) {
		struct mor_json_iter name = mor_json_iter(kind.value);

		while (mor_json_type(kind.value) == MOR_JSON_OBJECT && mor_json_next(&name))
			take_listed(l, kind.name, name.name);
	}
}

/* [{"kind":"app","name":"hello"}] and ["post-codama"]: sunscreen-plugin.json. */
static void walk_lists(const struct mor_value *manifest, struct listing *l)
{
	struct mor_json_iter command = mor_json_iter(mor_json_get(manifest, "commands"));
	struct mor_json_iter hook = mor_json_iter(mor_json_get(manifest, "hooks"));

	while (mor_json_next(&command))
		take_listed(l, mor_json_string(mor_json_get(command.value, "kind")),
			    mor_json_string(mor_json_get(command.value, "name")));
	while (mor_json_next(&hook))
		take_listed(l, MOR_SLICE("hook"), mor_json_string(hook.value));
}

/* Either may have no commands. Only plugin.toml has a section [plugin]. */
static bool has_lists(const struct mor_value *manifest)
{
	return mor_json_type(mor_json_get(manifest, "commands")) != MOR_JSON_OBJECT &&
	       !mor_json_get(manifest, "plugin");
}

static void walk(const struct mor_value *manifest, struct listing *l)
{
	if (has_lists(manifest))
		walk_lists(manifest, l);
	else
		walk_kinds(mor_json_get(manifest, "commands"), l);
	mor_buf_byte(&l->names, '\0');
}

static bool in_manifest(const struct mor_value *manifest, struct mor_slice kind, struct mor_slice name)
{
	struct listing l = { .wanted = name, .kind = kind };

	walk(manifest, &l);
	mor_buf_fini(&l.names);
	return l.matches > 0;
}

/* ---- finding the right one ---- */

struct meant {
	char kind[100];
	struct mor_slice name;
};

static int unknown_action(const struct mor_peer *peer, const char *action, mortise_error *err)
{
	struct listing all = { 0 };
	int r;

	walk(peer->manifest, &all);
	r = mor_fail(err, MORTISE_EUNSUPPORTED, "%s: has no command \"%s\": it has %s", peer->name, action,
		     all.matches ? all.names.data : "none");
	mor_buf_fini(&all.names);
	return r;
}

/* "scaffold:indexer", or "indexer" if only one kind has it. If the manifest lists nothing, any name is
 * accepted. */
static int resolve_action(const struct mor_peer *peer, const char *action, struct meant *ret,
			  mortise_error *err)
{
	const char *colon = strchr(action, ':');
	struct listing l = { .wanted = mor_slice_of(colon ? colon + 1 : action) };
	bool lists = mor_json_get(peer->manifest, "commands") || mor_json_get(peer->manifest, "hooks");
	int r = 0;

	if (colon)
		l.kind = (struct mor_slice){ action, (size_t)(colon - action) };
	walk(peer->manifest, &l);
	ret->name = l.wanted;
	if (mor_buf_failed(&l.names))
		r = mor_fail_memory_of(err, peer->name);
	else if (l.matches > 1)
		r = mor_fail(err, MORTISE_EINPUT, "%s: \"%s\" may mean %s: write it out", peer->name, action,
			     l.names.data);
	else if (l.matches == 1)
		memcpy(ret->kind, l.found, sizeof(ret->kind));
	else if (!lists && colon && l.kind.len && l.kind.len < sizeof(ret->kind))
		memcpy(ret->kind, action, l.kind.len);
	else
		r = unknown_action(peer, action, err);
	mor_buf_fini(&l.names);
	return r;
}

static bool is_hook(const struct meant *meant)
{
	return strcmp(meant->kind, "hook") == 0;
}

static const struct mor_method *row_of(const struct mor_peer *peer, const char *name)
{
	return mor_dialect_method(peer->dialect, MOR_FROM_HOST, mor_slice_of(name));
}

/* What the embedder gave, except for the members that we write. */
static void write_rest(struct mor_writer *w, const struct mor_value *params, const char *ours)
{
	struct mor_json_iter it = mor_json_iter(params);

	while (mor_json_type(params) == MOR_JSON_OBJECT && mor_json_next(&it)) {
		if (mor_text_in(it.name, ours))
			continue;
		mor_w_key_slice(w, it.name);
		mor_w_value(w, it.value);
	}
}

/* The method's own name, for callers that bring all its params. */
static bool is_method(const struct mor_peer *peer, const char *action)
{
	const struct mor_method *found = row_of(peer, action);

	return found && found->role == MOR_ROLE_CALL && strcmp(found->name, action) == 0;
}

static bool offers(const struct mor_peer *peer, const char *action)
{
	struct listing l = { .wanted = mor_slice_of(action) };

	walk(peer->manifest, &l);
	mor_buf_fini(&l.names);
	return l.matches > 0;
}

/* ---- hooks: plugin.toml ---- */

/* The spelling of a call in one of the two generations. */
struct spelling {
	const char *hook, *command; /* methods */
	void (*write)(const struct mor_peer *peer, const struct meant *meant, const struct mor_value *given,
		      struct mor_writer *w);
};

static int spell(struct mor_peer *peer, const char *action, struct mor_slice params,
		 const struct spelling *spelling, const struct mor_method **ret_method,
		 struct mor_buf *ret_params, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = ret_params };
	struct meant meant = { 0 };
	int r;

	if (is_method(peer, action) && !offers(peer, action)) {
		*ret_method = row_of(peer, action);
		return 0;
	}
	if ((r = resolve_action(peer, action, &meant, err)) < 0 ||
	    (r = params.ptr ? mor_doc_parse(params, MOR_JSON_NAN, 0, &doc, err) : 0) < 0)
		return r;
	*ret_method = row_of(peer, is_hook(&meant) ? spelling->hook : spelling->command);
	mor_w_object(&w);
	spelling->write(peer, &meant, mor_doc_root(doc), &w);
	mor_w_end(&w);
	return ret_params->status < 0 ? mor_fail_memory_of(err, peer->name) : 0;
}

static void write_toml(const struct mor_peer *peer, const struct meant *meant, const struct mor_value *given,
		       struct mor_writer *w)
{
	MOR_CLEAN(mor_buf) struct mor_buf full = MOR_BUF_INIT;

	(void)peer;
	if (is_hook(meant)) {
		mor_w_pair_slice(w, "name", meant->name);
		write_rest(w, given, "name");
		return;
	}
	mor_buf_printf(&full, "%s:%.*s", meant->kind, (int)meant->name.len, meant->name.ptr);
	mor_w_pair_slice(w, "command", mor_buf_view(&full));
	write_rest(w, given, "command");
}

static int shape_call(struct mor_peer *peer, const char *action, struct mor_slice params,
		      const struct mor_method **ret_method, struct mor_buf *ret_params, mortise_error *err)
{
	static const struct spelling spelling = { "hook", "run", write_toml };

	return spell(peer, action, params, &spelling, ret_method, ret_params, err);
}

/* People have read the file on disk, but the running plugin decides. So a difference is reported. */
static int commands_greeted(struct mor_peer *peer, const struct mor_method *method,
			    const struct mor_value *result, mortise_error *err)
{
	struct listing ours = { .other = result }, theirs = { .manifest = peer->manifest };

	(void)method;
	(void)err;
	if (!peer->manifest || mor_json_type(result) != MOR_JSON_OBJECT)
		return 0;
	walk(peer->manifest, &ours);
	walk_kinds(result, &theirs);
	if (ours.matches || theirs.matches)
		peer->warn(peer,
			   "%s and the plugin's \"commands\" differ: only %s has %.*s; only the plugin has "
			   "%.*s",
			   has_lists(peer->manifest) ? "sunscreen-plugin.json" : "plugin.toml",
			   has_lists(peer->manifest) ? "sunscreen-plugin.json" : "plugin.toml",
			   ours.matches ? (int)ours.names.len - 1 : 7,
			   ours.matches ? ours.names.data : "nothing",
			   theirs.matches ? (int)theirs.names.len : 7,
			   theirs.matches ? theirs.names.data : "nothing");
	mor_buf_fini(&ours.names);
	mor_buf_fini(&theirs.names);
	return 0;
}

const struct mor_hooks mor_sunscreen_hooks = { .shape_call = shape_call, .greeted = commands_greeted };

/* ---- hooks: sunscreen-plugin.json ---- */

static void write_json(const struct mor_peer *peer, const struct meant *meant, const struct mor_value *given,
		       struct mor_writer *w)
{
	mor_w_pair_slice(w, "command", meant->name);
	mor_w_pair(w, "kind", meant->kind);
	mor_w_pair(w, "plugin", mor_json_text(mor_json_get(peer->manifest, "name"), peer->name));
	write_rest(w, given, "command|kind|plugin");
}

static int shape_json_call(struct mor_peer *peer, const char *action, struct mor_slice params,
			   const struct mor_method **ret_method, struct mor_buf *ret_params, mortise_error *err)
{
	static const struct spelling spelling = { "sunscreen.hook/run", "sunscreen.command/run", write_json };

	return spell(peer, action, params, &spelling, ret_method, ret_params, err);
}

const struct mor_hooks mor_sunscreen_json_hooks = { .shape_call = shape_json_call };
