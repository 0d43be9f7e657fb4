/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin on its way into the store. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "content/names.h"
#include "content/nameset.h"
#include "store/inside.h"
#include "store/keep_inside.h"

#define DIGEST_SHOWN   16 /* digits of the digest in the name of the directory */
#define REPLACED_SHOWN 8  /* and in that of a version that was replaced */

/* ---- staging ---- */

static int fill_staging(struct mor_staging *staging, const char *from, mortise_error *err)
{
	const char *name = mor_base_name(from);

	staging->top = mor_text_format("%s/.new-XXXXXX", staging->store->plugins);
	if (!staging->top)
		return mor_fail_memory(err);
	if (!mkdtemp(staging->top))
		return mor_store_fail_write(staging->store->plugins, errno, err);
	staging->hold = open(staging->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (staging->hold < 0 || flock(staging->hold, LOCK_EX | LOCK_NB) < 0)
		return mor_store_fail_write(staging->top, errno, err);
	if (!mor_store_name_valid(name, strlen(name)))
		name = "plugin";
	staging->path = mor_text_format("%s/%s", staging->top, name);
	if (!staging->path)
		return mor_fail_memory(err);
	staging->dir = mor_dir_make_open(staging->hold, name, 0755, O_RDONLY, NULL);
	return staging->dir < 0 ? mor_store_fail_write(staging->top, -staging->dir, err) : 0;
}

int mor_store_stage(const struct mor_store *store, const char *from, struct mor_staging *ret,
		    mortise_error *err)
{
	struct mor_staging staging = { .store = store, .dir = -1, .hold = -1 };
	int r, lock = mor_store_lock(store, err);

	if (lock < 0)
		return lock;
	if ((r = fill_staging(&staging, from, err)) < 0)
		mor_staging_fini(&staging);
	else
		*ret = staging;
	mor_fd_close(&lock);
	return r;
}

void mor_staging_fini(struct mor_staging *staging)
{
	if (staging->hold >= 0)
		mor_dir_remove_all(AT_FDCWD, staging->top);
	mor_fd_close(&staging->dir);
	mor_fd_close(&staging->hold);
	mor_free(staging->path);
	mor_free(staging->top);
	*staging = (struct mor_staging){ .dir = -1, .hold = -1 };
}

int mor_staging_rename(struct mor_staging *staging, const char *name, mortise_error *err)
{
	const char *now = mor_base_name(staging->path);
	char *path;

	if (strcmp(now, name) == 0 || !mor_store_name_valid(name, strlen(name)))
		return 0;
	path = mor_text_format("%s/%s", staging->top, name);
	if (!path)
		return mor_fail_memory(err);
	if (renameat(staging->hold, now, staging->hold, name) < 0) {
		mor_free(path);
		return mor_store_fail_write(staging->top, errno, err);
	}
	mor_free(staging->path);
	staging->path = path;
	return 0;
}

/* ---- copying ---- */

struct tree_copy {
	int from, to;
	const char *shown;  /* of `from` */
	const char *target; /* path of `to` */
	mortise_error *err;
};

static int make_parents(struct tree_copy *copy, const char *path)
{
	const char *slash = strrchr(path, '/');
	MOR_CLEAN_TEXT char *dir = slash ? mor_strndup(path, (size_t)(slash - path)) : NULL;
	int r = dir ? mor_dir_make_all(copy->to, dir, 0755) : slash ? -ENOMEM : 0;

	return r < 0 ? mor_store_fail_write(copy->target, -r, copy->err) : 0;
}

/* No part of the path may have become a link meanwhile. */
static int open_source(int from, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};

	return (int)syscall(SYS_openat2, from, path, &how, sizeof(how));
}

