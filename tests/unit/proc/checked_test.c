/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of an installed plugin that change between the host's check and the start. Each test makes a plugin,
 * looks at it as the host does, changes it, and starts it then: what was not looked at must not run.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "policy/plan.h"
#include "policy/policy.h"
#include "run.h"
#include "tmp.h"

enum { FILES = 3 };
static const char *const names[FILES] = { "prog", "run.sh", "lib/part.sh" };

static struct stage {
	char top[TMP_ROOM], dir[256];
	struct mor_plan_file files[FILES];
	struct mor_plan_checked checked;
} stage;

static const char *at(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *out = paths[next++ % 4];

	snprintf(out, sizeof(paths[0]), "%s/%s", stage.dir, name);
	return out;
}

static void put(const char *path, const void *bytes, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(mor_fd_write_all(fd, bytes, len), 0);
	close(fd);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text), 0755);
}

static void put_program(const char *path)
{
	char *bytes;
	size_t len;

	assert_int_equal(mor_fd_read_file("/bin/echo", 16 << 20, &bytes, &len), 0);
	put(path, bytes, len, 0755);
	mor_free(bytes);
}

static void fill(void)
{
	assert_int_equal(mkdir(stage.dir, 0755), 0);
	assert_int_equal(mkdir(at("lib"), 0755), 0);
	put_program(at("prog"));
	put_text(at("run.sh"), "#!/bin/sh\n[ -e extra ] && echo evil\nread go; . ./lib/part.sh\n");
	put_text(at("lib/part.sh"), "echo good\n");
}

static int64_t ns(struct timespec time)
{
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void look(void)
{
	for (int i = 0; i < FILES; i++) {
		struct stat st;

		assert_int_equal(stat(at(names[i]), &st), 0);
		stage.files[i] = (struct mor_plan_file){
			.path = names[i],
			.identity = { st.st_dev, st.st_ino, (uint64_t)st.st_size, ns(st.st_mtim),
				      ns(st.st_ctim) },
			.executable = true,
		};
	}
	stage.checked = (struct mor_plan_checked){ stage.dir, stage.files, FILES };
}

static int set_up(void **state)
{
	(void)state;
	tmp_name(stage.top, "checked");
	assert_non_null(mkdtemp(stage.top));
	snprintf(stage.dir, sizeof(stage.dir), "%s/plugin", stage.top);
	fill();
	look();
	return 0;
}

static int tear_down(void **state)
{
	const char *argv[] = { "/bin/rm", "-rf", stage.top, NULL };
	struct run run = { 0 };

	(void)state;
	run_start(&run, &(struct mor_command){ .argv = argv });
	run_until(&run, 'x');
	run_end(&run);
	return 0;
}

/* Starts it. false: this machine has no such level. */
static bool begin(struct run *run, enum mor_level level, const char *program, struct mor_policy *policy)
{
	const char *argv[] = { at(program), "good", NULL };

	*policy = (struct mor_policy){ .level = level, .plugin_dir = stage.dir };
	run_start(run, &(struct mor_command){
			       .argv = argv, .cwd = stage.dir, .policy = policy, .checked = &stage.checked });
	while (!run_heard(run, 's') && !run_heard(run, 'f'))
		assert_true(mor_loop_wait(run->loop, 60000) >= 0);
	if (run->failure.code != MORTISE_EJAIL)
		return true;
	print_message("skipped: %s\n", run->failure.text);
	run_end(run);
	return false;
}

static void assert_runs(enum mor_level level, const char *program)
{
	struct run run = { 0 };
	struct mor_policy policy;
	char out[64] = "";

	if (!begin(&run, level, program, &policy))
		return;
	if (run_heard(&run, 'f'))
		fail_msg("level %d: %s", (int)level, run.failure.text);
	(void)mor_fd_write_nosignal(mor_proc_in(run.proc), "\n", 1); /* for scripts; echo may have ended */
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "good\n");
	run_end(&run);
}

static void assert_refused(enum mor_level level, const char *program)
{
	struct run run = { 0 };
	struct mor_policy policy;

	if (!begin(&run, level, program, &policy))
		return;
	if (strcmp(run.journal, "f") != 0)
		fail_msg("level %s: %s was run", mor_level_name(level), program);
	assert_int_equal(run.failure.code, MORTISE_EVIOLATION);
	assert_non_null(strstr(run.failure.text, "changed between its check and its start"));
	run_end(&run);
}

