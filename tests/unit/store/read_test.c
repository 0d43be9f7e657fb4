/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: names, versions, states that are damaged, permissions. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "store/permissions.h"
#include "store/store.h"
#include "tmp.h"

#define SUM "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static char home[TMP_ROOM];
static struct mor_store store;

static int setup(void **state)
{
	tmp_name(home, "store");
	assert_non_null(mkdtemp(home));
	assert_int_equal(mor_store_open(home, home, &store), 0);
	return leak_setup(state);
}

static int teardown(void **state)
{
	mor_store_fini(&store);
	mor_dir_remove_all(AT_FDCWD, home);
	return leak_teardown(state);
}

static void put_state(const char *name, const char *json)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/mortise/plugins/%s/1.0-ba78", home, name);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, path, 0700), 0);
	snprintf(path, sizeof(path), "%s/mortise/plugins/%s/state.json", home, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(json, file);
	fclose(file);
}

static const char one[] =
	"{\"name\":\"dice\",\"current\":\"1.0\",\"versions\":["
	"{\"version\":\"0.9\",\"directory\":\"0.9-ba78\",\"digest\":\"" SUM "\",\"dialect\":\"plain\"},"
	"{\"version\":\"1.0\",\"directory\":\"1.0-ba78\",\"digest\":\"" SUM "\",\"dialect\":\"plain\"}]}";

static void test_find(void **state)
{
	struct mor_installed found;
	mortise_error err = { 0 };

	(void)state;
	put_state("dice", one);
	assert_int_equal(mor_store_find(&store, "dice", &found, &err), 0);
	assert_string_equal(found.version, "1.0");
	assert_true(found.current);
	assert_false(found.approved);
	mor_installed_fini(&found);
	assert_int_equal(mor_store_find(&store, "dice@0.9", &found, &err), 0);
	assert_string_equal(found.directory, "0.9-ba78");
	assert_false(found.current);
	mor_installed_fini(&found);
	assert_int_equal(mor_store_find(&store, "dice@2", &found, &err), MORTISE_ENOTFOUND);
	assert_non_null(strstr(err.text, "there is: 0.9, 1.0"));
	assert_int_equal(mor_store_find(&store, "dise", &found, &err), MORTISE_ENOTFOUND);
	assert_non_null(strstr(err.text, "did you mean dice?"));
	assert_int_equal(mor_store_find(&store, "../dice", &found, &err), MORTISE_ENOTFOUND);
}

static void test_at(void **state)
{
	char path[300];
	struct mor_installed found;
	mortise_error err = { 0 };

	(void)state;
	put_state("dice", one);
	snprintf(path, sizeof(path), "%s/mortise/plugins/dice/1.0-ba78", home);
	assert_int_equal(mor_store_at(&store, path, &found, &err), 1);
	assert_string_equal(found.version, "1.0");
	mor_installed_fini(&found);
	snprintf(path, sizeof(path), "%s/mortise/plugins/dice/1.0-ba79", home);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mor_store_at(&store, path, &found, &err), MORTISE_EVIOLATION);
	snprintf(path, sizeof(path), "%s/mortise/plugins/dice", home);
	assert_int_equal(mor_store_at(&store, path, &found, &err), MORTISE_EVIOLATION);
	assert_int_equal(mor_store_at(&store, "/tmp", &found, &err), 0);
}

static void test_list(void **state)
{
	struct mor_store_list list;

	(void)state;
	assert_int_equal(mor_store_list(&store, true, &list, NULL), 0);
	assert_int_equal(list.count, 0);
	put_state("dice", one);
	put_state("broken", "{");
	put_state("empty", "{\"name\":\"empty\",\"current\":\"1\",\"versions\":[]}");
	assert_int_equal(mor_store_list(&store, true, &list, NULL), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].version, "1.0");
	assert_string_equal(list.items[1].version, "0.9");
	assert_non_null(list.damaged[0]);
	assert_non_null(list.damaged[1]);
	assert_null(list.damaged[2]);
	mor_store_list_fini(&list);
	assert_int_equal(mor_store_list(&store, false, &list, NULL), 0);
	assert_int_equal(list.count, 1);
	mor_store_list_fini(&list);
	assert_int_equal(mor_store_versions(&store, "dice", &list, NULL), 0);
	assert_int_equal(list.count, 2);
	mor_store_list_fini(&list);
}

static void test_no_record(void **state)
{
	struct mor_store_check check;
	struct mor_installed found;
	mortise_error err = { 0 };

	(void)state;
	put_state("dice", one);
	assert_int_equal(mor_store_find(&store, "dice", &found, &err), 0);
	assert_int_equal(mor_store_verify(&found, &check, &err), MORTISE_EVIOLATION);
	mor_installed_fini(&found);
}

