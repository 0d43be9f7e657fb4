/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "kythe/bytes.h"
#include "tmp.h"

static char dir[TMP_ROOM];
char digests[CONTENTS][65];
struct mor_kzip *kzip;

const char *in_dir(const char *name)
{
	static char path[4][9000];
	static unsigned turn;
	char *to = path[turn++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

const char *content_of(unsigned number)
{
	static const char *const contents[CONTENTS] = {
		"", "one\n", "two, longer\n", "int main(void);\n", "4", "five 5 five\n"
	};

	return contents[number];
}

struct mor_kzip *make_kzip(const char *name, unsigned contents)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	struct mor_kzip *made = NULL;
	mortise_error err = { 0 };
	char digest[65];

	assert_int_equal(mor_kzip_writer_new(in_dir(name), MOR_KZIP_JSON, &writer, &err), 0);
	for (unsigned i = 0; i < contents; i++) {
		assert_int_equal(bytes_into(writer, mor_slice_of(content_of(i)), digest, &err), 0);
		memcpy(digests[i], digest, sizeof(digest));
	}
	assert_int_equal(mor_kzip_writer_finish(writer, &err), 0);
	assert_int_equal(mor_kzip_open(in_dir(name), NULL, &made, &err), 0);
	return made;
}

int group_setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(tmp_name(dir, "stage")));
	kzip = make_kzip("all.kzip", CONTENTS);
	return 0;
}

int group_teardown(void **state)
{
	(void)state;
	mor_kzip_free(kzip);
	mor_dir_remove_all(AT_FDCWD, dir);
	return access(dir, F_OK) == 0;
}

struct mor_unit unit_of(const char *working_dir, struct mor_input *inputs, size_t count)
{
	return (struct mor_unit){ .vname = MOR_VNAME_EMPTY,
				  .inputs = inputs,
				  .input_count = count,
				  .output_key = "",
				  .working_directory = working_dir,
				  .entry_context = "" };
}

struct mor_stager *new_stager(const char *cache)
{
	struct mor_stager *stager = NULL;
	mortise_error err = { 0 };

	if (mor_stager_new(in_dir(cache), &stager, &err) < 0)
		fail_msg("%s", err.text);
	return stager;
}

void fit(struct mor_stager *stager, const struct mor_unit *unit, enum mor_stage_mode mode,
	 struct mor_stage *stage)
{
	mortise_error err = { 0 };

	if (fit_stage(stager, kzip, unit, mode, stage, &err) < 0)
		fail_msg("%s", err.text);
}

void expect_refused(const struct mor_unit *unit, enum mor_stage_mode mode, const char *text)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_input plain[] = { INPUT("a", 1), INPUT("b/c", 2) };
	struct mor_unit before = unit_of("", plain, 2);
	struct mor_stage stage = { 0 };
	mortise_error err = { 0 };
	char path[PATH_MAX];

	fit(stager, &before, mode, &stage);
	snprintf(path, sizeof(path), "%s", stage.path);
	assert_int_equal(fit_stage(stager, kzip, unit, mode, &stage, &err), MORTISE_EINPUT);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" lacks \"%s\"", err.text, text);
	assert_null(stage.path);
	assert_null(stage.working_dir);
	assert_null(stage.items);
	assert_int_equal(access(path, F_OK), -1);
}

void expect_content(const struct mor_stage *stage, const char *path, unsigned number)
{
	int root = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    fd = openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[100];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct stat st;

	if (fd < 0)
		fail_msg("%s is not there", path);
	assert_int_equal(len, strlen(content_of(number)));
	assert_memory_equal(text, content_of(number), (size_t)len);
	assert_int_equal(fstat(fd, &st), 0);
	mor_fd_close(&fd);
	mor_fd_close(&root);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0444);
	assert_int_equal(st.st_mtim.tv_sec, 1);
}

enum { LINES_MOST = 1024 };

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void list_tree(const char *root, struct mor_buf *out)
{
	char *const roots[] = { (char *)root, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL, NULL);
	char *lines[LINES_MOST];
	size_t count = 0;
	FTSENT *entry;

	assert_non_null(walk);
	while ((entry = fts_read(walk))) {
		assert_true(count < LINES_MOST && entry->fts_info != FTS_ERR && entry->fts_info != FTS_DNR);
		if (entry->fts_info == FTS_DP || entry->fts_level == FTS_ROOTLEVEL)
			continue;
		assert_true(asprintf(&lines[count++], "%s%s\n", entry->fts_path + strlen(root) + 1,
				     entry->fts_info == FTS_D ? "/" : "") > 0);
	}
	fts_close(walk);
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++) {
		mor_buf_text(out, lines[i]);
		free(lines[i]);
	}
	mor_buf_byte(out, '\0');
}

static bool leads_to_listed(const struct mor_stage *stage, const char *path, size_t len)
{
	for (const char **listed = stage->directories; *listed; listed++)
		if (strncmp(*listed, path, len) == 0 && ((*listed)[len] == '/' || (*listed)[len] == '\0'))
			return true;
	return false;
}

/* The stage tells its directories: all of them are on the way to one that is listed, and each that is
 * listed is there. */
static void expect_directories(const struct mor_stage *stage, const char *tree)
{
	char path[2 * PATH_MAX];
	size_t len;

	for (const char *line = tree; *line; line += len + 1) {
		len = strcspn(line, "\n");
		if (line[len - 1] == '/' && !leads_to_listed(stage, line, len - 1))
			fail_msg("%.*s is on the way to no directory that the stage tells", (int)len, line);
	}
	for (const char **listed = stage->directories; *listed; listed++) {
		snprintf(path, sizeof(path), "%s/%s/.", stage->path, *listed);
		if (access(path, F_OK) < 0)
			fail_msg("%s is told, but not there", *listed);
	}
}

void expect_tree(const struct mor_stage *stage, const char *want)
{
	MOR_CLEAN(mor_buf) struct mor_buf got = MOR_BUF_INIT;

	list_tree(stage->path, &got);
	assert_string_equal(got.data, want);
	expect_directories(stage, want);
}
