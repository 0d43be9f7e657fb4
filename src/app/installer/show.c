/* SPDX-License-Identifier: Apache-2.0 */
/* What a person sees before the question. Facts are ours; what the plugin says about itself is quoted. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "bundle/keys.h"
#include "installer/inside.h"

#define PATHS_SHOWN 20

static void show_list(struct mor_console *console, const char *label, const struct mor_value *list)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(list);
	char shown[400];

	while (mor_json_next(&it))
		mor_buf_printf(&line, "%s%s", line.len ? ", " : "", mor_json_text(it.value, ""));
	if (line.len)
		mor_note(console, "  %-9s %s", label, mor_printable(mor_buf_view(&line), shown, sizeof(shown)));
}

/* Paths in our copy are shown as the plugin knows them. */
static void put_without_staging(const char *text, const char *staging, struct mor_buf *out)
{
	size_t len = strlen(staging);
	const char *at;

	while ((at = strstr(text, staging))) {
		mor_buf_append(out, text, (size_t)(at - text));
		text = at + len;
		if (*text == '/')
			text++;
		else
			mor_buf_text(out, "(where it is installed)");
	}
	mor_buf_text(out, text);
}

static void show_command(const struct mor_installer_visit *visit)
{
	const struct mor_value *command = mor_json_get(mor_doc_root(visit->described), "command");
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(command);
	char shown[4400];

	while (mor_json_next(&it)) {
		MOR_CLEAN(mor_buf) struct mor_buf word = MOR_BUF_INIT;

		put_without_staging(mor_json_text(it.value, ""), visit->staging.path, &word);
		mor_buf_byte(&word, '\0');
		if (line.len)
			mor_buf_byte(&line, ' ');
		mor_buf_shell_word(&line, word.data ? word.data : "");
	}
	mor_note(visit->console, "  %-9s %s", "runs", mor_printable(mor_buf_view(&line), shown, sizeof(shown)));
}

/* Who vouches for the index: it lists the content. */
static void show_listed(const struct mor_installer_visit *visit)
{
	const struct mor_bundle_origin *origin = &visit->order->registry->origin;

	mor_note(visit->console, "  %-9s in an index that %s%s", "listed",
		 origin->owner[0] ? "is signed by " :
		 origin->key[0]   ? "is signed by a key that you do not know: " :
				    "is not signed",
		 origin->owner[0] ? origin->owner : origin->key);
}

static void show_identity(const struct mor_installer_visit *visit)
{
	const struct mor_value *root = mor_doc_root(visit->described);
	const char *says = mor_json_text(mor_json_get(root, "description"), NULL);
	MOR_CLEAN(mor_doc) struct mor_doc *offers = NULL;
	char name[150], version[100], shown[400], size[32];

	mor_note(visit->console,
		 visit->order->approve ? "%s %s (%s), as it is installed now" : "%s %s (%s), from %s",
		 mor_printable(mor_slice_of(visit->name), name, sizeof(name)),
		 mor_printable(mor_slice_of(visit->version), version, sizeof(version)),
		 mor_json_text(mor_json_get(root, "dialect"), "?"),
		 mor_printable(mor_slice_of(mor_installer_source(visit)), shown, sizeof(shown)));
	if (visit->origin.owner[0])
		mor_note(visit->console, "  %-9s by %s (%.24s)", "signed", visit->origin.owner,
			 visit->origin.key);
	else if (visit->origin.key[0])
		mor_note(visit->console, "  %-9s by a key that you do not know: %s", "signed",
			 visit->origin.key);
	if (visit->order->listed)
		show_listed(visit);
	if (says)
		mor_note(visit->console, "  %-9s \"%s\"", "it says",
			 mor_excerpt(mor_slice_of(says), shown, sizeof(shown)));
	show_command(visit);
	if (mor_doc_parse(mor_buf_view(&visit->offers), 0, 0, &offers, NULL) == 0)
		show_list(visit->console, "offers", mor_doc_root(offers));
	mor_note(visit->console, "  %-9s %zu, %s; sha256 %.16s", "files", visit->content.count,
		 mor_format_bytes(visit->content.bytes, size), visit->content.digest);
}

/* A line of the policy that ends with a list: each of its places gets a line, so that none is cut off. */
static const struct {
	const char *front, *member;
} listed[] = {
	{ "may read, with everything below: ", "read" },
	{ "may connect (TCP only, no name service) to: ", "network" },
};

static void show_places(const struct mor_installer_visit *visit, size_t which)
{
	const struct mor_value *permissions = mor_doc_root(visit->permissions_doc);
	struct mor_json_iter it = mor_json_iter(mor_json_get(permissions, listed[which].member));
	char shown[4400];

	mor_note(visit->console, "  %.*s", (int)strlen(listed[which].front) - 1, listed[which].front);
	while (mor_json_next(&it))
		mor_note(visit->console, "    %s",
			 mor_printable(mor_json_string(it.value), shown, sizeof(shown)));
}

