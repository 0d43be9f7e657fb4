/* SPDX-License-Identifier: Apache-2.0 */
/* The list of settings: adding one checks it, and a look-up finds the last one. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "manifest/internal.h"

void mor_settings_free(struct mor_list *settings)
{
	struct mor_list *node;

	while ((node = mor_list_pop(settings)))
		mor_free(mor_container_of(node, struct mor_setting, node));
}

void mor_settings_drop(struct mor_list *settings, const char *origin)
{
	MOR_LIST_EACH(node, after, settings) {
		struct mor_setting *setting = mor_container_of(node, struct mor_setting, node);

		if (strcmp(setting->origin, origin) == 0) {
			mor_list_remove(node);
			mor_free(setting);
		}
	}
}

/* ---- typed values ---- */

/* For a string its content, for a number its digits. */
static struct mor_slice plain_text(const struct mor_setting *setting)
{
	return mor_slice_of(setting->text ? setting->text : setting->json);
}

/* The value as JSON: already on one line and without control characters. Not cut inside a character. */
static int wrong_setting(const struct mor_setting *s, int code, const char *wanted, mortise_error *err)
{
	size_t len = strlen(s->json), shown = len > 80 ? 80 : len;

	while (shown < len && ((unsigned char)s->json[shown] & 0xc0) == 0x80)
		shown--;
	return mor_fail(err, code, "%s: %s.%s is %.*s%s: it must be %s", s->origin, s->section, s->key,
			(int)shown, s->json, shown < len ? "..." : "", wanted);
}

#define WANT_DURATION "a time such as \"30s\", \"500ms\" or \"2m\""
#define WANT_BYTES    "a size such as 4096, \"64K\" or \"10M\""
#define WANT_UINT     "a whole number that is not negative"
#define WANT_BOOL     "true or false"

/* JSON and TOML can contain a NUL, but an argument, path or variable cannot. */
static bool is_text(const struct mor_value *value)
{
	return mor_json_type(value) == MOR_JSON_STRING &&
	       strlen(mor_json_text(value, "")) == mor_json_string(value).len;
}

static bool is_texts(const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(value);

	if (mor_json_type(value) != MOR_JSON_ARRAY)
		return false;
	while (mor_json_next(&it))
		if (!is_text(it.value))
			return false;
	return true;
}

/* An empty first word would be searched in PATH and give a confusing "not found". */
static bool is_command(const struct mor_value *value)
{
	if (mor_json_type(value) == MOR_JSON_STRING)
		return is_text(value) && mor_json_string(value).len > 0;
	return is_texts(value) && mor_json_string(mor_json_at(value, "/0")).len > 0;
}

/* The expected type, or NULL if the value has it. */
static const char *objection(const struct mor_setting *s, enum mor_key_type type, const struct mor_value *value)
{
	uint32_t number;
	uint64_t size;

	switch (type) {
	case MOR_KEY_TEXT:
		return s->text ? NULL : "a string";
	case MOR_KEY_TEXTS:
		return is_texts(value) ? NULL : "an array of strings";
	case MOR_KEY_COMMAND:
		return is_command(value) ? NULL : "a program, or an array with a program and its arguments";
	case MOR_KEY_DURATION:
		return mor_parse_duration_ms(plain_text(s), &number) ? NULL : WANT_DURATION;
	case MOR_KEY_BYTES:
		return mor_parse_bytes(plain_text(s), &size) ? NULL : WANT_BYTES;
	case MOR_KEY_UINT:
		return mor_parse_u32(plain_text(s), &number) ? NULL : WANT_UINT;
	case MOR_KEY_BOOL:
		return mor_json_type(value) == MOR_JSON_BOOL ? NULL : WANT_BOOL;
	case MOR_KEY_NETWORK: /* what the strings mean is in policy/network.h */
		return mor_json_type(value) == MOR_JSON_BOOL || s->text || is_texts(value) ?
			       NULL :
			       "true, false or an array of strings";
	case MOR_KEY_ANY:
		break;
	}
	return NULL;
}

/* ---- adding ---- */

/* [env] PORT = 8080 means the text, because an environment holds only texts. */
static bool counts_as_text(const char *section, const struct mor_value *value)
{
	enum mor_json_type type = mor_json_type(value);

	return type == MOR_JSON_STRING ||
	       (strcmp(section, "env") == 0 && (type == MOR_JSON_NUMBER || type == MOR_JSON_BOOL));
}

/* The copy, in the block that `free_at` is a part of. */
static const char *place_text(char **free_at, const char *text)
{
	char *copy = *free_at;
	size_t size = strlen(text) + 1;

	memcpy(copy, text, size);
	*free_at += size;
	return copy;
}

/* One block: many plugins have many settings. */
static struct mor_setting *setting_new(const char *section, const char *key, const struct mor_value *value,
				       const char *origin)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_setting *s;
	const char *text;
	char *free_at;

	mor_json_write(value, false, &json);
	if (mor_buf_byte(&json, '\0') < 0)
		return NULL;
	text = counts_as_text(section, value) ? mor_json_text(value, json.data) : NULL;
	s = mor_zalloc(sizeof(*s) + strlen(section) + strlen(key) + strlen(origin) + json.len +
		       (text ? strlen(text) : 0) + 4);
	if (!s)
		return NULL;
	mor_list_init(&s->node);
	free_at = (char *)(s + 1);
	s->section = place_text(&free_at, section);
	s->key = place_text(&free_at, key);
	s->origin = place_text(&free_at, origin);
	s->json = place_text(&free_at, json.data);
	s->text = text ? place_text(&free_at, text) : NULL;
	return s;
}

