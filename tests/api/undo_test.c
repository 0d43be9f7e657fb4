/* SPDX-License-Identifier: Apache-2.0 */
/* mortise_undo_…() as an embedder calls them, with mortise_jail_run(). What is undone, and what is not, is for
 * the tests of src/core/undo/undo.h and tests/e2e/test_undo.py. */
#include "leak.h"
#include "tmp.h"

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mortise/jail.h>
#include <mortise/undo.h>

static char top[TMP_ROOM], workspace[256], stores[256], notes[2048];

static void on_note(const char *text, void *arg)
{
	size_t len = strlen(notes);

	assert_ptr_equal(arg, &notes);
	snprintf(notes + len, sizeof(notes) - len, "%s\n", text);
}

static mortise_undo *begin(void)
{
	mortise_undo_options opt = {
		.size = sizeof(opt),
		.directory = stores,
		.workspace = workspace,
		.name = "tester",
		.on_note = on_note,
		.arg = &notes,
	};
	mortise_undo *undo = NULL;
	mortise_error err = { 0 };

	notes[0] = '\0';
	assert_int_equal(mortise_undo_new(&opt, &undo, &err), 0);
	return undo;
}

static int make_stage(void **state)
{
	(void)state;
	tmp_name(top, "api-undo");
	if (!mkdtemp(top))
		return -1;
	snprintf(workspace, sizeof(workspace), "%s/ws", top);
	snprintf(stores, sizeof(stores), "%s/a/b/stores", top); /* made with all that is above it */
	return mkdir(workspace, 0755) < 0 ? -1 : leak_setup(state);
}

static int drop_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static int drop_stage(void **state)
{
	int leaked = leak_teardown(state);

	return nftw(top, drop_one, 8, FTW_DEPTH | FTW_PHYS) ? -1 : leaked;
}

static size_t count_stores(void)
{
	DIR *dir = opendir(stores);
	size_t count = 0;

	for (struct dirent *entry; dir && (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* A shell that makes a file and ends with 1. MORTISE_EJAIL: this machine cannot confine. */
static int run(mortise_undo *undo)
{
	char room[512], store[200];
	const char *argv[] = { "/bin/sh", "-c", "echo x >made; exit 1", NULL };
	const char *policy[] = { room, "workspace_write=true", store, NULL };
	mortise_jail_options opt = { .size = sizeof(opt), .argv = argv, .policy = policy };
	mortise_jail_result *result = NULL;
	int r;

	snprintf(room, sizeof(room), "workspace=%s", workspace);
	snprintf(store, sizeof(store), "undo=%s", mortise_undo_store(undo));
	r = mortise_jail_run(&opt, &result, NULL);
	mortise_free(result);
	return r;
}

static bool made(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/made", workspace);
	return access(path, F_OK) == 0;
}

static void undone_or_kept(void **state)
{
	mortise_undo_result result = { .size = sizeof(result) };

	(void)state;
	for (int keep = 0; keep < 2; keep++) {
		mortise_undo *undo = begin();

		if (run(undo) == MORTISE_EJAIL) {
			mortise_undo_free(undo);
			leak_skip("this machine cannot confine");
		}
		assert_true(made());
		if (!keep)
			assert_int_equal(mortise_undo_run(undo, &result, NULL), 0);
		assert_null(mortise_undo_free(undo));
		assert_int_equal(made(), keep);
		assert_string_equal(notes, keep ? "" : "undone: 1 file created\n");
		assert_int_equal(count_stores(), 0);
	}
	assert_int_equal(result.created, 1);
	assert_int_equal(result.changed + result.removed + result.left + result.refused, 0);
}

/* What cannot be undone now is tried again when somebody next comes to that workspace. */
static void failed(void **state)
{
	mortise_undo_result result = { .size = sizeof(result) };
	mortise_error err = { 0 };
	mortise_undo *undo = begin();
	char away[256];

	(void)state;
	if (run(undo) == MORTISE_EJAIL) {
		mortise_undo_free(undo);
		leak_skip("this machine cannot confine");
	}
	snprintf(away, sizeof(away), "%s/away", top);
	assert_int_equal(rename(workspace, away), 0);
	assert_int_equal(mortise_undo_run(undo, &result, &err), MORTISE_ESYSTEM);
	mortise_undo_free(undo);
	assert_int_equal(count_stores(), 1);
	assert_int_equal(rename(away, workspace), 0);
	assert_true(made());
	undo = begin();
	assert_string_equal(notes, "tester was killed when it last ran here; undone: 1 file created\n");
	assert_false(made());
	mortise_undo_free(undo);
	assert_int_equal(count_stores(), 0);
}

static void refused(void **state)
{
	mortise_undo_options opt = { .size = sizeof(opt), .directory = "relative", .workspace = workspace };
	mortise_undo_result none = { 0 };
	mortise_undo *undo = NULL;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mortise_undo_new(&opt, &undo, &err), MORTISE_EINVAL);
	opt.directory = stores;
	opt.workspace = "/no/such/directory";
	assert_int_equal(mortise_undo_new(&opt, &undo, &err), MORTISE_ENOTFOUND);
	opt.workspace = workspace;
	opt.directory = "/proc/no/such";
	assert_int_equal(mortise_undo_new(&opt, &undo, &err), MORTISE_ESYSTEM);
	assert_null(undo);
	assert_null(mortise_undo_store(NULL));
	assert_null(mortise_undo_free(NULL));
	undo = begin();
	assert_int_equal(mortise_undo_run(undo, &none, &err), MORTISE_EINVAL);
	assert_int_equal(mortise_undo_run(NULL, &none, NULL), MORTISE_EINVAL);
	mortise_undo_free(undo);
	assert_int_equal(count_stores(), 0);
}

#define STAGED(fn) cmocka_unit_test_setup_teardown(fn, make_stage, drop_stage)

int main(void)
{
	const struct CMUnitTest tests[] = { STAGED(undone_or_kept), STAGED(failed), STAGED(refused) };

	return mor_run_group("api/undo", tests);
}
