/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an index. Its author may want to hurt us. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "bundle/keys.h"
#include "content/names.h"
#include "registry/inside.h"

#define INDEX_DEPTH  8
#define FAIL(...)    mor_fail(err, MORTISE_EINPUT, __VA_ARGS__)
#define EXCERPT_SIZE 120

/* ---- one entry ---- */

static const char *text_at(const struct mor_value *entry, const char *name)
{
	return mor_json_text(mor_json_get(entry, name), "");
}

/* A file of this name beside the index, and of no other. */
static int check_file(const char *file, mortise_error *err)
{
	char shown[EXCERPT_SIZE];

	if (*file && !strchr(file, '/') && *file != '.')
		return mor_content_name_check(file, err);
	return FAIL("\"%s\" is not the name of a file beside the index",
		    mor_excerpt(mor_slice_of(file), shown, sizeof(shown)));
}

static int check_words(const struct mor_registry_entry *entry, mortise_error *err)
{
	char shown[EXCERPT_SIZE];

	if (strchr(entry->name, '@') || !mor_store_is_name(entry->name))
		return FAIL("\"%s\" cannot be the name of a plugin",
			    mor_excerpt(mor_slice_of(entry->name), shown, sizeof(shown)));
	if (!mor_semver_valid(entry->version))
		return FAIL("%s: \"%s\" is no semantic version (MAJOR.MINOR.PATCH)", entry->name,
			    mor_excerpt(mor_slice_of(entry->version), shown, sizeof(shown)));
	return 0;
}

static int check_sums(const struct mor_registry_entry *entry, int64_t size, mortise_error *err)
{
	if (!mor_digest_valid(entry->sha256) || !mor_digest_valid(entry->digest) || size < 0)
		return FAIL("%s %s: its size, sha256 or digest is missing or wrong", entry->name,
			    entry->version);
	if (entry->key && !mor_sign_key_valid(entry->key))
		return FAIL("%s %s: its key is none", entry->name, entry->version);
	return 0;
}

static int read_entry(const struct mor_value *value, struct mor_registry_entry *ret, mortise_error *err)
{
	const struct mor_value *key = mor_json_get(value, "key");
	int64_t size = mor_json_int(mor_json_get(value, "size"), -1);
	struct mor_registry_entry entry = {
		.name = text_at(value, "name"),
		.version = text_at(value, "version"),
		.file = text_at(value, "file"),
		.sha256 = text_at(value, "sha256"),
		.digest = text_at(value, "digest"),
		.key = key && mor_json_type(key) != MOR_JSON_NULL ? mor_json_text(key, "") : NULL,
		.description = mor_json_text(mor_json_get(value, "description"), NULL),
		.size = size < 0 ? 0 : (uint64_t)size,
		.value = value,
	};
	int r;

	if ((r = check_words(&entry, err)) < 0 || (r = check_file(entry.file, err)) < 0 ||
	    (r = check_sums(&entry, size, err)) < 0)
		return r;
	*ret = entry;
	return 0;
}

/* ---- all of it ---- */

static int by_name(const void *a, const void *b)
{
	const struct mor_registry_entry *one = a, *two = b;
	int order = strcmp(one->name, two->name);

	return order ? order : mor_store_compare_versions(two->version, one->version);
}

static int read_entries(const struct mor_value *plugins, struct mor_registry *registry, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(plugins);

	while (mor_json_next(&it)) {
		int r;

		if (mor_grow(&registry->items, registry->count, &registry->cap, sizeof(*registry->items)) < 0)
			return mor_fail_memory(err);
		if ((r = read_entry(it.value, &registry->items[registry->count], err)) < 0)
			return r;
		registry->count++;
	}
	if (registry->count)
		qsort(registry->items, registry->count, sizeof(*registry->items), by_name);
	for (size_t i = 1; i < registry->count; i++)
		if (by_name(&registry->items[i - 1], &registry->items[i]) == 0)
			return FAIL("%s %s is listed twice", registry->items[i].name,
				    registry->items[i].version);
	return 0;
}

int mor_registry_parse(struct mor_slice text, struct mor_registry *registry, mortise_error *err)
{
	const struct mor_value *root, *plugins;
	mortise_error why = { 0 };
	int r = mor_doc_parse(text, 0, INDEX_DEPTH, &registry->doc, &why);

	if (r < 0)
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) : FAIL("it is no JSON: %s", why.text);
	root = mor_doc_root(registry->doc);
	plugins = mor_json_get(root, "plugins");
	registry->serial = mor_json_int(mor_json_get(root, "serial"), 0);
	if (mor_json_int(mor_json_get(root, "mortise_index"), 0) != 1)
		return FAIL("it is no index that this version of mortise knows (mortise_index must be 1)");
	if (registry->serial < 1 || mor_json_type(plugins) != MOR_JSON_ARRAY)
		return FAIL("its serial or its list of plugins is missing or wrong");
	if (mor_json_size(plugins) > MOR_REGISTRY_PLUGINS_MAX)
		return FAIL("it lists more than %d plugins", MOR_REGISTRY_PLUGINS_MAX);
	return read_entries(plugins, registry, err);
}

