/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of its own for each test, and short ways to load from it and look at the result. Error texts
 * begin with the path that was given, so the tests work inside the directory and name things relatively. */
#ifndef TESTS_UNIT_MANIFEST_TREE_H
#define TESTS_UNIT_MANIFEST_TREE_H

#include "leak.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "manifest/manifest.h"
#include "tmp.h"

static char tree[TMP_ROOM];

static inline int tree_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int tree_setup(void **state)
{
	tmp_name(tree, "manifest");
	if (!mkdtemp(tree) || chdir(tree) != 0)
		return -1;
	unsetenv("XDG_CONFIG_HOME");
	return leak_setup(state);
}

static inline int tree_teardown(void **state)
{
	int r = leak_teardown(state);

	return chdir("/") != 0 || nftw(tree, tree_remove, 16, FTW_DEPTH | FTW_PHYS) != 0 ? -1 : r;
}

#define TREE_TEST(fn) cmocka_unit_test_setup_teardown(fn, tree_setup, tree_teardown)

/* Makes the directories on the way. A name that ends in '/' is a directory. */
static inline void put_bytes(const char *name, const char *bytes, size_t len)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s", name);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	if (path[strlen(path) - 1] == '/')
		return;
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static inline void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static inline struct mor_manifest *load_query(struct mor_manifest_query query)
{
	struct mor_manifest *m = NULL;
	mortise_error err = { 0 };

	if (!query.config_home)
		query.config_home = "home";
	if (mor_manifest_load(&query, &m, &err) < 0)
		fail_msg("load: %s", err.text);
	return m;
}

static inline struct mor_manifest *load_path(const char *path)
{
	return load_query((struct mor_manifest_query){ .path = path });
}

static inline void refuse_query(struct mor_manifest_query query, int status, const char *text)
{
	struct mor_manifest *m = NULL;
	mortise_error err = { 0 };
	int r;

	if (!query.config_home)
		query.config_home = "home";
	r = mor_manifest_load(&query, &m, &err);
	if (r == 0)
		fail_msg("loaded, instead of: %s", text);
	assert_string_equal(err.text, text);
	assert_int_equal(r, status);
	assert_int_equal(err.code, status);
	assert_null(m);
}

static inline void refuse(const char *path, int status, const char *text)
{
	refuse_query((struct mor_manifest_query){ .path = path }, status, text);
}

/* As JSON. */
static inline void expect_actions(const struct mor_manifest *m, const char *wanted)
{
	struct mor_buf out = MOR_BUF_INIT;

	assert_non_null(m->actions);
	mor_json_write(mor_doc_root(m->actions), false, &out);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data, wanted);
	mor_buf_fini(&out);
}

/* argv joined by '|', with the test's directory written as "@". */
static inline void expect_list(char **list, const char *wanted)
{
	struct mor_buf out = MOR_BUF_INIT;
	char *text;

	for (size_t i = 0; list && list[i]; i++) {
		bool inside = strncmp(list[i], tree, strlen(tree)) == 0;

		mor_buf_printf(&out, "%s%s%s", i ? "|" : "", inside ? "@" : "",
			       inside ? list[i] + strlen(tree) : list[i]);
	}
	text = mor_buf_detach(&out);
	assert_string_equal(text, wanted);
	mor_free(text);
}

/* A path inside the test's directory, written with "@". */
static inline void expect_path(const char *path, const char *wanted)
{
	char *list[] = { (char *)(uintptr_t)path, NULL };

	expect_list(list, wanted);
}

#endif
