/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about a plugin's last run, and the directory in which it may write. */
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/text.h"
#include "store/inside.h"

#define RUN_MAX 4096

static char *run_place(const struct mor_store *store, const char *name, const char *file)
{
	if (!store->runs || !mor_store_name_valid(name, strlen(name)))
		return NULL;
	return mor_text_format("%s/%s%s%s", store->runs, name, *file ? "/" : "", file);
}

static void keep_member(const struct mor_value *root, const char *name, char *to, size_t size)
{
	const char *text = mor_json_text(mor_json_get(root, name), "");

	mor_text_keep(to, size, text, strlen(text) + 1);
}

void mor_store_run_read(const struct mor_store *store, const char *name, struct mor_store_run *ret)
{
	MOR_CLEAN_TEXT char *path = run_place(store, name, "run.json");
	MOR_CLEAN_TEXT char *text = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *root;
	size_t len = 0;

	*ret = (struct mor_store_run){ 0 };
	if (!path || mor_fd_read_file(path, RUN_MAX, &text, &len) < 0 ||
	    mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &doc, NULL) < 0)
		return;
	root = mor_doc_root(doc);
	ret->at = mor_json_int(mor_json_get(root, "at"), 0);
	keep_member(root, "status", ret->status, sizeof(ret->status));
	keep_member(root, "text", ret->text, sizeof(ret->text));
	keep_member(root, "version", ret->version, sizeof(ret->version));
}

void mor_store_run_write(const struct mor_store *store, const char *name, const struct mor_store_run *run)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *dir = run_place(store, name, "");
	MOR_CLEAN_TEXT char *path = run_place(store, name, "run.json");
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_int(&w, "at", run->at);
	mor_w_pair(&w, "version", run->version);
	mor_w_pair(&w, "status", run->status);
	mor_w_pair(&w, "text", run->text);
	mor_w_end(&w);
	if (dir && path && !mor_buf_failed(&json) && mor_dir_make_all(AT_FDCWD, dir, 0700) == 0)
		(void)mor_store_write_file(path, mor_buf_view(&json), NULL);
}

char *mor_store_work(const struct mor_store *store, const char *name)
{
	char *dir = run_place(store, name, "work");

	if (dir && mor_dir_make_all(AT_FDCWD, dir, 0700) == 0)
		return dir;
	mor_free(dir);
	return NULL;
}
