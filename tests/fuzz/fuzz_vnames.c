/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, then the paths that they are tried on: JSON, and after its first NUL or newline one path per line.
 * Nothing runs away, and what matches has a name. Path cleaning is checked on the way: cleaning twice
 * changes nothing. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"
#include "kythe/archive/vnames.h"

static void check_path(const char *path)
{
	MOR_CLEAN(mor_buf) struct mor_buf once = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf twice = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf below = MOR_BUF_INIT;

	CHECK(mor_path_clean("", path, &once) == 0);
	mor_buf_byte(&once, '\0');
	CHECK(mor_path_clean("", once.data, &twice) == 0);
	mor_buf_byte(&twice, '\0');
	CHECK(strcmp(once.data, twice.data) == 0);
	CHECK(once.data[0] && !strstr(once.data, "//") && !strstr(once.data, "/./"));
	/* From an absolute directory nothing but an absolute path without ".." comes out. */
	CHECK(mor_path_clean("/stage/dir", path, &below) == 0);
	mor_buf_byte(&below, '\0');
	CHECK(below.data[0] == '/' && !strstr(below.data, "/../") && strcmp(below.data, "/..") != 0);
}

static void try_path(const struct mor_vname_rules *rules, struct mor_slice line)
{
	MOR_CLEAN(mor_vname_own) struct mor_vname_own got = { 0 };
	MOR_CLEAN_TEXT char *path = mor_strndup(line.ptr, line.len);
	mortise_error err = { 0 };
	int r;

	CHECK(path);
	check_path(path);
	r = mor_vname_rules_apply(rules, path, &got, &err);
	CHECK(r == 0 || r == 1 || ((r == MORTISE_ELIMIT || r == MORTISE_EINPUT) && err.text[0]));
	if (r == 1)
		CHECK(got.vname.corpus && got.vname.root && got.vname.signature &&
		      got.vname.language[0] == '\0' && (got.vname.path[0] || !*path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_vname_rules) struct mor_vname_rules *rules = NULL;
	struct mor_slice json = { (const char *)data, size }, rest;
	const char *newline = size ? memchr(data, '\n', size) : NULL;
	mortise_error err = { 0 };
	int r;

	/* Matching may take its million steps; many rules on many paths would only be slow. */
	if (size > 600)
		return 0;
	if (newline)
		json.len = (size_t)(newline - json.ptr);
	rest = (struct mor_slice){ json.ptr + json.len, size - json.len };
	r = mor_vname_rules_parse("r", json, &rules, &err);
	CHECK(r == 0 || (r == MORTISE_EINPUT && strncmp(err.text, "r: ", 3) == 0));
	for (int lines = 0; lines < 4 && rest.len; lines++) {
		struct mor_slice line = { rest.ptr + 1, rest.len - 1 };

		newline = line.len ? memchr(line.ptr, '\n', line.len) : NULL;
		if (newline)
			line.len = (size_t)(newline - line.ptr);
		rest = (struct mor_slice){ line.ptr + line.len, rest.len - 1 - line.len };
		try_path(rules, line);
	}
	return 0;
}
