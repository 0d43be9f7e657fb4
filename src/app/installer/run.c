/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a plugin into the store: copy, look, show, ask, put. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "bundle/keys.h"
#include "bundle/stem.h"
#include "bundle/unpack.h"
#include "installer/inside.h"

static void visit_fini(struct mor_installer_visit *visit)
{
	mor_content_changes_fini(&visit->changes);
	mor_content_fini(&visit->record);
	mor_content_fini(&visit->content);
	mor_installed_fini(&visit->before);
	mor_doc_free(visit->described);
	mor_doc_free(visit->permissions_doc);
	mor_buf_fini(&visit->offers);
	mor_buf_fini(&visit->permissions);
	mor_free(visit->name);
	mor_free(visit->version);
	mor_staging_fini(&visit->staging);
}

/* What the store notes; NULL: no memory. */
static char *origin_text(const struct mor_installer_visit *visit)
{
	const struct mor_installer_order *order = visit->order;

	if (order->approve)
		return mor_strdup(visit->before.from ? visit->before.from : "");
	if (order->listed)
		return mor_text_format(MOR_STORE_FROM_REGISTRY "%s", order->registry->path);
	return order->recorded ? mor_strdup(order->recorded) : mor_path_absolute(order->from);
}

static int put_visit(struct mor_installer_visit *visit, mortise_error *err)
{
	const struct mor_value *root = mor_doc_root(visit->described);
	MOR_CLEAN(mor_buf) struct mor_buf interfaces = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *from = origin_text(visit);
	struct mor_store_facts facts = {
		.name = visit->name,
		.version = visit->version,
		.dialect = mor_json_text(mor_json_get(root, "dialect"), "plain"),
		.description = mor_json_text(mor_json_get(root, "description"), NULL),
		.from = from,
		.key = visit->origin.key[0]  ? visit->origin.key :
		       visit->order->approve ? visit->before.key :
					       NULL,
		.offers = mor_buf_view(&visit->offers),
		.permissions = mor_buf_view(&visit->permissions),
		.confine = visit->confine,
		.in_place = visit->order->approve,
		.aside = visit->order->aside,
		.allow = visit->asked,
		.seen = visit->damaged    ? NULL :
			visit->before.doc ? visit->before.digest :
					    "",
	};

	mor_json_write(mor_json_get(root, "interfaces"), false, &interfaces);
	facts.interface = mor_buf_view(&interfaces);
	if (mor_buf_failed(&interfaces) || !from)
		return mor_fail_memory(err);
	return mor_store_put(&visit->staging, &visit->content, &facts, err);
}

static void tell_done(const struct mor_installer_visit *visit, const struct mor_store *store)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	bool newer = visit->before.doc && mor_store_compare_versions(visit->version, visit->before.version) > 0;
	const char *done = visit->order->approve ? "approved" : newer ? "upgraded" : "installed";

	if (!visit->console->json) {
		mor_outf(visit->console, "%s %s %s\n", done, visit->name, visit->version);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "done", done);
	mor_w_pair(&w, "name", visit->name);
	mor_w_pair(&w, "version", visit->version);
	mor_w_pair(&w, "digest", visit->content.digest);
	mor_w_pair_raw(&w, "permissions", mor_buf_view(&visit->permissions));
	mor_w_pair(&w, "store", store->plugins);
	mor_w_end(&w);
	mor_out_json(visit->console, mor_buf_view(&json));
}