int mor_registry_statement(int64_t serial, const struct mor_value *plugins, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(plugins);

	mor_buf_printf(out, "mortise-index 1\nserial %" PRId64 "\n", serial);
	while (mor_json_next(&it)) {
		mor_json_write(it.value, false, out);
		mor_buf_byte(out, '\n');
	}
	return mor_buf_failed(out) ? MORTISE_ENOMEM : 0;
}

static int check_signature(struct mor_registry *registry, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf statement = MOR_BUF_INIT;
	const struct mor_value *root = mor_doc_root(registry->doc);
	const struct mor_value *signature = mor_json_get(root, "signature");
	int r;

	if (!signature || mor_json_type(signature) == MOR_JSON_NULL)
		return 0;
	if (mor_registry_statement(registry->serial, mor_json_get(root, "plugins"), &statement) < 0)
		return mor_fail_memory(err);
	r = mor_bundle_verify_text(signature, mor_buf_view(&statement), registry->origin.key, err);
	if (r == MORTISE_EINPUT || r == MORTISE_EPROTO)
		return FAIL("its signature does not fit: the index was changed after it was signed");
	return r < 0 ? r :
		       mor_keys_find(NULL, registry->origin.key, registry->origin.owner,
				     sizeof(registry->origin.owner), err);
}

/* ---- from the disk ---- */

int mor_registry_fail_file(const char *dir, const char *file, int error, mortise_error *err)
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{ ELOOP, "it is a link, and a registry has files only" },
		{ EFBIG, "it is larger than 16 MiB" },
		{ EISDIR, "it is a directory" },
		{ EINVAL, "it is no file" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (error == texts[i].error)
			return FAIL("%s/%s: %s", dir, file, texts[i].text);
	return mor_fail_errno(err, error == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, error,
			      "%s/%s: it cannot be read", dir, file);
}

static int open_place(const char *path, struct mor_registry *registry, mortise_error *err)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno,
				      "%s: it cannot be a registry", path);
	registry->path = mor_strdup(real);
	if (!registry->path)
		return mor_fail_memory(err);
	registry->dir = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return registry->dir < 0 ?
		       mor_fail_errno(err, MORTISE_EINPUT, errno, "%s: it cannot be a registry", path) :
		       0;
}

static int read_index(struct mor_registry *registry, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	MOR_CLEAN_TEXT char *shown = mor_text_format("%s/" MOR_REGISTRY_INDEX, registry->path);
	size_t len = 0;
	int r = mor_fd_read_in(registry->dir, MOR_REGISTRY_INDEX, MOR_REGISTRY_INDEX_BYTES, &text, &len);

	if (r == -ENOMEM || !shown)
		return mor_fail_memory(err);
	if (r == -ENOENT)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"%s is no registry: there is no " MOR_REGISTRY_INDEX
				" in it; 'mortise registry update' makes one",
				registry->path);
	if (r < 0)
		return mor_registry_fail_file(registry->path, MOR_REGISTRY_INDEX, -r, err);
	r = mor_registry_parse((struct mor_slice){ text, len }, registry, err);
	if (r == 0)
		r = check_signature(registry, err);
	if (r == MORTISE_EINPUT)
		mor_fail_prefix(err, shown);
	return r;
}

static int open_index(const char *path, bool may_lack, struct mor_registry *ret, mortise_error *err)
{
	struct mor_registry registry = MOR_REGISTRY_INIT;
	int r = open_place(path, &registry, err);

	if (r == 0) {
		r = read_index(&registry, err);
		if (r == MORTISE_ENOTFOUND && may_lack)
			r = 0;
	}
	if (r < 0)
		mor_registry_fini(&registry);
	else
		*ret = registry;
	return r;
}

int mor_registry_open(const char *path, struct mor_registry *ret, mortise_error *err)
{
	return open_index(path, false, ret, err);
}

int mor_registry_open_any(const char *path, struct mor_registry *ret, mortise_error *err)
{
	return open_index(path, true, ret, err);
}

void mor_registry_fini(struct mor_registry *registry)
{
	mor_fd_close(&registry->dir);
	mor_doc_free(registry->doc);
	mor_free(registry->items);
	mor_free(registry->path);
	*registry = (struct mor_registry)MOR_REGISTRY_INIT;
}

const char *mor_registry_of(const char *from)
{
	size_t len = sizeof(MOR_STORE_FROM_REGISTRY) - 1;

	return from && strncmp(from, MOR_STORE_FROM_REGISTRY, len) == 0 ? from + len : NULL;
}
