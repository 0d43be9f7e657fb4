/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user has seen of a registry: $XDG_STATE_HOME/mortise/registries/SHA256-OF-PATH.json,
 * {"path","serial","key"}. An attacker who can write to the directory could put an old index back, with plugins
 * whose faults are known, or one without a signature.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/xdg.h"
#include "registry/inside.h"

#define SEEN_MAX 65536

struct seen {
	struct mor_doc *doc;
	int64_t serial;  /* 0: nothing was seen */
	const char *key; /* of a signature that the user knew; "": none */
};

static void seen_fini(struct seen *seen)
{
	mor_doc_free(seen->doc);
}

/* A file that is damaged, or of another path, says nothing. */
static void read_seen(const char *file, const char *path, struct seen *ret)
{
	MOR_CLEAN_TEXT char *text = NULL;
	const struct mor_value *root;
	size_t len = 0;

	ret->key = "";
	if (mor_fd_read_file(file, SEEN_MAX, &text, &len) < 0 ||
	    mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &ret->doc, NULL) < 0)
		return;
	root = mor_doc_root(ret->doc);
	if (strcmp(mor_json_text(mor_json_get(root, "path"), ""), path) != 0)
		return;
	ret->serial = mor_json_int(mor_json_get(root, "serial"), 0);
	ret->key = mor_json_text(mor_json_get(root, "key"), "");
}

static int compare_seen(const struct mor_registry *registry, const struct seen *seen, mortise_error *err)
{
	const struct mor_bundle_origin *origin = &registry->origin;

	if (*seen->key && strcmp(seen->key, origin->key) != 0 && !origin->owner[0])
		return mor_fail(err, MORTISE_EINPUT,
				"%s/" MOR_REGISTRY_INDEX
				" is %s; when you used it last, it was signed by %.24s; ask its owner; if this "
				"is right, add --allow downgrade",
				registry->path,
				origin->key[0] ? "signed by a key that you do not know" : "not signed",
				seen->key);
	if (registry->serial < seen->serial)
		return mor_fail(err, MORTISE_EINPUT,
				"%s/" MOR_REGISTRY_INDEX
				" is older than the one that you used last: its serial is %" PRId64
				", not %" PRId64 "; if it may be, add --allow downgrade",
				registry->path, registry->serial, seen->serial);
	return 0;
}

/* A registry can be used without it, so that a home that cannot be written does not stop anybody. */
static void write_seen(const char *dir, const char *file, const struct mor_registry *registry)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "path", registry->path);
	mor_w_pair_int(&w, "serial", registry->serial);
	mor_w_pair(&w, "key", registry->origin.owner[0] ? registry->origin.key : NULL);
	mor_w_end(&w);
	if (!mor_buf_failed(&json) && mor_dir_make_all(AT_FDCWD, dir, 0700) == 0)
		(void)mor_outfile_write(file, 0600, mor_buf_view(&json), NULL);
}

static bool same_as_seen(const struct mor_registry *registry, const struct seen *seen)
{
	return registry->serial == seen->serial &&
	       strcmp(seen->key, registry->origin.owner[0] ? registry->origin.key : "") == 0;
}

/* An index that is older than what the user has seen, or has lost the signature of a key that the user knew, is
 * refused unless `downgrade`. Otherwise it is remembered; without a place nothing is. */
static int accept_index(const struct mor_registry *registry, bool downgrade, mortise_error *err)
{
	MOR_CLEAN(seen) struct seen seen = { 0 };
	MOR_CLEAN_TEXT char *dir = NULL, *file = NULL;
	char digest[MOR_DIGEST_SIZE];
	int r = mor_xdg_path(MOR_XDG_STATE, NULL, &dir, "mortise/registries");

	if (r == MORTISE_ENOTFOUND)
		return 0;
	mor_digest_of(registry->path, strlen(registry->path), digest);
	file = dir ? mor_text_format("%s/%s.json", dir, digest) : NULL;
	if (!file)
		return mor_fail_memory(err);
	read_seen(file, registry->path, &seen);
	r = downgrade ? 0 : compare_seen(registry, &seen, err);
	if (r == 0 && !same_as_seen(registry, &seen))
		write_seen(dir, file, registry);
	return r;
}

int mor_registry_visit(const char *path, bool downgrade, struct mor_registry *ret, mortise_error *err)
{
	int r = mor_registry_open(path, ret, err);

	if (r == 0) {
		if ((r = accept_index(ret, downgrade, err)) < 0)
			mor_registry_fini(ret);
	}
	return r;
}