static int copy_bytes(struct tree_copy *copy, int from, int to, const struct mor_content_file *file)
{
	uint64_t left = file->size;

	while (left) {
		ssize_t len = sendfile(to, from, NULL, left);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return mor_store_fail_write(copy->target, errno, copy->err);
		if (len == 0)
			return mor_fail(copy->err, MORTISE_EINPUT, "%s/%s: it changes while it is read",
					copy->shown, file->path);
		left -= (uint64_t)len;
	}
	/* whatever the umask says */
	return fchmod(to, file->executable ? 0755 : 0644) < 0 ?
		       mor_store_fail_write(copy->target, errno, copy->err) :
		       0;
}

static int copy_file(struct tree_copy *copy, const struct mor_content_file *file)
{
	int to, r = 0, from = open_source(copy->from, file->path);

	if (from < 0)
		return mor_fail_errno(copy->err, MORTISE_EINPUT, errno, "%s/%s: it cannot be read", copy->shown,
				      file->path);
	if ((to = openat(copy->to, file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		r = mor_store_fail_write(copy->target, errno, copy->err);
	else
		r = copy_bytes(copy, from, to, file);
	/* some file systems tell only now that there was no room */
	if (to >= 0 && close(to) < 0 && r == 0 && errno != EINTR)
		r = mor_store_fail_write(copy->target, errno, copy->err);
	mor_fd_close(&from);
	return r;
}

/* Links come after all files: no file is made through one. */
static int copy_all(struct tree_copy *copy, const struct mor_content *content, bool links)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < content->count; i++) {
		const struct mor_content_file *file = &content->files[i];

		if (links != (file->target != NULL))
			continue;
		r = make_parents(copy, file->path);
		if (r == 0 && !links)
			r = copy_file(copy, file);
		else if (r == 0 && symlinkat(file->target, copy->to, file->path) < 0)
			r = mor_store_fail_write(copy->target, errno, copy->err);
	}
	return r;
}

/* Two names that are one on another file system. */
static int check_names(const struct mor_content *content, mortise_error *err)
{
	MOR_CLEAN(mor_nameset) struct mor_nameset *names = mor_nameset_new();
	int r = names ? 0 : mor_fail_memory(err);

	for (size_t i = 0; r == 0 && i < content->count; i++)
		r = mor_nameset_add(names, content->files[i].path,
				    content->files[i].target ? MOR_NAMESET_LINK : MOR_NAMESET_FILE, err);
	return r;
}

int mor_staging_copy(struct mor_staging *staging, const char *from, mortise_error *err)
{
	MOR_CLEAN(mor_content) struct mor_content content = { 0 };
	struct tree_copy copy = {
		.to = staging->dir, .shown = from, .target = staging->store->plugins, .err = err
	};
	int r;

	copy.from = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy.from < 0)
		return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno,
				      "%s: it cannot be read", from);
	r = mor_content_scan_source(copy.from, from, &content, err);
	if (r == 0)
		r = check_names(&content, err);
	if (r == 0)
		r = copy_all(&copy, &content, false);
	if (r == 0)
		r = copy_all(&copy, &content, true);
	mor_fd_close(&copy.from);
	return r;
}

/* ---- putting ---- */

static int check_facts(const struct mor_store_facts *facts, mortise_error *err)
{
	char shown[150];

	if (!mor_store_name_valid(facts->name, strlen(facts->name)))
		return mor_fail(
			err, MORTISE_EINPUT,
			"\"%s\" cannot be the name of an installed plugin: use letters, digits, \".\", \"_\", "
			"\"+\", \"-\" and blanks, at most %d, beginning with a letter or digit",
			mor_excerpt(mor_slice_of(facts->name), shown, sizeof(shown)), MOR_STORE_NAME_MAX);
	if (!mor_store_version_valid(facts->version, strlen(facts->version)))
		return mor_fail(err, MORTISE_EINPUT,
				"\"%s\" cannot be the version of an installed plugin: use letters, digits, "
				"\".\", \"_\", \"+\", \"-\" and \"~\", at most %d",
				mor_excerpt(mor_slice_of(facts->version), shown, sizeof(shown)),
				MOR_STORE_VERSION_MAX);
	return mor_content_name_check(facts->name, err);
}

