/* SPDX-License-Identifier: Apache-2.0 */
/* The user's installed plugins, for the embedder. */
#include <mortise/installed.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/installed.h"
#include "store/store.h"

int mor_plugin_installed(const char *word, char **ret_path, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed found = { 0 };
	int r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(err) :
							 mor_store_pick(&store, word, &found, err);

	if (r == 0) {
		*ret_path = found.path;
		found.path = NULL;
	}
	mor_installed_fini(&found);
	mor_store_fini(&store);
	return r;
}

int mortise_installed_find(const char *word, char **ret_directory, mortise_error *err)
{
	if (!word || !ret_directory)
		return mor_fail(err, MORTISE_EINVAL, "a name and a place for the directory must be given");
	return mor_plugin_installed(word, ret_directory, err);
}

static int write_list(const struct mor_store *store, bool every, char **ret_json, mortise_error *err)
{
	MOR_CLEAN(mor_store_list) struct mor_store_list list = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	int r = mor_store_list(store, every, &list, err);

	if (r < 0)
		return r;
	mor_w_object(&w);
	mor_store_list_json(store, &list, &w);
	mor_w_end(&w);
	mor_buf_byte(&json, '\0');
	if (mor_buf_failed(&json))
		return mor_fail_memory(err);
	*ret_json = mor_buf_detach(&json);
	return 0;
}

int mortise_installed_list(uint64_t flags, char **ret_json, mortise_error *err)
{
	struct mor_store store = { 0 };
	int r;

	if (!ret_json || flags & ~(uint64_t)MORTISE_INSTALLED_EVERY)
		return mor_fail(err, MORTISE_EINVAL, "a place for the list must be given, and known flags");
	r = mor_store_open(NULL, NULL, &store) < 0 ?
		    mor_fail_memory(err) :
		    write_list(&store, flags & MORTISE_INSTALLED_EVERY, ret_json, err);
	mor_store_fini(&store);
	return r;
}