static void show_line(const struct mor_installer_visit *visit, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	char shown[400];

	for (size_t i = 0; i < sizeof(listed) / sizeof(*listed); i++)
		if (strncmp(text, listed[i].front, strlen(listed[i].front)) == 0) {
			show_places(visit, i);
			return;
		}
	put_without_staging(text, visit->staging.path, &line);
	mor_note(visit->console, "  %s", mor_printable(mor_buf_view(&line), shown, sizeof(shown)));
}

static void show_permissions(const struct mor_installer_visit *visit)
{
	const struct mor_value *lines = mor_json_at(mor_doc_root(visit->described), "/confinement/policy/text");
	struct mor_json_iter it = mor_json_iter(lines);

	mor_note(visit->console, "What it may do:");
	if (visit->asked & MOR_PERMISSION_UNCONFINED) {
		mor_note(visit->console, "  everything that you may: read and change all your files, use the "
					 "network, start programs");
		mor_note(visit->console, "  its manifest asks for no permissions, so none are enforced%s",
			 visit->order->pinned ? "" : "; --confine holds it to its own directory");
		return;
	}
	while (mor_json_next(&it))
		show_line(visit, mor_json_text(it.value, ""));
}

/* ---- what is different ---- */

static void show_files(const struct mor_installer_visit *visit)
{
	const struct mor_content_changes *changes = &visit->changes;
	char shown[300];

	for (size_t i = 0; i < changes->count && i < PATHS_SHOWN; i++)
		mor_note(visit->console, "  %-9s %s", mor_content_change_name(changes->items[i].kind),
			 mor_printable(mor_slice_of(changes->items[i].path), shown, sizeof(shown)));
	if (changes->count > PATHS_SHOWN)
		mor_note(visit->console, "  ... and %zu more", changes->count - PATHS_SHOWN);
	if (!changes->count)
		mor_note(visit->console, "  no file is different");
}

static void show_words(const struct mor_installer_visit *visit, const char *label, unsigned permissions)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;

	mor_permissions_words(permissions, ", ", &words);
	if (words.len)
		mor_note(visit->console, "  %-9s %.*s", label, (int)words.len, words.data);
}

/* "acme (ed25519:…)", or the key alone. */
static void put_signer(const char *key, struct mor_buf *out)
{
	char owner[sizeof(((struct mor_keys_entry *)0)->owner)] = "";

	(void)mor_keys_find(NULL, key, owner, sizeof(owner), NULL);
	if (owner[0])
		mor_buf_printf(out, "%s (%.24s)", owner, key);
	else
		mor_buf_printf(out, "a key that you do not know: %s", key);
}

static void show_signer(const struct mor_installer_visit *visit)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	char shown[500];

	mor_buf_text(&line, "was signed by ");
	put_signer(visit->before.key, &line);
	if (visit->origin.key[0]) {
		mor_buf_text(&line, ", is signed by another key now: ");
		put_signer(visit->origin.key, &line);
	} else {
		mor_buf_text(&line, ", is not signed any more");
	}
	mor_note(visit->console, "  %s", mor_printable(mor_buf_view(&line), shown, sizeof(shown)));
}

static void show_difference(const struct mor_installer_visit *visit)
{
	unsigned had = mor_permissions_asked(visit->before.permissions);

	mor_note(visit->console, "Compared with %s %s, which is %s:", visit->before.name, visit->before.version,
		 visit->order->approve ? "what you approved" : "installed");
	show_files(visit);
	if (visit->resigned)
		show_signer(visit);
	if (visit->older)
		mor_note(visit->console, visit->order->aside ?
						 "  an older version; the newer one stays beside it" :
						 "  an older version takes the place of a newer one");
	if (visit->wider & MOR_PERMISSION_REPLACE)
		mor_note(visit->console,
			 "  version %s with other files takes the place of %s; mortise rollback %s goes back",
			 visit->version, visit->version, visit->name);
	show_words(visit, "may more",
		   visit->wider & ~(unsigned)(MOR_PERMISSION_DOWNGRADE | MOR_PERMISSION_REPLACE));
	if (!(had & MOR_PERMISSION_UNCONFINED))
		show_words(visit, "may less", had & ~visit->asked);
}

void mor_installer_show(const struct mor_installer_visit *visit)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(mor_doc_root(visit->described), "warnings"));
	char shown[400];

	show_identity(visit);
	show_permissions(visit);
	while (mor_json_next(&it)) {
		MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

		put_without_staging(mor_json_text(it.value, ""), visit->staging.path, &line);
		mor_note(visit->console, "  warning: %s",
			 mor_printable(mor_buf_view(&line), shown, sizeof(shown)));
	}
	if (visit->before.doc)
		show_difference(visit);
	if (visit->damaged)
		mor_note(visit->console,
			 "  what is installed as %s is damaged: this takes its place, with all its versions",
			 visit->name);
}