static void assert_refused_everywhere(void)
{
	assert_refused(MOR_LEVEL_GUARDED, "prog");
	assert_refused(MOR_LEVEL_T0, "prog");
	assert_refused(MOR_LEVEL_T1, "prog");
}

static void test_unchanged(void **state)
{
	(void)state;
	assert_runs(MOR_LEVEL_GUARDED, "prog");
	assert_runs(MOR_LEVEL_T0, "prog");
	assert_runs(MOR_LEVEL_T1, "prog");
	assert_runs(MOR_LEVEL_GUARDED, "run.sh");
	assert_runs(MOR_LEVEL_T0, "run.sh");
	assert_runs(MOR_LEVEL_T1, "run.sh");
}

static void test_replaced(void **state)
{
	(void)state;
	put_program(at("other"));
	assert_int_equal(rename(at("other"), at("prog")), 0);
	assert_refused_everywhere();
}

/* The clock of files has ticks: within one of them nobody could tell. */
static void rewrite(const char *path)
{
	struct stat before, after;

	assert_int_equal(stat(path, &before), 0);
	do {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		assert_int_equal(pwrite(fd, "\177", 1, 0), 1);
		close(fd);
		assert_int_equal(stat(path, &after), 0);
	} while (ns(before.st_ctim) == ns(after.st_ctim));
}

static void test_rewritten(void **state)
{
	(void)state;
	rewrite(at("prog"));
	assert_refused_everywhere();
}

/* As long as somebody may still write, nobody knows what runs. */
static void test_being_written(void **state)
{
	int fd = open(at("prog"), O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_refused(MOR_LEVEL_GUARDED, "prog");
	close(fd);
}

static void test_link_leads_away(void **state)
{
	(void)state;
	assert_int_equal(unlink(at("prog")), 0);
	assert_int_equal(symlink("/bin/echo", at("prog")), 0);
	assert_refused_everywhere();
}

static void test_directory_replaced(void **state)
{
	char old[160];

	(void)state;
	snprintf(old, sizeof(old), "%s/old", stage.top);
	assert_int_equal(rename(stage.dir, old), 0);
	fill();
	assert_refused_everywhere();
}

static void test_script_replaced(void **state)
{
	(void)state;
	put_text(at("other"), "#!/bin/sh\necho evil\n");
	assert_int_equal(rename(at("other"), at("run.sh")), 0);
	assert_refused(MOR_LEVEL_GUARDED, "run.sh");
	assert_refused(MOR_LEVEL_T0, "run.sh");
	assert_refused(MOR_LEVEL_T1, "run.sh");
}

/* At t1 it sees what was checked, whatever happens to the files afterwards. */
static void test_later_changes_are_not_seen(void **state)
{
	struct run run = { 0 };
	struct mor_policy policy;
	char out[64] = "";

	(void)state;
	if (!begin(&run, MOR_LEVEL_T1, "run.sh", &policy))
		return;
	run_until(&run, 's');
	put_text(at("lib/part.sh"), "echo evil\n");
	put_text(at("other"), "echo evil\n");
	assert_int_equal(rename(at("other"), at("run.sh")), 0);
	assert_int_equal(mor_fd_write_all(mor_proc_in(run.proc), "\n", 1), 0);
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "good\n");
	run_end(&run);
}

static void test_added_file_is_not_seen(void **state)
{
	(void)state;
	put_text(at("extra"), "");
	assert_runs(MOR_LEVEL_T1, "run.sh");
}

#define CHECKED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHECKED(test_unchanged),
		CHECKED(test_replaced),
		CHECKED(test_rewritten),
		CHECKED(test_being_written),
		CHECKED(test_link_leads_away),
		CHECKED(test_directory_replaced),
		CHECKED(test_script_replaced),
		CHECKED(test_later_changes_are_not_seen),
		CHECKED(test_added_file_is_not_seen),
	};

	if (run_direct()) {
		puts("1..0 # SKIP of the guarded back end only");
		return 0;
	}
	return mor_run_group("checked", tests);
}
