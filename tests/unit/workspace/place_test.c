/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace: where it is, what is read in it, and which files a plugin may claim to have written. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "top.h"
#include "workspace/place.h"

static mortise_error err;
static char ws[TMP_ROOM + 16];

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
	(void)state;
	if (top_make("place") < 0 || mkdir(at("ws"), 0755) | mkdir(at("ws/sub"), 0755) |
					     mkdir(at("ws/sub/deep"), 0755) | mkdir(at("else"), 0755) |
					     mkdir(at("empty"), 0755))
		return -1;
	snprintf(ws, sizeof(ws), "%s/ws", top);
	put("ws/sunscreen.yml", "name: demo\nplugins: []\n");
	put("ws/file", "x");
	put("ws/sub/file", "x");
	put("else/file", "x");
	put("own.json", "{\"a\": 1, \"b\": {\"c\": 2}}");
	put("own.yml", "b:\n  d: 3\n");
	put("list.yml", "- 1\n- 2\n");
	put("bad.yml", "a: [1\n");
	put("idl.json", "{\"i\": 1}");
	return symlink("../else/file", at("ws/out")) | symlink("sub/file", at("ws/in")) |
	       symlink("../../else", at("ws/sub/away")) | symlink("loop", at("ws/loop")) |
	       symlink("ws", at("link"));
}

/* ---- where ---- */

static void test_found(void **state)
{
	static const struct {
		const char *from, *given, *found; /* below our directory; found NULL: not */
		int code;
	} rows[] = {
		{ "ws", NULL, "ws", 0 },
		{ "ws/sub/deep", NULL, "ws", 0 }, /* the nearest upwards */
		{ "else", NULL, NULL, MORTISE_ENOTFOUND },
		{ "else", "../ws", "ws", 0 },
		{ "else", "../ws/sub", "ws/sub", 0 }, /* without a file of its own */
		{ "else", "../link", "ws", 0 },       /* without links */
		{ "else", "nowhere", NULL, MORTISE_ENOTFOUND },
		{ "else", "file", NULL, MORTISE_EINPUT },
		{ "else", "file/x", NULL, MORTISE_EINPUT },
		{ "else", "", NULL, MORTISE_ENOTFOUND },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN_TEXT char *found = NULL;

		assert_int_equal(chdir(at(rows[i].from)), 0);
		assert_int_equal(mor_workspace_find(rows[i].given, &found, &err), rows[i].code);
		if (rows[i].found)
			assert_string_equal(found, at(rows[i].found));
		else
			assert_null(found);
	}
	assert_int_equal(chdir("/"), 0);
}

/* ---- configuration ---- */

static const char *config_of(const char *workspace, const char **given)
{
	static char text[400];
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_text_list list = { .item = given };
	int r;

	while (given && given[list.count])
		list.count++;
	err = (mortise_error){ 0 };
	assert_int_equal(chdir(top), 0);
	r = mor_workspace_config(at(workspace), &list, &out, &err);
	assert_int_equal(r, err.code);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data ? out.data : "");
	return r < 0 ? err.text : text;
}
#define CONFIG(...) config_of("ws", (const char *[]){ __VA_ARGS__, NULL })

static void test_config(void **state)
{
	(void)state;
	assert_string_equal(config_of("ws", NULL), "{\"name\":\"demo\",\"plugins\":[]}");
	assert_string_equal(config_of("empty", NULL), "{}");
	assert_string_equal(CONFIG("a=1"), "{\"a\":1}"); /* in place of the file */
	assert_string_equal(CONFIG("own.json", "own.yml", "b.c=9"), "{\"a\":1,\"b\":{\"c\":9,\"d\":3}}");
	assert_string_equal(CONFIG("a=own.yml"), "{\"a\":\"own.yml\"}"); /* a pair, not a file */
	assert_string_equal(CONFIG("@own.json"), "{\"a\":1,\"b\":{\"c\":2}}");
	assert_string_equal(CONFIG("@own.yml"), "{\"b\":{\"d\":3}}");
}