/* Two names that are one on other systems, and for people. */
static int check_likeness(const struct mor_store *store, const char *name, mortise_error *err)
{
	DIR *dir = opendir(store->plugins);
	struct dirent *item;
	int r = 0;

	while (dir && r == 0 && (item = readdir(dir)))
		if (strcasecmp(item->d_name, name) == 0 && strcmp(item->d_name, name) != 0)
			r = mor_fail(err, MORTISE_EINPUT,
				     "\"%s\" cannot be installed beside \"%s\": the names differ in case only; "
				     "mortise remove %s makes room for it",
				     name, item->d_name, item->d_name);
	if (dir)
		closedir(dir);
	return r;
}

static const char *digest_of(const struct mor_value *root, const char *version)
{
	return mor_json_text(mor_json_get(mor_store_entry(root, "version", version), "digest"), "");
}

/* The same version with other files: what was there stays, under a name of its own, so that one can go back.
 * NULL: nothing stays. */
static char *name_replaced(const struct mor_value *root, const struct mor_store_facts *facts,
			   const struct mor_content *content)
{
	const char *digest = digest_of(root, facts->version);
	char *name;

	if (facts->in_place || !*digest || strcmp(digest, content->digest) == 0)
		return NULL;
	name = mor_text_format("%s~%.*s", facts->version, REPLACED_SHOWN, digest);
	if (name && !mor_store_version_valid(name, strlen(name))) { /* too long */
		mor_free(name);
		name = NULL;
	}
	return name;
}

/* Was something else installed while the user was thinking? */
static int check_seen(const struct mor_value *root, const struct mor_store_facts *facts, mortise_error *err)
{
	const char *asked = facts->in_place ? facts->version : mor_json_text(mor_json_get(root, "current"), "");
	const char *digest = digest_of(root, asked);

	if (!facts->seen || strcmp(facts->seen, digest) == 0)
		return 0;
	return mor_fail(
		err, MORTISE_EINPUT,
		"another %s was installed meanwhile: nothing was changed; look at it with mortise info, then "
		"try again",
		facts->name);
}

static void raw_or_null(struct mor_writer *w, const char *name, struct mor_slice json)
{
	mor_w_pair_raw(w, name, json.len ? json : MOR_SLICE("null"));
}

static void write_entry(const struct mor_store_facts *facts, const struct mor_content *content,
			const char *directory, const char *seal, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "version", facts->version);
	mor_w_pair(&w, "directory", directory);
	mor_w_pair(&w, "digest", content->digest);
	mor_w_pair(&w, "dialect", facts->dialect);
	mor_w_pair(&w, "description", facts->description);
	mor_w_pair(&w, "from", facts->from);
	mor_w_pair(&w, "key", facts->key);
	mor_w_pair_bool(&w, "confine", facts->confine);
	raw_or_null(&w, "offers", facts->offers);
	raw_or_null(&w, "interface", facts->interface);
	raw_or_null(&w, "permissions", facts->permissions);
	mor_store_write_approval(&w, facts->allow, seal);
	mor_w_end(&w);
}

/* The seal is made from the entry as it will be read. */
static int seal_entry(const struct mor_store_facts *facts, const struct mor_content *content,
		      const char *directory, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf draft = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	char seal[MOR_DIGEST_SIZE] = "";

	write_entry(facts, content, directory, NULL, &draft);
	if (mor_buf_failed(&draft) || mor_doc_parse(mor_buf_view(&draft), 0, 0, &doc, NULL) < 0)
		return mor_fail_memory(err);
	mor_store_seal(facts->name, facts->version, mor_doc_root(doc), seal);
	write_entry(facts, content, directory, seal, out);
	return mor_buf_failed(out) || !*seal ? mor_fail_memory(err) : 0;
}

/* The files go to their place. What is there already has the same content, or had it before somebody changed
 * it: they change places, and the old one is rubbish. */
