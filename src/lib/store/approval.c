/* SPDX-License-Identifier: Apache-2.0 */
#include "store/approval.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/xdg.h"
#include "store/store.h"

#define RECORD_MAX 65536

/* What the approval covers. Its hash is the name of the file. */
static int write_subject(const struct mor_approval *a, struct mor_buf *out, mortise_error *err)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "directory", a->directory);
	mor_w_pair(&w, "name", a->name);
	mor_w_pair(&w, "version", a->version);
	mor_w_pair(&w, "manifest_sha256", a->manifest);
	mor_w_pair(&w, "permission", a->permission);
	mor_w_end(&w);
	return out->status < 0 ? mor_fail_memory(err) : 0;
}

static int approvals_dir(const struct mor_approval *a, char **ret, mortise_error *err)
{
	int r = mor_xdg_path(MOR_XDG_STATE, a->state_home, ret, "mortise/approvals");

	if (r == MORTISE_ENOTFOUND)
		return mor_fail(err, MORTISE_ESYSTEM,
				"approvals cannot be kept: neither XDG_STATE_HOME nor HOME is an absolute "
				"path");
	return r < 0 ? mor_fail_memory(err) : 0;
}

static int file_path(const char *dir, struct mor_slice subject, struct mor_buf *out, mortise_error *err)
{
	char hash[MOR_DIGEST_SIZE];

	mor_digest_of(subject.ptr, subject.len, hash);
	mor_buf_printf(out, "%s/%s.json", dir, hash);
	mor_buf_byte(out, '\0');
	return out->status < 0 ? mor_fail_memory(err) : 0;
}

struct place {
	struct mor_buf subject, file;
	char *dir;
};

static void place_fini(struct place *place)
{
	mor_buf_fini(&place->subject);
	mor_buf_fini(&place->file);
	mor_free(place->dir);
}

static int find_place(const struct mor_approval *a, struct place *place, mortise_error *err)
{
	int r = write_subject(a, &place->subject, err);

	if (r == 0)
		r = approvals_dir(a, &place->dir, err);
	return r < 0 ? r : file_path(place->dir, mor_buf_view(&place->subject), &place->file, err);
}

/* 1: the plugin is installed, and *ret_allowed says what was agreed then; 0: it is not installed. */
static int find_installed(const struct mor_approval *a, bool *ret_allowed, mortise_error *err)
{
	struct mor_installed plugin = { 0 };
	struct mor_store store = { 0 };
	int r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(err) :
							 mor_store_at(&store, a->directory, &plugin, err);

	if (r == 1)
		*ret_allowed = mor_installed_allows(&plugin, a->permission);
	mor_installed_fini(&plugin);
	mor_store_fini(&store);
	return r;
}

int mor_approval_find(const struct mor_approval *a, mortise_error *err)
{
	MOR_CLEAN(place) struct place place = { 0 };
	MOR_CLEAN(mor_doc) struct mor_doc *have = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *want = NULL;
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	bool allowed = false;
	int r = find_installed(a, &allowed, err);

	if (r != 0)
		return r < 0 ? r : allowed;
	if ((r = find_place(a, &place, err)) < 0)
		return r;
	if (mor_fd_read_file(place.file.data, RECORD_MAX, &text, &len) < 0)
		return 0;
	if (mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &have, NULL) < 0 ||
	    mor_doc_parse(mor_buf_view(&place.subject), 0, 0, &want, NULL) < 0)
		return 0;
	return mor_json_equal(mor_doc_root(have), mor_doc_root(want));
}

int mor_approval_grant(const struct mor_approval *a, mortise_error *err)
{
	MOR_CLEAN(place) struct place place = { 0 };
	bool allowed;
	int r = find_installed(a, &allowed, err);

	if (r == 1)
		return mor_fail(err, MORTISE_EINPUT,
				"%s is installed: mortise approve %s shows what it asks for", a->name, a->name);
	r = r < 0 ? r : find_place(a, &place, err);
	if (r < 0)
		return r;
	r = mor_dir_make_all(AT_FDCWD, place.dir, 0700); /* for this user only */
	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "the approval cannot be kept in %s", place.dir);
	r = mor_outfile_write(place.file.data, 0600, mor_buf_view(&place.subject), err);
	return r < 0 ? mor_fail_prefix(err, "the approval cannot be kept") : 0;
}
