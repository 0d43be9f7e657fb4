/* SPDX-License-Identifier: Apache-2.0 */
/* Making an index: every archive in a directory is unpacked and looked at, and nothing of it is run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/textlist.h"
#include "bundle/stem.h"
#include "bundle/unpack.h"
#include "manifest/manifest.h"
#include "registry/inside.h"

/* One archive, unpacked. */
struct archive_listing {
	const char *file;
	char *path; /* of the archive */
	char *top;  /* a directory of our own, for ... */
	char *into; /* ... the plugin's files: called like the plugin, which some plugins need */
	int archive, dir;
	char sum[MOR_DIGEST_SIZE];
	uint64_t size;
	struct mor_content content;
	struct mor_manifest *manifest;
	struct mor_bundle_origin origin;
};

static void archive_listing_fini(struct archive_listing *listing)
{
	mor_fd_close(&listing->archive);
	mor_fd_close(&listing->dir);
	if (listing->top)
		mor_dir_remove_all(AT_FDCWD, listing->top);
	mor_content_fini(&listing->content);
	mor_manifest_free(listing->manifest);
	mor_free(listing->path);
	mor_free(listing->into);
	mor_free(listing->top);
}

/* ---- looking at one archive ---- */

static int make_room(struct archive_listing *listing, mortise_error *err)
{
	MOR_CLEAN_TEXT char *stem = mor_strdup(listing->file);
	const char *temp = getenv("TMPDIR");
	char *top = mor_text_format("%s/mortise-index-XXXXXX", temp && *temp == '/' ? temp : "/tmp");

	if (!stem || !top) {
		mor_free(top);
		return mor_fail_memory(err);
	}
	if (!mkdtemp(top)) {
		int error = errno, r = mor_fail_errno(err, MORTISE_ESYSTEM, error, "%s cannot be made", top);

		mor_free(top);
		return r;
	}
	listing->top = top;
	mor_bundle_stem(stem);
	listing->into = mor_text_format("%s/%s", top, stem);
	if (!listing->into)
		return mor_fail_memory(err);
	listing->dir = mor_dir_make_open(AT_FDCWD, listing->into, 0700, O_RDONLY, NULL);
	return listing->dir < 0 ?
		       mor_fail_errno(err, MORTISE_ESYSTEM, -listing->dir, "%s cannot be made", listing->into) :
		       0;
}

static int load_listing(struct archive_listing *listing, mortise_error *err)
{
	const struct mor_manifest_query query = { .path = listing->into };

	listing->manifest = mor_manifest_free(listing->manifest);
	return mor_manifest_load(&query, &listing->manifest, err);
}

/* As an install does it: a plugin whose manifest has no name is called like the directory in the archive. */
static int name_listing(struct archive_listing *listing, char *top, mortise_error *err)
{
	char *named;

	if (!*top)
		return 0;
	mor_bundle_cut_version(top, listing->manifest->version);
	named = mor_text_format("%s/%s", listing->top, top);
	if (!named)
		return mor_fail_memory(err);
	if (strcmp(named, listing->into) != 0 && rename(listing->into, named) < 0) {
		mor_free(named);
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s cannot be renamed", listing->into);
	}
	mor_free(listing->into);
	listing->into = named;
	return load_listing(listing, err);
}

static int unpack_listing(struct archive_listing *listing, mortise_error *err)
{
	char top[MOR_BUNDLE_TOP];
	int r = mor_registry_sum(listing->archive, listing->file, listing->sum, &listing->size, err);

	if (r < 0 || (r = make_room(listing, err)) < 0 ||
	    (r = mor_bundle_unpack(listing->archive, listing->dir, NULL, top, err)) < 0 ||
	    (r = mor_content_scan(listing->dir, listing->file, NULL, &listing->content, err)) < 0 ||
	    (r = load_listing(listing, err)) < 0)
		return r;
	return name_listing(listing, top, err);
}

/* What can be listed can be installed. */
static int check_listing(struct archive_listing *listing, mortise_error *err)
{
	const struct mor_manifest *manifest = listing->manifest;
	const struct mor_bundle_plugin plugin = { manifest->name, manifest->version ? manifest->version : "",
						  &listing->content, -1 };
	char shown[120];

	if (!mor_store_is_name(plugin.name) || strchr(plugin.name, '@'))
		return mor_fail(err, MORTISE_EINPUT, "\"%s\" cannot be the name of an installed plugin",
				mor_excerpt(mor_slice_of(plugin.name), shown, sizeof(shown)));
	if (!mor_semver_valid(plugin.version))
		return mor_fail(err, MORTISE_EINPUT,
				"its version is \"%s\"; a registry needs a semantic version: MAJOR.MINOR.PATCH",
				mor_excerpt(mor_slice_of(plugin.version), shown, sizeof(shown)));
	return mor_bundle_origin_find(&plugin, listing->path, NULL, &listing->origin, err);
}