static void test_wrong_config(void **state)
{
	(void)state;
	assert_string_equal(CONFIG("nowhere.yml"), "nowhere.yml: no such file");
	assert_int_equal(err.code, MORTISE_ENOTFOUND);
	CONFIG("bad.yml");
	assert_int_equal(err.code, MORTISE_EMANIFEST);
	assert_int_equal(strncmp(err.text, "bad.yml:", 8), 0);
	CONFIG("list.yml"); /* there is nothing to merge in a list */
	assert_true(err.code < 0);
}

/* ---- IDL ---- */

static int idl_of(const char *given, char *out, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf idl = MOR_BUF_INIT;
	int r;

	err = (mortise_error){ 0 };
	r = mor_workspace_idl(ws, given ? at(given) : NULL, &idl, &err);
	snprintf(out, size, "%.*s", (int)idl.len, idl.data ? idl.data : "");
	return r;
}

/* The only one of its directory; of several none, since nobody says which. */
static void test_idl(void **state)
{
	char text[100];

	(void)state;
	assert_int_equal(idl_of(NULL, text, sizeof(text)), 0);
	assert_int_equal(mkdir(at("ws/target"), 0755) | mkdir(at("ws/target/idl"), 0755), 0);
	assert_int_equal(mkdir(at("ws/target/idl/dir.json"), 0755), 0);
	put("ws/target/idl/note.txt", "");
	put("ws/target/idl/.json", "");
	assert_int_equal(idl_of(NULL, text, sizeof(text)), 0);
	put("ws/target/idl/a.json", "{\"a\": 1}");
	assert_int_equal(idl_of(NULL, text, sizeof(text)), 1);
	assert_string_equal(text, "{\"a\": 1}");
	assert_int_equal(idl_of("idl.json", text, sizeof(text)), 1);
	assert_string_equal(text, "{\"i\": 1}");
	put("ws/target/idl/b.json", "{}");
	assert_int_equal(idl_of(NULL, text, sizeof(text)), 0);
	assert_int_equal(idl_of("nowhere", text, sizeof(text)), MORTISE_ENOTFOUND);
	assert_int_equal(idl_of("bad.yml", text, sizeof(text)), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "bad.yml is not JSON: "));
}

/* ---- scratch ---- */

static void test_scratch(void **state)
{
	MOR_CLEAN_TEXT char *path = NULL, *again = NULL;
	unsigned made = 0, later = 0;

	(void)state;
	assert_int_equal(mor_workspace_scratch(ws, "p", &path, &made, &err), 0);
	assert_string_equal(path, at("ws/.sunscreen/plugins/p"));
	assert_int_equal(made, 3);
	assert_int_equal(mor_workspace_scratch(ws, "p", &again, &later, &err), 0);
	assert_int_equal(later, 0);
	mor_workspace_drop_scratch(path, 0);
	assert_int_equal(access(path, F_OK), 0);
	put("ws/.sunscreen/kept", "");
	mor_workspace_drop_scratch(path, made); /* as far as they are empty */
	assert_int_equal(access(at("ws/.sunscreen/plugins"), F_OK), -1);
	assert_int_equal(access(at("ws/.sunscreen"), F_OK), 0);
	assert_int_equal(unlink(at("ws/.sunscreen/kept")) | rmdir(at("ws/.sunscreen")), 0);
}

/* Making a scratch directory follows no links: a workspace may come from anywhere. */
static void test_scratch_elsewhere(void **state)
{
	static const char *const names[] = { "", ".", "..", "../x", "a/b", "/x" };
	MOR_CLEAN_TEXT char *path = NULL;
	unsigned made = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(mor_workspace_scratch(ws, names[i], &path, &made, &err), MORTISE_EINPUT);
		assert_non_null(strstr(err.text, "cannot be the name of a scratch directory"));
	}
	assert_int_equal(symlink("../else", at("ws/.sunscreen")), 0);
	assert_int_equal(mor_workspace_scratch(ws, "p", &path, &made, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "(links are not followed)"));
	assert_null(path);
	assert_int_equal(access(at("else/plugins"), F_OK), -1);
	assert_int_equal(unlink(at("ws/.sunscreen")), 0);
	assert_int_equal(mor_workspace_scratch(at("nowhere"), "p", &path, &made, &err), MORTISE_EINPUT);
}