static int open_archive(const struct mor_installer_order *order, int *ret_fd, mortise_error *err)
{
	if (order->listed)
		return mor_registry_fetch(order->registry, order->listed, ret_fd, err);
	*ret_fd = open(order->from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return *ret_fd < 0 ? mor_fail_errno(err, MORTISE_EINPUT, errno, "%s: it cannot be read", order->from) :
			     0;
}

/* A directory is copied, an archive is unpacked. */
static int fetch_files(struct mor_installer_visit *visit, mortise_error *err)
{
	const char *from = visit->order->from;
	char top[MOR_BUNDLE_TOP];
	int fd, r;

	if (!visit->order->listed && !mor_path_is_file(from))
		return mor_staging_copy(&visit->staging, from, err);
	if ((r = open_archive(visit->order, &fd, err)) < 0)
		return r;
	r = mor_bundle_unpack(fd, visit->staging.dir, NULL, top, err);
	mor_fd_close(&fd);
	return r < 0 ? mor_fail_prefix(err, from) : mor_installer_name(visit, top, err);
}

/* A signature beside the archive must fit, also with an unknown key. */
static int check_origin(struct mor_installer_visit *visit, mortise_error *err)
{
	const struct mor_bundle_plugin plugin = { visit->name, visit->version, &visit->content, -1 };
	struct mor_bundle_origin *origin = &visit->origin;

	if (visit->order->key) {
		mor_text_keep(origin->key, sizeof(origin->key), visit->order->key, strlen(visit->order->key));
		return mor_keys_find(NULL, origin->key, origin->owner, sizeof(origin->owner), err);
	}
	if (!mor_path_is_file(visit->order->from))
		return 0;
	return mor_bundle_origin_find(&plugin, visit->order->from, NULL, origin, err);
}

/* What the plugin is called if its manifest does not say it, or must not (G-Assist): like its directory, also
 * where that is "."; of greeter-1.0.tar.gz, greeter. */
static int name_source(const char *from, char name[PATH_MAX])
{
	if (!realpath(from, name))
		return -errno;
	if (mor_path_is_file(name))
		mor_bundle_stem(name);
	return 0;
}

/* There must be something to upgrade. */
static int check_installed(const struct mor_installer_order *order, const struct mor_store *store,
			   mortise_error *err)
{
	struct mor_installed plugin = { 0 };
	int r = mor_store_find(store, order->name, &plugin, err);

	mor_installed_fini(&plugin);
	return r;
}

/* Is what lies there what was approved? Then there is nothing to ask. */
static bool is_unchanged(const struct mor_installer_order *order, const struct mor_store *store)
{
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", order->name, order->version);
	struct mor_installed plugin = { 0 };
	struct mor_store_check check = { 0 };
	bool same = word && mor_store_find(store, word, &plugin, NULL) == 0 && plugin.approved &&
		    mor_store_verify(&plugin, &check, NULL) == 0 && check.found.changes.count == 0;

	mor_store_check_fini(&check);
	mor_installed_fini(&plugin);
	return same;
}

int mor_installer_tell_nothing(struct mor_console *console, const char *name, const char *version,
			       const char *why, const char *where)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!console->json) {
		mor_outf(console, "%s %s%s%s\n", name, version, why, where);
		return 0;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "done", "nothing");
	mor_w_pair(&w, "name", name);
	mor_w_pair(&w, "version", version);
	mor_w_end(&w);
	mor_out_json(console, mor_buf_view(&json));
	return 0;
}

static int run_visit(struct mor_installer_visit *visit, const struct mor_store *store, mortise_error *err)
{
	char name[PATH_MAX];
	int r = name_source(visit->order->from, name);

	if (r < 0)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"%s: %s: name a plugin's directory, or an archive with one", visit->order->from,
				strerrordesc_np(-r));
	r = mor_store_stage(store, name, &visit->staging, err);

	if (r < 0 || (r = fetch_files(visit, err)) < 0 ||
	    (r = mor_content_scan(visit->staging.dir, mor_installer_source(visit), NULL, &visit->content,
				  err)) < 0 ||
	    (r = mor_installer_look(visit, store, err)) < 0 || (r = check_origin(visit, err)) < 0 ||
	    (r = mor_installer_compare(visit, err)) < 0)
		return r;
	mor_installer_compare_signer(visit);
	mor_installer_show(visit);
	if ((r = mor_installer_ask(visit, err)) < 0 || (r = put_visit(visit, err)) < 0)
		return r;
	tell_done(visit, store);
	mor_installer_tell_lock(visit);
	return r;
}

int mor_installer_run(struct mor_console *console, const struct mor_installer_order *order, mortise_error *err)
{
	struct mor_installer_visit visit = { .order = order,
					     .console = console,
					     .staging = { .dir = -1, .hold = -1 } };
	struct mor_store store = { 0 };
	int r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(err) : 0;

	if (r == 0 && order->name && !order->approve)
		r = check_installed(order, &store, err);
	if (r == 0 && order->approve && is_unchanged(order, &store))
		r = mor_installer_tell_nothing(console, order->name, order->version,
					       " is as you approved it: there is nothing to do", "");
	else if (r == 0)
		r = run_visit(&visit, &store, err);
	if (r < 0)
		mor_installer_hide_copy(&visit, err);
	visit_fini(&visit);
	mor_store_fini(&store);
	return r;
}
