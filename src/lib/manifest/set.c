/* SPDX-License-Identifier: Apache-2.0 */
/* --set section.key=value, and section.key:=JSON. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "manifest/internal.h"

struct assignment {
	char *section, *key;
	const char *value;
	bool json; /* ":=" */
};

static void assignment_fini(struct assignment *a)
{
	mor_free(a->section);
	mor_free(a->key);
}

static const char *origin_of(const struct mor_load *load)
{
	return load->m->embedded ? MOR_ORIGIN_SETTING : MOR_ORIGIN_SET;
}

static int split_assignment(const struct mor_load *load, const char *text, struct assignment *ret)
{
	const char *equals = strchr(text, '='), *dot = strchr(text, '.'), *end = equals;
	char quoted[80];

	if (!equals || !dot || dot > equals || dot == text || dot + 1 == equals ||
	    (dot + 2 == equals && dot[1] == ':')) {
		mor_fail(load->err, MORTISE_EINVAL, "%s \"%s\": write it as section.key=value", origin_of(load),
			 mor_excerpt(mor_slice_of(text), quoted, sizeof(quoted)));
		return MORTISE_EINVAL;
	}
	ret->json = equals[-1] == ':';
	if (ret->json)
		end--;
	ret->section = mor_strndup(text, (size_t)(dot - text));
	ret->key = mor_strndup(dot + 1, (size_t)(end - dot - 1));
	ret->value = equals + 1;
	if (ret->section && ret->key)
		return 0;
	mor_fail_memory_of(load->err, origin_of(load));
	return MORTISE_ENOMEM;
}

/* A JSON scalar if it parses (or an array, for a list), else the text itself. */
static bool reads_as_json(const struct mor_doc *doc, enum mor_key_type type)
{
	enum mor_json_type is = mor_json_type(mor_doc_root(doc));

	switch (type) {
	case MOR_KEY_TEXT: /* --set plugin.version=1.0 */
		return false;
	case MOR_KEY_TEXTS:
	case MOR_KEY_COMMAND:
		return is == MOR_JSON_ARRAY || is == MOR_JSON_STRING;
	case MOR_KEY_NETWORK:
		return is != MOR_JSON_OBJECT;
	default:
		return is != MOR_JSON_ARRAY && is != MOR_JSON_OBJECT;
	}
}

static int read_value(const struct mor_load *load, const struct assignment *a, enum mor_key_type type,
		      struct mor_doc **ret)
{
	MOR_CLEAN(mor_buf) struct mor_buf quoted = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why;
	int r = mor_doc_parse(mor_slice_of(a->value), 0, 0, &doc, &why);

	if (r == MORTISE_ENOMEM)
		return mor_fail_memory_of(load->err, origin_of(load));
	if (r < 0 && a->json)
		return mor_fail(load->err, MORTISE_EINVAL, "%s %s.%s: %s", origin_of(load), a->section, a->key,
				why.text);
	if (r == 0 && (a->json || reads_as_json(doc, type))) {
		*ret = mor_take(&doc);
		return 0;
	}
	mor_buf_json_string(&quoted, mor_slice_of(a->value));
	r = quoted.status ? quoted.status : mor_doc_parse(mor_buf_view(&quoted), 0, 0, ret, NULL);
	return r < 0 ? mor_fail_memory_of(load->err, origin_of(load)) : 0;
}

/* config.a.b=1 is {"a": {"b": 1}}, merged over the present value. */
static int set_config(struct mor_load *load, const char *key, const struct mor_value *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = &text };
	unsigned depth = 0;
	int r;

	for (const char *part = key; part; part = *part ? part + 1 : NULL) {
		size_t len = strcspn(part, ".");

		if (len == 0 || ++depth > 32)
			return mor_fail(load->err, MORTISE_EINVAL, "%s config.%.60s: %s", origin_of(load), key,
					len ? "nested deeper than 32 levels" :
					      "a name between the dots is missing");
		mor_w_object(&w);
		mor_w_key_slice(&w, (struct mor_slice){ part, len });
		part += len;
		if (!*part)
			break;
	}
	mor_w_value(&w, value);
	while (depth-- > 0)
		mor_w_end(&w);
	r = text.status ? text.status : mor_doc_parse(mor_buf_view(&text), 0, 0, &doc, NULL);
	if (r == 0)
		r = mor_config_merge(&load->m->config, mor_doc_root(doc), true);
	return r < 0 ? mor_fail(load->err, r, "%s config.%.60s: %s", origin_of(load), key,
				mortise_status_text(r)) :
		       0;
}

/* Typed paths are relative to the user's working directory. */
static int set_path(struct mor_load *load, const struct assignment *a, const struct mor_value *value)
{
	const char *text = mor_json_text(value, "");
	MOR_CLEAN_TEXT char *absolute = NULL;

	if (strcmp(a->key, "command") == 0 && !strchr(text, '/'))
		return mor_setting_add(load, a->section, a->key, value, origin_of(load));
	absolute = mor_path_absolute(text);
	if (!absolute)
		return mor_fail_memory_of(load->err, origin_of(load));
	return mor_setting_add_text(load, a->section, a->key, absolute, origin_of(load));
}

/* "~/" is resolved later, where the user is known. */
static bool is_path(const struct assignment *a, const struct mor_value *value)
{
	const char *text = mor_json_text(value, "");

	if (!*text)
		return false;
	if (strcmp(a->section, "sandbox") == 0)
		return (strcmp(a->key, "workspace") == 0 || strcmp(a->key, "scratch") == 0) && *text != '~';
	return strcmp(a->section, "plugin") == 0 &&
	       (strcmp(a->key, "cwd") == 0 || strcmp(a->key, "command") == 0);
}

int mor_set_apply(struct mor_load *load, const char *text)
{
	__attribute__((cleanup(assignment_fini))) struct assignment a = { 0 };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	enum mor_key_type type = MOR_KEY_ANY;
	const struct mor_value *value;
	int r = split_assignment(load, text, &a);

	if (r < 0)
		return r;
	if ((r = mor_key_find(origin_of(load), MORTISE_EINVAL, a.section, a.key, &type, load->err)) < 0)
		return r;
	if ((r = read_value(load, &a, type, &doc)) < 0)
		return r;
	value = mor_doc_root(doc);
	if (strcmp(a.section, "config") == 0)
		return set_config(load, a.key, value);
	if (is_path(&a, value))
		return set_path(load, &a, value);
	/* --set sandbox.read=/data: one path is a list too. */
	if (type == MOR_KEY_TEXTS && strcmp(a.section, "sandbox") == 0 &&
	    mor_json_type(value) == MOR_JSON_STRING)
		return mor_setting_add_list(load, a.section, a.key,
					    (const char *const[]){ mor_json_text(value, ""), NULL },
					    origin_of(load));
	return mor_setting_add(load, a.section, a.key, value, origin_of(load));
}