static void write_listing(struct mor_writer *w, const struct archive_listing *listing)
{
	const struct mor_manifest *manifest = listing->manifest;

	mor_w_object(w);
	mor_w_pair(w, "name", manifest->name);
	mor_w_pair(w, "version", manifest->version);
	mor_w_pair(w, "file", listing->file);
	mor_w_key(w, "size");
	mor_w_uint(w, listing->size);
	mor_w_pair(w, "sha256", listing->sum);
	mor_w_pair(w, "digest", listing->content.digest);
	mor_w_pair(w, "key", listing->origin.key[0] ? listing->origin.key : NULL);
	mor_w_pair(w, "description", manifest->description);
	mor_w_end(w);
}

/* Takes the descriptor. */
static int list_archive_take(const char *dir, const char *file, int fd, struct mor_writer *w,
			     mortise_error *err)
{
	MOR_CLEAN(archive_listing) struct archive_listing listing = { .file = file, .archive = fd, .dir = -1 };
	int r;

	listing.path = mor_text_format("%s/%s", dir, file);
	r = listing.path ? unpack_listing(&listing, err) : mor_fail_memory(err);
	if (r == 0)
		r = check_listing(&listing, err);
	if (r == 0)
		write_listing(w, &listing);
	else if (r != MORTISE_ENOMEM)
		mor_fail_prefix(err, file);
	return r;
}

/* ---- all of them ---- */

static void tell_update(const struct mor_registry_update *update, const char *what, const char *subject,
			const char *version)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	char shown[200];

	mor_buf_printf(&line, "%s: %s%s", mor_printable(mor_slice_of(subject), shown, sizeof(shown)), what,
		       version);
	mor_buf_byte(&line, '\0');
	if (update->on_note && !mor_buf_failed(&line))
		update->on_note(update->arg, line.data);
}

static int find_archives(const char *dir, struct mor_text_list *ret, mortise_error *err)
{
	DIR *open_dir = opendir(dir);
	struct dirent *item;
	int r = 0;

	if (!open_dir)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "%s", dir);
	while (r == 0 && (item = readdir(open_dir)))
		if (item->d_name[0] != '.' && mor_bundle_is_archive(item->d_name))
			r = mor_text_list_add_take(ret, mor_strdup(item->d_name));
	closedir(open_dir);
	mor_text_list_sort(ret);
	return r < 0 ? mor_fail_memory(err) : 0;
}

/* The array of entries, in the order in which a reader sorts them. */
static int list_archives(const struct mor_registry_update *update, const char *dir, int dirfd,
			 struct mor_registry *ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_text_list files = { 0 };
	int r = find_archives(dir, &files, err);

	mor_w_object(&w);
	mor_w_pair_int(&w, "mortise_index", 1);
	mor_w_pair_int(&w, "serial", 1);
	mor_w_pair_array(&w, "plugins");
	for (size_t i = 0; r == 0 && i < files.count; i++) {
		int fd = mor_fd_open_in(dirfd, files.item[i]);

		if (fd == -ELOOP)
			tell_update(update, "left out: it is a link", files.item[i], "");
		else if (fd < 0)
			r = mor_registry_fail_file(dir, files.item[i], -fd, err);
		else
			r = list_archive_take(dir, files.item[i], fd, &w, err);
	}
	mor_w_end(&w);
	mor_w_end(&w);
	mor_text_list_free_texts(&files);
	if (r < 0)
		return r;
	return mor_buf_failed(&json) ? mor_fail_memory(err) : mor_registry_parse(mor_buf_view(&json), ret, err);
}

/* ---- the next index ---- */

static bool same_entries(const struct mor_registry *old, const struct mor_registry *new)
{
	if (old->count != new->count)
		return false;
	for (size_t i = 0; i < new->count; i++)
		if (!mor_json_equal(old->items[i].value, new->items[i].value))
			return false;
	return true;
}