static void test_names(void **state)
{
	static const char *const good[] = { "a", "elf-text", "My Plugin", "a@1.0", "a@1.0-rc.1+b" };
	static const char *const bad[] = { "",   ".a",  "a/b", "-a",       "a ", "a.",
					   "a@", "a@/", "a\n", "\xc3\xa4", "@",  "a@b@c" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!mor_store_is_name(good[i]))
			fail_msg("%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (mor_store_is_name(bad[i]))
			fail_msg("%s", bad[i]);
}

/* Semantic Versioning 2.0.0, section 11: its own examples, and texts that are no versions. */
static void test_versions(void **state)
{
	static const char *const order[] = { "0",
					     "0.9",
					     "1.0.0-alpha",
					     "1.0.0-alpha.1",
					     "1.0.0-beta",
					     "1.0.0-beta.2",
					     "1.0.0-beta.11",
					     "1.0.0-rc.1",
					     "1.0.0",
					     "2",
					     "2.1",
					     "2.1.1",
					     "2.10",
					     "10.0" };
	size_t count = sizeof(order) / sizeof(*order);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (mor_store_compare_versions(order[i], order[k]) != (i > k) - (i < k))
				fail_msg("%s, %s", order[i], order[k]);
	assert_int_equal(mor_store_compare_versions("1.0", "1.0.0+x"), 0);
	assert_int_equal(mor_store_compare_versions("v1.2", "1.2"), 0);
}

static unsigned wider(const char *before, const char *now)
{
	MOR_CLEAN(mor_doc) struct mor_doc *a = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *b = NULL;

	assert_int_equal(mor_doc_parse(mor_slice_of(before), 0, 0, &a, NULL), 0);
	assert_int_equal(mor_doc_parse(mor_slice_of(now), 0, 0, &b, NULL), 0);
	return mor_permissions_wider(mor_doc_root(a), mor_doc_root(b));
}

static void test_wider(void **state)
{
	static const char none[] = "{\"confined\":true,\"network\":false,\"read\":[],\"spawn\":false}",
			  all[] = "{\"confined\":false}",
			  some[] = "{\"confined\":true,\"network\":[\"a:1\"],\"read\":[\"/a\"],\"spawn\":true}",
			  more[] = "{\"confined\":true,\"network\":[\"a:1\",\"b:1\"],\"read\":[\"/a\",\"/b\"]}",
			  net[] = "{\"confined\":true,\"network\":true,\"write\":true}";

	(void)state;
	assert_int_equal(wider(none, none), 0);
	assert_int_equal(wider(none, all), MOR_PERMISSION_UNCONFINED);
	assert_int_equal(wider(all, net), 0);
	assert_int_equal(wider(none, some),
			 MOR_PERMISSION_NETWORK | MOR_PERMISSION_READ | MOR_PERMISSION_SPAWN);
	assert_int_equal(wider(some, more), MOR_PERMISSION_NETWORK | MOR_PERMISSION_READ);
	assert_int_equal(wider(more, some), MOR_PERMISSION_SPAWN);
	assert_int_equal(wider(some, net), MOR_PERMISSION_NETWORK | MOR_PERMISSION_WRITE);
	assert_int_equal(wider(net, some), MOR_PERMISSION_READ | MOR_PERMISSION_SPAWN);
}

static void test_canonical(void **state)
{
	static const char policy[] = "{\"level\":\"auto\",\"network\":[\"b:1\",\"a:1\",\"b:1\"],\"read\":null,"
				     "\"spawn\":true,\"workspace_write\":null}";
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *back = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf again = MOR_BUF_INIT;
	struct mor_writer w = { .out = &again };

	(void)state;
	assert_int_equal(mor_doc_parse(MOR_SLICE(policy), 0, 0, &doc, NULL), 0);
	assert_int_equal(mor_permissions_write(mor_doc_root(doc), &text), 0);
	assert_int_equal(mor_doc_parse(mor_buf_view(&text), 0, 0, &back, NULL), 0);
	mor_permissions_canonical(mor_doc_root(back), &w);
	mor_buf_byte(&again, '\0');
	mor_buf_byte(&text, '\0');
	assert_string_equal(again.data, text.data);
	assert_string_equal(text.data, "{\"confined\":true,\"network\":[\"a:1\",\"b:1\"],\"read\":[],"
				       "\"spawn\":true,\"write\":false}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at, setup, teardown),
		cmocka_unit_test_setup_teardown(test_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_record, setup, teardown),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_wider),
		cmocka_unit_test(test_canonical),
	};

	return mor_run_group("store/read", tests);
}
