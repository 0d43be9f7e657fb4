/* SPDX-License-Identifier: Apache-2.0 */
/* A lock beside an empty store and a registry: what is told of each plugin. */
#include "leak.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/outfile.h"
#include "lockfile/outdated.h"
#include "registry/registry.h"
#include "top.h"

#define SUM   "0123456789012345678901234567890123456789012345678901234567890123"
#define OTHER "1123456789012345678901234567890123456789012345678901234567890123"
#define LISTED(name, version) \
	"{\"name\":\"" name "\",\"version\":\"" version "\",\"file\":\"" name "-" version \
	".tar.zst\",\"size\":1,\"sha256\":\"" SUM "\",\"digest\":\"" SUM "\"}"
#define LOCKED(name, version, digest, registry) \
	"{\"name\":\"" name "\",\"version\":\"" version "\",\"digest\":\"" digest \
	"\",\"registry\":\"" registry "\",\"permissions\":{},\"interface\":{}}"

static struct mor_lockfile lock;
static struct mor_store store;
static struct mor_buf told;

static int setup(void **state)
{
	assert_int_equal(top_make("outdated"), 0);
	assert_int_equal(leak_setup(state), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", at("state"), 1), 0);
	assert_int_equal(mor_store_open(at("data"), at("state"), &store), 0);
	lock = (struct mor_lockfile){ .dir = mor_strdup(top), .path = mor_strdup(at("mortise.lock")) };
	return 0;
}

static int teardown(void **state)
{
	mor_buf_fini(&told);
	told = (struct mor_buf)MOR_BUF_INIT;
	mor_lockfile_fini(&lock);
	mor_store_fini(&store);
	return leak_teardown(state) || top_drop(state);
}

static void on_plugin(const struct mor_outdated *plugin, void *arg)
{
	(void)arg;
	mor_buf_printf(&told, "%s %s %s %s: %s\n", plugin->name, plugin->locked ? plugin->locked : "-",
		       plugin->installed ? plugin->installed : "-", plugin->newest ? plugin->newest : "-",
		       plugin->differs);
}

static const char *all_told(const char *plugins)
{
	MOR_CLEAN_TEXT char *text = mor_text_format("{\"mortise_lock\":1,\"plugins\":[%s]}", plugins);
	mortise_error err = { 0 };

	if (mor_lockfile_parse(mor_slice_of(text), &lock, &err) < 0 ||
	    mor_lockfile_outdated(&lock, &store, false, on_plugin, NULL, &err) < 0)
		fail_msg("%s", err.text);
	mor_buf_byte(&told, '\0');
	return told.data;
}

static void make_registry(const char *entries)
{
	MOR_CLEAN_TEXT char *text =
		mor_text_format("{\"mortise_index\":1,\"serial\":1,\"plugins\":[%s]}", entries);

	assert_int_equal(mor_dir_make_all(AT_FDCWD, at("registry"), 0700), 0);
	assert_int_equal(mor_outfile_write(at("registry/" MOR_REGISTRY_INDEX), 0600, mor_slice_of(text), NULL),
			 0);
}

static void test_registry(void **state)
{
	(void)state;
	make_registry(
		LISTED("same", "1.0.0") "," LISTED("old", "1.0.0") "," LISTED("old",
									      "1.10.0") "," LISTED("odd",
												   "1.0.0"));
	assert_string_equal(all_told(LOCKED("same", "1.0.0", SUM, "registry") "," LOCKED(
				    "old", "1.0.0", SUM,
				    "registry") "," LOCKED("odd", "1.0.0", OTHER,
							   "registry") "," LOCKED("gone", "1.0.0", SUM,
										  "registry")),
			    "gone 1.0.0 - -: not installed; the registry does not have 1.0.0\n"
			    "odd 1.0.0 - 1.0.0: not installed; the registry has another content of 1.0.0\n"
			    "old 1.0.0 - 1.10.0: not installed; newer: 1.10.0\n"
			    "same 1.0.0 - 1.0.0: not installed\n");
}

static void test_registry_that_cannot_be_read(void **state)
{
	(void)state;
	assert_non_null(
		strstr(all_told(LOCKED("a", "1.0.0", SUM, "nowhere") "," LOCKED("b", "1.0.0", SUM, "nowhere")),
		       "b 1.0.0 - -: not installed; the registry cannot be read: "));
}

/* Without a lock it is the installed plugins, and there are no such. */
static void test_no_lock(void **state)
{
	(void)state;
	assert_int_equal(mor_lockfile_outdated(&lock, &store, false, on_plugin, NULL, NULL), 0);
	assert_int_equal(told.len, 0);
}

#define OUTDATED_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTDATED_TEST(test_registry),
		OUTDATED_TEST(test_registry_that_cannot_be_read),
		OUTDATED_TEST(test_no_lock),
	};

	return mor_run_group("lockfile/outdated", tests);
}
