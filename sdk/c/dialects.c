/* SPDX-License-Identifier: Apache-2.0 */
/* Which dialect a plugin speaks, and what their tables share. */
#include <string.h>
#include <strings.h>

#include "dialect.h"

const struct tn_dialect *const tn_dialects[] = {
	&tn_yams, &tn_ayiou, &tn_gassist, &tn_sunscreen, &tn_sunscreen_json, &tn_kythe, &tn_plain, NULL,
};

/* ---- The choice ---- */

const struct tn_dialect *tn_dialect_by_name(const char *name)
{
	for (const struct tn_dialect *const *at = tn_dialects; name && *at; at++)
		if (strcmp((*at)->name, name) == 0)
			return *at;
	return NULL;
}

bool tn_dialect_has(const tenon_plugin *plugin, const struct tn_dialect *dialect)
{
	return dialect->fits(plugin) || (plugin->dialect && strcmp(plugin->dialect, dialect->name) == 0);
}

const struct tn_dialect *tn_dialect_choose(const tenon_plugin *plugin, const char *wanted)
{
	const struct tn_dialect *dialect = tn_dialect_by_name(wanted), *only = NULL;

	/* Methods alone serve every dialect whose host asks first. */
	if (dialect && (dialect != &tn_kythe || plugin->analyses))
		return dialect;
	dialect = tn_dialect_by_name(plugin->dialect);
	if (dialect)
		return dialect;
	for (const struct tn_dialect *const *at = tn_dialects; *at; at++)
		if (*at != &tn_plain && (*at)->fits(plugin)) {
			if (only)
				return NULL;
			only = *at;
		}
	return only ? only : &tn_plain;
}

static bool known_by(const struct tn_dialect *dialect, struct mor_slice method)
{
	for (const char *const *name = dialect->known_by; name && *name; name++) {
		size_t len = strlen(*name);

		if ((*name)[len - 1] == '.' ? method.len > len && memcmp(method.ptr, *name, len) == 0 :
					      mor_slice_is(method, *name))
			return true;
	}
	return false;
}

static const struct tn_dialect *guess_by_line(const struct tn_session *s, struct mor_slice line)
{
	struct mor_message message;

	if (mor_envelope_scan(line, 0, 0, &message, NULL) < 0 || !message.method.ptr)
		return &tn_plain;
	for (const struct tn_dialect *const *at = tn_dialects; *at; at++)
		if (tn_dialect_has(s->plugin, *at) && known_by(*at, message.method))
			return *at;
	return &tn_plain;
}

/* A framing that no other dialect has: its own where the plugin has it, else plain. */
static bool speak_framed(struct tn_session *s, const struct tn_dialect *dialect)
{
	tn_session_speak(s, !s->plain && tn_dialect_has(s->plugin, dialect) ? dialect : &tn_plain,
			 dialect->framing);
	return true;
}

static bool begins_header(const char *bytes, size_t len)
{
	static const char header[] = "content-length:";
	size_t most = len < sizeof(header) - 1 ? len : sizeof(header) - 1;

	return len > 0 && strncasecmp(bytes, header, most) == 0;
}

/* Blanks before the first message say nothing. */
bool tn_dialect_guess(struct tn_session *s)
{
	const char *bytes, *end;
	size_t len = s->input.len - s->taken;

	if (len == 0)
		return false;
	bytes = s->input.data + s->taken;
	while (len > 0 && memchr(" \t\r\n", *bytes, 4)) {
		s->taken++;
		bytes++;
		len--;
	}
	if (len == 0)
		return false;
	if (*bytes == '\0')
		return speak_framed(s, &tn_gassist);
	if (begins_header(bytes, len)) {
		if (len < 15 && !s->eof)
			return false;
		return speak_framed(s, &tn_sunscreen_json);
	}
	if (*bytes >= '0' && *bytes <= '9')
		return tn_session_speak(s, &tn_plain, MOR_FRAMING_DECIMAL), true;
	end = memchr(bytes, '\n', len);
	if (!end && !s->eof && len < s->limit)
		return false;
	tn_session_speak(s,
			 tn_dialect_choose(s->plugin, NULL) == &tn_plain ?
				 &tn_plain :
				 guess_by_line(s,
					       (struct mor_slice){ bytes, end ? (size_t)(end - bytes) : len }),
			 MOR_FRAMING_LINES);
	return true;
}

/* ---- Lists of words ---- */

bool tn_next_word(const char **list, struct mor_slice *ret)
{
	const char *at = *list;

	if (!at)
		return false;
	at += strspn(at, " ");
	*ret = (struct mor_slice){ at, strcspn(at, " ") };
	*list = at + ret->len;
	return ret->len > 0;
}

bool tn_has_word(const char *list, struct mor_slice word)
{
	struct mor_slice each;

	while (tn_next_word(&list, &each))
		if (mor_slice_eq(each, word))
			return true;
	return false;
}

void tn_put_words(struct mor_writer *w, const char *key, const char *list)
{
	struct mor_slice each;

	mor_w_key(w, key);
	mor_w_array(w);
	while (tn_next_word(&list, &each))
		mor_w_slice(w, each);
	mor_w_end(w);
}

void tn_put_known(struct mor_writer *w, const char *key, const char *text)
{
	if (text)
		mor_w_pair(w, key, text);
}

void tn_put_members(struct mor_writer *w, const struct mor_value *object, const char *but)
{
	struct mor_json_iter it = mor_json_iter(object);

	while (mor_json_type(object) == MOR_JSON_OBJECT && mor_json_next(&it))
		if (!tn_has_word(but, it.name)) {
			mor_w_key_slice(w, it.name);
			mor_w_value(w, it.value);
		}
}

/* ---- Manifests ---- */

/* A TOML basic string is written as a JSON string is. */
void tn_toml_pair(struct mor_buf *out, const char *key, const char *text)
{
	mor_buf_printf(out, "%s = ", key);
	mor_buf_json_string(out, mor_slice_of(text ? text : ""));
	mor_buf_byte(out, '\n');
}

void tn_own_manifest(const tenon_plugin *plugin, const char *dialect, const char *program, struct mor_buf *out)
{
	mor_buf_text(out, "[plugin]\n");
	tn_toml_pair(out, "name", plugin->name);
	if (plugin->version)
		tn_toml_pair(out, "version", plugin->version);
	if (plugin->description)
		tn_toml_pair(out, "description", plugin->description);
	tn_toml_pair(out, "dialect", dialect);
	mor_buf_printf(out, "command = ");
	mor_buf_json_string(out, MOR_SLICE("./"));
	out->len--;
	mor_buf_text(out, program);
	mor_buf_text(out, "\"\n");
}