static bool is_given(const char *origin)
{
	return strcmp(origin, MOR_ORIGIN_SET) == 0 || strcmp(origin, MOR_ORIGIN_SETTING) == 0;
}

bool mor_setting_was_given(const struct mor_setting *setting)
{
	return is_given(setting->origin);
}

int mor_setting_add(struct mor_load *load, const char *section, const char *key, const struct mor_value *value,
		    const char *origin)
{
	int code = is_given(origin) ? MORTISE_EINVAL : MORTISE_EMANIFEST;
	enum mor_key_type type = MOR_KEY_ANY;
	struct mor_setting *s;
	const char *wanted;
	int r = mor_key_find(origin, code, section, key, &type, load->err);

	if (r < 0)
		return r;
	s = setting_new(section, key, value, origin);
	if (!s)
		return mor_fail_memory_of(load->err, origin);
	wanted = objection(s, type, value);
	if (!wanted && strcmp(section, "env") == 0)
		wanted = !*s->key || strchr(s->key, '=') ? "set under a name without \"=\"" : NULL;
	if (!wanted && mor_json_type(value) == MOR_JSON_STRING && !is_text(value))
		wanted = "free of NUL characters";
	if (wanted) {
		r = wrong_setting(s, code, wanted, load->err);
		mor_free(s);
		return r;
	}
	mor_list_append(&load->m->settings, &s->node);
	return 0;
}

static int add_json(struct mor_load *load, const char *section, const char *key, struct mor_buf *json,
		    const char *origin)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = json->status ? json->status : mor_doc_parse(mor_buf_view(json), 0, 0, &doc, NULL);

	if (r < 0)
		return mor_fail(load->err, r, "%s: %s.%s: %s", origin, section, key, mortise_status_text(r));
	return mor_setting_add(load, section, key, mor_doc_root(doc), origin);
}

int mor_setting_add_text(struct mor_load *load, const char *section, const char *key, const char *text,
			 const char *origin)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	mor_buf_json_string(&json, mor_slice_of(text));
	return add_json(load, section, key, &json, origin);
}

int mor_setting_add_list(struct mor_load *load, const char *section, const char *key, const char *const *list,
			 const char *origin)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_array(&w);
	for (size_t i = 0; list[i]; i++)
		mor_w_string(&w, list[i]);
	mor_w_end(&w);
	return add_json(load, section, key, &json, origin);
}

/* ---- looking up ---- */

/* From the end: later wins. The lists are short, and read once per start. */
bool mor_setting_came_along(const struct mor_setting *setting)
{
	static const char name[] = "mortise.toml:";
	const char *slash = strrchr(setting->origin, '/');

	return strncmp(slash ? slash + 1 : setting->origin, name, sizeof(name) - 1) == 0;
}

const struct mor_setting *mor_manifest_setting(const struct mor_manifest *manifest, const char *section,
					       const char *key)
{
	for (const struct mor_list *node = manifest->settings.prev; node != &manifest->settings;
	     node = node->prev) {
		const struct mor_setting *s = mor_container_of(node, struct mor_setting, node);

		if (strcmp(s->section, section) == 0 && strcmp(s->key, key) == 0)
			return s;
	}
	return NULL;
}

int mor_manifest_duration(const struct mor_manifest *m, const char *section, const char *key, uint32_t *ret_ms,
			  mortise_error *err)
{
	const struct mor_setting *s = mor_manifest_setting(m, section, key);

	if (!s)
		return 0;
	return mor_parse_duration_ms(plain_text(s), ret_ms) ?
		       1 :
		       wrong_setting(s, MORTISE_EMANIFEST, WANT_DURATION, err);
}

int mor_manifest_bytes(const struct mor_manifest *m, const char *section, const char *key, size_t *ret,
		       mortise_error *err)
{
	const struct mor_setting *s = mor_manifest_setting(m, section, key);
	uint64_t size;

	if (!s)
		return 0;
	if (!mor_parse_bytes(plain_text(s), &size) || size > SIZE_MAX)
		return wrong_setting(s, MORTISE_EMANIFEST, WANT_BYTES, err);
	*ret = (size_t)size;
	return 1;
}

int mor_manifest_uint(const struct mor_manifest *m, const char *section, const char *key, uint32_t *ret,
		      mortise_error *err)
{
	const struct mor_setting *s = mor_manifest_setting(m, section, key);

	if (!s)
		return 0;
	return mor_parse_u32(plain_text(s), ret) ? 1 : wrong_setting(s, MORTISE_EMANIFEST, WANT_UINT, err);
}

int mor_manifest_bool(const struct mor_manifest *m, const char *section, const char *key, bool *ret,
		      mortise_error *err)
{
	const struct mor_setting *s = mor_manifest_setting(m, section, key);

	if (!s)
		return 0;
	if (strcmp(s->json, "true") != 0 && strcmp(s->json, "false") != 0)
		return wrong_setting(s, MORTISE_EMANIFEST, WANT_BOOL, err);
	*ret = s->json[0] == 't';
	return 1;
}

const char *mor_manifest_text(const struct mor_manifest *m, const char *section, const char *key)
{
	const struct mor_setting *s = mor_manifest_setting(m, section, key);

	return s ? s->text : NULL;
}