static int move_files(struct mor_staging *staging, const char *name, const char *to, mortise_error *err)
{
	const char *now = mor_base_name(staging->path);
	struct stat st;

	if (strcmp(now, name) != 0 && renameat(staging->hold, now, staging->hold, name) < 0)
		return mor_store_fail_write(staging->top, errno, err);
	if (lstat(to, &st) == 0 && !S_ISDIR(st.st_mode))
		(void)unlink(to); /* a link made there would lead our files elsewhere */
	if (rename(staging->top, to) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return mor_store_fail_write(to, errno, err);
	return renameat2(AT_FDCWD, staging->top, AT_FDCWD, to, RENAME_EXCHANGE) < 0 ?
		       mor_store_fail_write(to, errno, err) :
		       0;
}

/* The plugin's directory: a real one, for this user only. What others could write is worth nothing. */
static int make_home(const struct mor_store *store, const char *home, const char *name, mortise_error *err)
{
	struct stat st;
	int r;

	if (lstat(home, &st) == 0 &&
	    (!S_ISDIR(st.st_mode) || mor_store_check_owner(store, name, NULL) == MORTISE_EVIOLATION))
		mor_dir_remove_all(AT_FDCWD, home);
	r = mor_dir_make(AT_FDCWD, home, 0700);
	return r < 0 && r != -EEXIST ? mor_store_fail_write(home, -r, err) : 0;
}

/* The present state. One that is damaged counts as none: this install takes its place. */
static int read_old(const struct mor_store *store, const char *name, struct mor_doc **ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s/state.json", store->plugins, name);
	int r = path ? mor_store_state_read(store, name, ret, err) : mor_fail_memory(err);

	if (r == MORTISE_ESYSTEM)
		mor_dir_remove_all(AT_FDCWD, path);
	return r == MORTISE_ENOTFOUND || r == MORTISE_ESYSTEM ? 0 : r;
}

static int put_record(const char *files, const struct mor_content *content, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *path = mor_text_format("%s.json", files);

	if (!path || mor_content_write(content, true, &json) < 0)
		return mor_fail_memory(err);
	return mor_store_write_state(path, mor_buf_view(&json), err);
}

static int put_locked(struct mor_staging *staging, const struct mor_content *content,
		      const struct mor_store_facts *facts, mortise_error *err)
{
	const struct mor_store *store = staging->store;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf entry = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *home = mor_text_format("%s/%s", store->plugins, facts->name);
	MOR_CLEAN_TEXT char *directory =
		mor_text_format("%s-%.*s", facts->version, DIGEST_SHOWN, content->digest);
	MOR_CLEAN_TEXT char *files = home && directory ? mor_text_format("%s/%s", home, directory) : NULL;
	MOR_CLEAN_TEXT char *replaced = NULL;
	struct mor_store_change change = { .name = facts->name,
					   .drop = facts->version,
					   .current = facts->version };
	int r = files ? check_likeness(store, facts->name, err) : mor_fail_memory(err);

	if (r < 0 || (r = make_home(store, home, facts->name, err)) < 0 ||
	    (r = read_old(store, facts->name, &doc, err)) < 0 ||
	    (r = check_seen(mor_doc_root(doc), facts, err)) < 0 ||
	    (r = seal_entry(facts, content, directory, &entry, err)) < 0)
		return r;
	change.add = mor_buf_view(&entry);
	change.directory = directory;
	if (facts->in_place || (facts->aside && doc))
		change.current = NULL;
	replaced = name_replaced(mor_doc_root(doc), facts, content);
	change.keep_as = replaced;
	r = move_files(staging, facts->name, files, err);
	if (r == 0)
		r = put_record(files, content, err);
	return r < 0 ? r : mor_store_change(store, mor_doc_root(doc), &change, err);
}

int mor_store_put(struct mor_staging *staging, const struct mor_content *content,
		  const struct mor_store_facts *facts, mortise_error *err)
{
	int lock, r = check_facts(facts, err);

	if (r < 0)
		return r;
	if ((lock = mor_store_lock(staging->store, err)) < 0)
		return lock;
	r = put_locked(staging, content, facts, err);
	mor_fd_close(&lock);
	return r;
}
