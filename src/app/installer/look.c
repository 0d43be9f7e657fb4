/* SPDX-License-Identifier: Apache-2.0 */
/* What the copy of a plugin is: its manifest is read, nothing of it is run. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "installer/inside.h"
#include "manifest/manifest.h"
#include "runner/runner.h"

/* Where the manifest has no name, or must not have one (G-Assist), the directory gives it. */
static int find_name(struct mor_installer_visit *visit, mortise_error *err)
{
	struct mor_manifest_query query = { .path = visit->staging.path };
	struct mor_manifest *manifest = NULL;
	int r = mor_manifest_load(&query, &manifest, err);

	if (r < 0)
		return r;
	visit->name = mor_strdup(manifest->name);
	mor_manifest_free(manifest);
	return visit->name ? 0 : mor_fail_memory(err);
}

static int describe_copy(struct mor_installer_visit *visit, mortise_error *err)
{
	static const char *const confine[] = { "sandbox.level=auto", "sandbox.unconfined=false", NULL };
	mortise_plugin_options options = {
		.size = sizeof(options),
		.path = visit->staging.path,
		.name = visit->name,
		.set = visit->confine ? confine : NULL,
	};
	mortise_host_options words = { .size = sizeof(words), .flags = MORTISE_COMMAND_WORDS };
	mortise_plugin *plugin = NULL;
	mortise_host *host = NULL;
	int r = mortise_host_new(&words, &host, err);

	if (r == 0)
		r = mortise_plugin_new(host, &options, &plugin, err);
	if (r == 0)
		r = mor_runner_describe(plugin, &visit->described, err);
	mortise_plugin_unref(plugin);
	mortise_host_free(host);
	return r;
}

/* The names of what it offers: its actions, else its interfaces. */
static void write_offers(struct mor_installer_visit *visit)
{
	const struct mor_value *root = mor_doc_root(visit->described);
	struct mor_json_iter it = mor_json_iter(mor_json_get(root, "actions"));
	struct mor_writer w = { .out = &visit->offers };

	mor_w_array(&w);
	while (mor_json_next(&it))
		mor_w_string(&w, mor_json_text(mor_json_get(it.value, "name"), ""));
	it = mor_json_iter(mor_json_get(root, "interfaces"));
	while (mor_json_next(&it))
		mor_w_value(&w, it.value);
	mor_w_end(&w);
}

static int take_facts(struct mor_installer_visit *visit, mortise_error *err)
{
	const struct mor_value *root = mor_doc_root(visit->described);

	visit->version = mor_strdup(mor_json_text(mor_json_get(root, "version"), "0"));
	write_offers(visit);
	mor_permissions_write(mor_json_at(root, "/confinement/policy"), &visit->permissions);
	if (!visit->version || mor_buf_failed(&visit->offers) || mor_buf_failed(&visit->permissions) ||
	    mor_doc_parse(mor_buf_view(&visit->permissions), 0, 0, &visit->permissions_doc, NULL) < 0)
		return mor_fail_memory(err);
	visit->asked = mor_permissions_asked(mor_doc_root(visit->permissions_doc));
	return 0;
}

/* Is this version there already, with other files? */
static int find_replaced(struct mor_installer_visit *visit, const struct mor_store *store, mortise_error *err)
{
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", visit->name, visit->version);
	struct mor_installed there = { 0 };

	if (!word)
		return mor_fail_memory(err);
	if (mor_store_is_name(word) && mor_store_find(store, word, &there, NULL) == 0 &&
	    strcmp(there.digest, visit->content.digest) != 0)
		visit->wider |= MOR_PERMISSION_REPLACE;
	mor_installed_fini(&there);
	return 0;
}

/* A record that is gone or damaged: then all files are new. */
static int compare_before(struct mor_installer_visit *visit, const struct mor_store *store, mortise_error *err)
{
	const struct mor_value *now = mor_doc_root(visit->permissions_doc);

	(void)mor_store_record(&visit->before, &visit->record, NULL);
	if (mor_content_compare(&visit->record, &visit->content, &visit->changes) < 0)
		return mor_fail_memory(err);
	visit->wider = mor_permissions_wider(visit->before.approved ? visit->before.permissions : NULL, now);
	if (visit->order->approve)
		return 0;
	visit->older = mor_store_compare_versions(visit->version, visit->before.version) < 0;
	if (visit->older)
		visit->wider |= MOR_PERMISSION_DOWNGRADE;
	return find_replaced(visit, store, err);
}

/* What is installed under its name. Nobody can use what is damaged: it is installed anew. */
static int find_before(struct mor_installer_visit *visit, const struct mor_store *store, mortise_error *err)
{
	const struct mor_installer_order *order = visit->order;
	MOR_CLEAN_TEXT char *word = order->version ? mor_text_format("%s@%s", visit->name, order->version) :
						     mor_strdup(visit->name);
	int r;

	if (!word)
		return mor_fail_memory(err);
	r = mor_store_is_name(word) ? mor_store_find(store, word, &visit->before, err) : MORTISE_ENOTFOUND;
	visit->damaged = r == MORTISE_ESYSTEM || r == MORTISE_EVIOLATION;
	if (r < 0 && (order->name || (r != MORTISE_ENOTFOUND && !visit->damaged)))
		return r;
	/* Once confined, it stays so, unless somebody says the opposite. */
	visit->confine =
		order->confine || (visit->before.confine && !(order->allow & MOR_PERMISSION_UNCONFINED));
	return 0;
}

/* An author who changed the files of a version may have changed its number: then it is another version. */
static int keep_version(struct mor_installer_visit *visit, mortise_error *err)
{
	const char *wanted = visit->order->version;
	size_t len = strlen(visit->version);

	/* 1.0.0~0123abcd is what 1.0.0 was before it was replaced */
	if (strncmp(wanted, visit->version, len) != 0 || (wanted[len] && wanted[len] != '~'))
		return mor_fail(err, MORTISE_EINPUT,
				"%s %s calls itself %s now: that is another version; type: mortise upgrade %s "
				"%s",
				visit->name, wanted, visit->version, visit->name, visit->order->from);
	mor_free(visit->version);
	visit->version = mor_strdup(wanted);
	return visit->version ? 0 : mor_fail_memory(err);
}

int mor_installer_look(struct mor_installer_visit *visit, const struct mor_store *store, mortise_error *err)
{
	const char *wanted = visit->order->name;
	int r = find_name(visit, err);

	if (r == 0 && wanted && strcmp(wanted, visit->name) != 0)
		r = mor_fail(err, MORTISE_EINPUT, "%s is another plugin: it is called \"%s\", not \"%s\"",
			     mor_installer_source(visit), visit->name, wanted);
	if (r == 0)
		r = find_before(visit, store, err);
	if (r == 0 && (r = describe_copy(visit, err)) == 0)
		r = take_facts(visit, err);
	if (r == 0 && visit->order->version)
		r = keep_version(visit, err);
	return r < 0 || !visit->before.doc ? r : compare_before(visit, store, err);
}