/* A lock that pins such a version fits no more. */
static void tell_changed(const struct mor_registry_update *update, const struct mor_registry *old,
			 const struct mor_registry *new)
{
	for (size_t i = 0; i < old->count; i++)
		for (size_t k = 0; k < new->count; k++)
			if (strcmp(old->items[i].name, new->items[k].name) == 0 &&
			    strcmp(old->items[i].version, new->items[k].version) == 0 &&
			    strcmp(old->items[i].digest, new->items[k].digest) != 0)
				tell_update(update, "another content than before, in the same version ",
					    new->items[k].name, new->items[k].version);
}

/* Both texts of one index: what is signed, and the file. */
static int write_index(const struct mor_registry *new, int64_t serial, const char *sign, struct mor_buf *out,
		       mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf plugins = MOR_BUF_INIT, statement = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *list = NULL, *whole = NULL;
	struct mor_writer array = { .out = &plugins }, w = { .out = &json };
	int r = 0;

	mor_w_array(&array);
	for (size_t i = 0; i < new->count; i++)
		mor_w_value(&array, new->items[i].value);
	mor_w_end(&array);
	if (mor_buf_failed(&plugins) || mor_doc_parse(mor_buf_view(&plugins), 0, 0, &list, NULL) < 0 ||
	    mor_registry_statement(serial, mor_doc_root(list), &statement) < 0)
		return mor_fail_memory(err);
	mor_w_object(&w);
	mor_w_pair_int(&w, "mortise_index", 1);
	mor_w_pair_int(&w, "serial", serial);
	mor_w_pair_raw(&w, "plugins", mor_buf_view(&plugins));
	if (sign) {
		mor_w_pair_object(&w, "signature");
		r = mor_bundle_sign_text(&w, mor_buf_view(&statement), sign, err);
		mor_w_end(&w);
	}
	mor_w_end(&w);
	if (r < 0)
		return r;
	if (mor_buf_failed(&json) || mor_doc_parse(mor_buf_view(&json), 0, 0, &whole, NULL) < 0 ||
	    mor_json_write(mor_doc_root(whole), true, out) < 0 || mor_buf_byte(out, '\n') < 0)
		return mor_fail_memory(err);
	return out->len <= MOR_REGISTRY_INDEX_BYTES ?
		       0 :
		       mor_fail(err, MORTISE_EINPUT,
				"the index would be larger than 16 MiB: use more than one directory");
}

static int replace_index(const struct mor_registry_update *update, const struct mor_registry *old,
			 const struct mor_registry *new, struct mor_registry_result *ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/" MOR_REGISTRY_INDEX, old->path);
	int r = path ? write_index(new, old->serial + 1, update->sign, &text, err) : mor_fail_memory(err);

	if (r < 0 || (r = mor_outfile_write(path, 0644, mor_buf_view(&text), err)) < 0)
		return r;
	tell_changed(update, old, new);
	ret->serial = old->serial + 1;
	ret->changed = true;
	ret->is_signed = update->sign != NULL;
	return 0;
}

static size_t count_names(const struct mor_registry *registry)
{
	size_t count = 0;

	for (size_t i = 0; i < registry->count; i++) /* sorted by name */
		count += i == 0 || strcmp(registry->items[i - 1].name, registry->items[i].name) != 0;
	return count;
}

static int update_index(const struct mor_registry_update *update, const struct mor_registry *old,
			struct mor_registry_result *ret, mortise_error *err)
{
	MOR_CLEAN(mor_registry) struct mor_registry new = MOR_REGISTRY_INIT;
	char key[MOR_SIGN_KEY_SIZE] = "";
	int r = list_archives(update, old->path, old->dir, &new, err);

	if (r < 0 || (update->sign && (r = mor_sign_read_key(update->sign, key, err)) < 0))
		return r;
	*ret = (struct mor_registry_result){ .plugins = new.count,
					     .names = count_names(&new),
					     .serial = old->serial,
					     .is_signed = old->origin.key[0] };
	if (old->serial && same_entries(old, &new) && (!update->sign || strcmp(key, old->origin.key) == 0))
		return 0;
	if (old->origin.key[0] && !update->sign)
		return mor_fail(err, MORTISE_EINVAL,
				"%s/" MOR_REGISTRY_INDEX
				" is signed: sign the new one, too, with --sign KEY; to go on without "
				"signatures, remove the file first",
				old->path);
	return replace_index(update, old, &new, ret, err);
}

int mor_registry_update(const struct mor_registry_update *update, struct mor_registry_result *ret,
			mortise_error *err)
{
	MOR_CLEAN(mor_registry) struct mor_registry old = MOR_REGISTRY_INIT;
	int r = mor_registry_open_any(update->path, &old, err);

	return r < 0 ? r : update_index(update, &old, ret, err);
}
