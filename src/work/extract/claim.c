/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What manifests claim, before anything is started. Plugins that the user has named are all asked about a kind
 * of file. Those that were found are not: first those whose manifest lists the kind; only if none of them says
 * yes, those whose manifest lists nothing. Others are never started.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "extract/extract.h"

/* ---- types ---- */

/* Type names from libmagic and others, and the YAMS names for them. Other names stay, in lower case. */
static const struct {
	const char *found, *normal;
} mime_names[] = {
	{ "application/x-pie-executable", "application/x-executable" },
	{ "application/x-elf", "application/x-executable" },
	{ "application/x-dosexec", "application/x-msdownload" },
	{ "application/x-java-class", "application/java-vm" },
};

static const char *normal_mime(const char *found)
{
	for (size_t i = 0; i < sizeof(mime_names) / sizeof(mime_names[0]); i++)
		if (strcasecmp(found, mime_names[i].found) == 0)
			return mime_names[i].normal;
	return found;
}

char *mor_extract_claim_lower(char *text)
{
	for (char *c = text; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return text;
}

/* The element itself, or NULL. */
static const char *listed_word(const struct mor_value *array, const char *word)
{
	struct mor_json_iter it = mor_json_iter(array);

	while (mor_json_next(&it))
		if (strcasecmp(mor_json_text(it.value, ""), word) == 0)
			return mor_json_text(it.value, "");
	return NULL;
}

char *mor_extract_claim_normal(const char *found)
{
	return mor_extract_claim_lower(mor_strdup(normal_mime(found)));
}

/* The YAMS name, the name found, or another word for it. */
const char *mor_extract_claim_mime(const struct mor_value *can, const struct mor_extract_kind *kind)
{
	const struct mor_value *formats = mor_json_get(can, "formats");
	struct mor_json_iter it = mor_json_iter(formats);
	const char *word = listed_word(formats, kind->mime);

	if (!word)
		word = listed_word(formats, kind->found);
	while (!word && mor_json_next(&it))
		if (strcasecmp(normal_mime(mor_json_text(it.value, "")), kind->mime) == 0)
			word = mor_json_text(it.value, "");
	return word;
}

/* Extensions are listed with their dot or without. */
static bool lists_extension(const struct mor_value *can, const char *extension)
{
	const struct mor_value *extensions = mor_json_get(can, "extensions");

	return *extension && (listed_word(extensions, extension) || listed_word(extensions, extension + 1));
}

bool mor_extract_claim_covers(const struct mor_value *can, const struct mor_extract_kind *kind)
{
	return mor_extract_claim_mime(can, kind) || lists_extension(can, kind->extension);
}

/* ---- rounds ---- */

bool mor_extract_claim_extracts(const struct mor_manifest *manifest)
{
	const struct mor_value *root = mor_doc_root(manifest->doc);
	const struct mor_value *interfaces = mor_json_get(root, "interfaces");
	struct mor_json_iter it = mor_json_iter(interfaces);

	if (mor_json_at(root, MOR_EXTRACT_ABILITIES) || !mor_json_size(interfaces))
		return true;
	while (mor_json_next(&it)) {
		const struct mor_value *id = mor_json_get(it.value, "id");

		if (mor_slice_is(mor_json_string(id ? id : it.value), MOR_EXTRACT_INTERFACE))
			return true;
	}
	return false;
}

unsigned mor_extract_claim_round(const struct mor_extract_plugin *e, const struct mor_extract_kind *kind)
{
	const struct mor_value *can = mor_json_at(mor_doc_root(e->manifest->doc), MOR_EXTRACT_ABILITIES);

	if (!e->extract->args->picked)
		return 1;
	if (mor_json_size(mor_json_get(can, "formats")) + mor_json_size(mor_json_get(can, "extensions")) == 0)
		return MOR_EXTRACT_ROUNDS;
	return mor_extract_claim_covers(can, kind) ? 1 : 0;
}

/* ---- what was chosen, and why ---- */

static void tell_answer(const struct mor_extract_answer *a, struct mor_buf *out)
{
	static const char *const words[] = { [MOR_EXTRACT_SUPPORTS_ASKED] = "no answer",
					     [MOR_EXTRACT_SUPPORTS_NO] = "no",
					     [MOR_EXTRACT_SUPPORTS_UNKNOWN] = "does not say" };
	const struct mor_extract_kind *kind = a->kind;
	char name[100];

	mor_printable(mor_slice_of(a->extractor->manifest->name), name, sizeof(name));
	mor_buf_printf(out, " %s (", name);
	if (a->extractor->refused)
		mor_buf_text(out, "cannot be used");
	else if (a->round == 0 || a->round > kind->round)
		mor_buf_text(out, a->round ? "not started: its manifest lists nothing" :
					     "not started: its manifest lists other types");
	else if (a->verdict == MOR_EXTRACT_SUPPORTS_YES)
		mor_buf_printf(out, "confidence %.2g", a->confidence);
	else
		mor_buf_text(out, words[a->verdict]);
	mor_buf_byte(out, ')');
}

void mor_extract_claim_tell(const struct mor_extract_kind *kind)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const char *separator = "; others:";

	mor_buf_printf(&text, "%s, extension \"%s\": ", kind->mime, kind->extension);
	mor_buf_text(&text, kind->best ? "chosen:" : "no plugin takes it");
	if (kind->best)
		tell_answer(kind->best, &text);
	for (size_t i = 0; i < kind->extract->extractor_count; i++) {
		if (&kind->answers[i] == kind->best)
			continue;
		mor_buf_text(&text, separator);
		tell_answer(&kind->answers[i], &text);
		separator = ",";
	}
	if (!mor_buf_failed(&text))
		mor_note_slice(kind->extract->console, mor_buf_view(&text));
}