/* ---- claims ---- */

/* The file's name below the workspace, or what is wrong with it. */
static const char *claim(struct mor_slice claimed)
{
	static char text[600];
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const char *why;

	err = (mortise_error){ 0 };
	if (mor_workspace_file(ws, claimed, &out, &err) == 0) {
		snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
		return text;
	}
	assert_int_equal(err.code, MORTISE_EPROTO);
	why = strstr(err.text, "\", which ");
	assert_non_null(why);
	return why + strlen("\", which ");
}

static void test_claims(void **state)
{
	static const char *const rows[][2] = {
		{ "file", "file" },
		{ "./sub//./file", "sub/file" },
		{ "sub/../file", "file" },
		{ "sub/deep/../../file", "file" },
		{ "in", "in" }, /* a link that stays inside */
		{ "", "is no file" },
		{ ".", "is no file" },
		{ "sub", "is no file" },
		{ "sub/..", "is no file" },
		{ "nowhere", "does not exist" },
		{ "file/x", "does not exist" },
		{ "..", "leads out of the workspace" },
		{ "../else/file", "leads out of the workspace" },
		{ "sub/../../ws/file", "leads out of the workspace" }, /* also one that comes back */
		{ "out", "is a link that leads out of the workspace" },
		{ "sub/away/file", "is a link that leads out of the workspace" },
		{ "loop", "cannot be looked at" },
		{ "/etc/passwd", "lies outside the workspace" },
		{ "/", "lies outside the workspace" },
	};
	char whole[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(claim(mor_slice_of(rows[i][0])), rows[i][1]);
	snprintf(whole, sizeof(whole), "%s/sub/file", ws);
	assert_string_equal(claim(mor_slice_of(whole)), "sub/file");
	snprintf(whole, sizeof(whole), "%s", ws);
	assert_string_equal(claim(mor_slice_of(whole)), "lies outside the workspace");
	snprintf(whole, sizeof(whole), "%s-other/file", ws); /* another directory that only begins so */
	assert_string_equal(claim(mor_slice_of(whole)), "lies outside the workspace");
	snprintf(whole, sizeof(whole), "%s/../else/file", ws);
	assert_string_equal(claim(mor_slice_of(whole)), "leads out of the workspace");
	assert_string_equal(claim((struct mor_slice){ "file\0x", 6 }), "is not a file name");
}

static void test_a_claim_in_the_text_is_printable(void **state)
{
	static char name[5000];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	claim(mor_slice_of(name));
	assert_true(strlen(err.text) < 400);
	claim(MOR_SLICE("\x1b[2J\n"));
	assert_non_null(strstr(err.text, "files_written has \"\\x1b[2J\\x0a\", which"));
}

static void test_no_memory(void **state)
{
	(void)state;
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		mor_alloc_fail_after(n);
		r = mor_workspace_file(ws, MOR_SLICE("sub/../sub/file"), &out, &err);
		mor_alloc_fail_after(-1);
		assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 0));
	}
}

static int drop_files(void **state)
{
	return chdir("/") | top_drop(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_found),        MOR_TEST(test_config),
		MOR_TEST(test_wrong_config), MOR_TEST(test_idl),
		MOR_TEST(test_scratch),      MOR_TEST(test_scratch_elsewhere),
		MOR_TEST(test_claims),       MOR_TEST(test_a_claim_in_the_text_is_printable),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group_in("workspace/place", tests, make_files, drop_files);
}
