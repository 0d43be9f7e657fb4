/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units with hostile paths: nothing outside the stage is ever touched.
 *
 * The input is text: the first line of a unit is its working directory, each further line one byte that chooses
 * the content and then a path, or ">" and then an argument; an empty line ends the unit, and the next one is
 * fitted into the same tree. The cache lies in a directory with other files, which are compared, with their
 * times, before and after.
 */
#include "fuzz.h"

#include "../unit/kythe/bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/path.h"
#include "kythe/stage/stage.h"

#define INPUTS_MAX 40
#define UNITS_MAX  8

static char dir[64];
static char digests[4][65];
static struct mor_kzip *kzip;
static struct mor_stager *stager;

static const char *in_dir(const char *name)
{
	static char path[2][200];
	static unsigned turn;
	char *to = path[turn++ % 2];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

static void clean_up(void)
{
	stager = mor_stager_free(stager);
	kzip = mor_kzip_free(kzip);
	mor_dir_remove_all(AT_FDCWD, dir);
}

static void set_up(void)
{
	struct mor_kzip_writer *writer = NULL;
	mortise_error err = { 0 };
	FILE *f;

	fuzz_dir(dir);
	CHECK(mkdir(in_dir("beside"), 0700) == 0);
	f = fopen(in_dir("beside/file"), "we");
	CHECK(f);
	fclose(f);
	CHECK(mor_kzip_writer_new(in_dir("x.kzip"), MOR_KZIP_JSON, &writer, &err) == 0);
	for (unsigned i = 0; i < 4; i++)
		CHECK(bytes_into(writer, (struct mor_slice){ "abc", i }, digests[i], &err) == 0);
	CHECK(mor_kzip_writer_finish(writer, &err) == 0);
	mor_kzip_writer_free(writer);
	CHECK(mor_kzip_open(in_dir("x.kzip"), NULL, &kzip, &err) == 0);
	CHECK(mor_stager_new(in_dir("cache"), &stager, &err) == 0);
	atexit(clean_up);
}

/* Everything that can be told of what lies around the stage: of each entry its name and times. */
static void describe(const char *path, struct mor_buf *out)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);

	CHECK(count >= 0);
	for (int i = 0; i < count; i++) {
		char name[600];
		struct stat st;

		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		CHECK(lstat(name, &st) == 0);
		if (strcmp(entries[i]->d_name, "..") != 0) /* that one is everybody's */
			mor_buf_printf(out, "%s %lld.%ld %lu\n", entries[i]->d_name,
				       (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec,
				       (unsigned long)st.st_nlink);
		free(entries[i]);
	}
	free(entries);
}

static unsigned files_seen;

static int look(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	CHECK(kind == FTW_F || kind == FTW_D);
	if (kind == FTW_F) {
		CHECK((st->st_mode & 07777) == 0444 && st->st_size < 4);
		files_seen++;
	}
	return 0;
}

/* Where the working directory lies in the tree. */
static const char *dir_in_tree(const struct mor_stage *stage, enum mor_stage_mode mode)
{
	const char *below =
		mode == MOR_STAGE_ROOT ? stage->working_dir : stage->working_dir + strlen(stage->path);

	return *below ? below : "/";
}

/* Each path of the unit, cleaned as the header says, is a file of the tree with the right size, and there
 * are no others. */
static void check_tree(const struct mor_unit *unit, enum mor_stage_mode mode, const struct mor_stage *stage)
{
	int root = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned distinct = 0;

	CHECK(root >= 0);
	for (size_t i = 0; i < unit->input_count; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;
		struct stat st;
		bool seen = false;

		if (mode == MOR_STAGE_DIR && unit->inputs[i].path[0] == '/')
			continue; /* the machine's own */
		mor_path_clean(dir_in_tree(stage, mode), unit->inputs[i].path, &path);
		mor_buf_byte(&path, '\0');
		CHECK(fstatat(root, path.data + strspn(path.data, "/"), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		      S_ISREG(st.st_mode));
		CHECK(strcmp(digests[st.st_size], unit->inputs[i].digest) == 0);
		for (size_t k = 0; k < i && !seen; k++) {
			MOR_CLEAN(mor_buf) struct mor_buf other = MOR_BUF_INIT;

			if (mode == MOR_STAGE_DIR && unit->inputs[k].path[0] == '/')
				continue;
			mor_path_clean(dir_in_tree(stage, mode), unit->inputs[k].path, &other);
			mor_buf_byte(&other, '\0');
			seen = strcmp(other.data, path.data) == 0;
		}
		distinct += !seen;
	}
	close(root);
	files_seen = 0;
	CHECK(nftw(stage->path, look, 30, FTW_PHYS) == 0);
	CHECK(files_seen == distinct);
}

static char *take_line(char **at)
{
	char *line = *at, *newline = strchr(line, '\n');

	*at = newline ? newline + 1 : line + strlen(line);
	if (newline)
		*newline = '\0';
	return line;
}

/* False: no unit is left. */
static bool take_unit(char **at, struct mor_unit *unit)
{
	if (!**at)
		return false;
	unit->working_directory = take_line(at);
	unit->input_count = unit->argument_count = 0;
	while (**at && unit->input_count < INPUTS_MAX && unit->argument_count < INPUTS_MAX) {
		char *line = take_line(at);

		if (!*line)
			break;
		if (*line == '>') {
			unit->arguments[unit->argument_count++] = line + 1;
			continue;
		}
		unit->inputs[unit->input_count++] =
			(struct mor_input){ .vname = MOR_VNAME_EMPTY,
					    .path = line + 1,
					    .digest = *line == 'x' ? "../../../../beside/file" :
								     digests[(unsigned char)*line % 4] };
	}
	return true;
}

static void run(char *text, enum mor_stage_mode mode)
{
	struct mor_input inputs[INPUTS_MAX];
	const char *arguments[INPUTS_MAX];
	struct mor_unit unit = { .vname = MOR_VNAME_EMPTY,
				 .inputs = inputs,
				 .arguments = arguments,
				 .output_key = "",
				 .entry_context = "" };
	struct mor_stage stage = { 0 };

	for (int i = 0; i < UNITS_MAX && take_unit(&text, &unit); i++) {
		mortise_error err = { 0 };
		unsigned shown = 0;
		int r = mor_stage_fit_nearest(stager, kzip, &unit, mode, &stage, 1, &shown, &err);

		if (r < 0)
			mor_stage_drop(stager, &stage);
		CHECK(r == 0 || (r == MORTISE_EINPUT && err.text[0] && !stage.path && !stage.items));
		if (r == 0)
			check_tree(&unit, mode, &stage);
	}
	mor_stage_drop(stager, &stage);
}

/* Nobody but us is there: what was seen after a run is what there is before the next. */
static void check_around(void)
{
	static struct mor_buf before = MOR_BUF_INIT;
	struct mor_buf after = MOR_BUF_INIT;

	describe(dir, &after);
	describe(in_dir("beside"), &after);
	CHECK(!before.data || mor_slice_eq(mor_buf_view(&before), mor_buf_view(&after)));
	mor_buf_fini(&before);
	before = after;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!stager) {
		set_up();
		check_around();
	}
	if (size == 0)
		return 0;
	text = malloc(size);
	CHECK(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	run(text, data[0] % 2 ? MOR_STAGE_ROOT : MOR_STAGE_DIR);
	check_around();
	free(text);
	return 0;
}
