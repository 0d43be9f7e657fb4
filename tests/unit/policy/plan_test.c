/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "leak.h"
#include "policy/plan.h"
#include "policy/policy.h"

static const char *const argv_given[] = { "/bin/echo", "", "two words", NULL };
static const char *const env_given[] = { "A=b", "C=", NULL };
static const struct mor_plan_command command = {
	.argv = argv_given, .env = env_given, .cwd = "/tmp", .host = 42
};

/* A copy that may be written to, as mortise-jail has it. */
static void *copy_of(const struct mor_buf *plan)
{
	void *copy = mor_alloc(plan->len);

	assert_non_null(copy);
	return memcpy(copy, plan->data, plan->len);
}

static void assert_list(char **got, const char *const *want)
{
	for (; *want; want++, got++)
		assert_string_equal(*got, *want);
	assert_null(*got);
}

static void test_guarded(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	struct mor_plan plan;
	void *copy;

	(void)state;
	assert_int_equal(mor_plan_make(&buf, &command, NULL), 0);
	copy = copy_of(&buf);
	assert_int_equal(mor_plan_read(copy, buf.len, &plan), MOR_PLAN_OK);
	assert_int_equal(plan.level.level, MOR_LEVEL_GUARDED);
	assert_int_equal(plan.level.flags, 0);
	assert_int_equal(plan.host, 42);
	assert_list(plan.argv, argv_given);
	assert_list(plan.env, env_given);
	assert_string_equal(plan.cwd, "/tmp");
	assert_null(plan.scratch);
	assert_null(mor_plan_next(&plan, MOR_OP_PATH, NULL));
	assert_null(mor_plan_next(&plan, MOR_OP_LIMIT, NULL));
	mor_plan_fini(&plan);
	mor_free(copy);
	mor_buf_fini(&buf);
}

static void confined_plan(struct mor_buf *buf)
{
	char workspace[] = "/w", read_a[] = "/data", *reads[] = { read_a, NULL };
	struct mor_policy policy = { .level = MOR_LEVEL_T0,
				     .workspace = workspace,
				     .workspace_write = true,
				     .read_paths = reads,
				     .grace = { 10000, 2000 } };

	policy.limits.open_files = 77;
	policy.limits.wall_ms = 5000;
	assert_int_equal(mor_plan_make(buf, &command, &policy), 0);
}

static bool has_limit(const struct mor_plan *plan, uint32_t resource, uint64_t value)
{
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_LIMIT, op));) {
		const struct mor_op_limit *limit = mor_plan_payload(op);

		if (limit->resource == resource && limit->value == value)
			return true;
	}
	return false;
}

static void test_confined(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	const struct mor_plan_op *op;
	const struct mor_op_path *path;
	const struct mor_op_protect *protect;
	struct mor_plan plan;
	void *copy;

	(void)state;
	confined_plan(&buf);
	copy = copy_of(&buf);
	assert_int_equal(mor_plan_read(copy, buf.len, &plan), MOR_PLAN_OK);
	assert_int_equal(plan.level.level, MOR_LEVEL_T0);
	assert_int_equal(plan.grace.term_ms, 10000);
	assert_int_equal(plan.grace.kill_ms, 2000);
	assert_int_equal(plan.wall_ms, 5000);
	assert_string_equal(plan.scratch, "");
	assert_true(has_limit(&plan, RLIMIT_NOFILE, 77));
	assert_true(has_limit(&plan, RLIMIT_CORE, 1));
	op = mor_plan_next(&plan, MOR_OP_PATH, NULL);
	path = mor_plan_payload(op);
	assert_string_equal(path->path, "/w");
	assert_int_equal(path->access, MOR_MAY_READ | MOR_MAY_WRITE);
	op = mor_plan_next(&plan, MOR_OP_PATH, op);
	path = mor_plan_payload(op);
	assert_string_equal(path->path, "/data");
	assert_int_equal(path->access, MOR_MAY_READ);
	assert_null(mor_plan_next(&plan, MOR_OP_PATH, op));
	op = mor_plan_next(&plan, MOR_OP_PROTECT, NULL);
	protect = mor_plan_payload(op);
	assert_string_equal(protect->text, ".git");
	assert_int_equal(protect->why, MOR_PROTECT_GIT);
	mor_plan_fini(&plan);
	mor_free(copy);
	mor_buf_fini(&buf);
}

/* Cut anywhere, it is refused. */
static void test_cut(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	struct mor_plan plan;

	(void)state;
	confined_plan(&buf);
	for (size_t len = 0; len < buf.len; len++) {
		void *copy = copy_of(&buf);

		assert_int_not_equal(mor_plan_read(copy, len, &plan), MOR_PLAN_OK);
		mor_plan_fini(&plan);
		mor_free(copy);
	}
	mor_buf_fini(&buf);
}

/* Damaged anywhere, it is refused or read, and never read beyond (the sanitizer watches). */
static void test_damaged(void **state)
{
	static const unsigned char damage[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct mor_buf buf = MOR_BUF_INIT;
	struct mor_plan plan;

	(void)state;
	confined_plan(&buf);
	for (size_t at = 0; at < buf.len * sizeof(damage); at++) {
		unsigned char *copy = copy_of(&buf);

		copy[at / sizeof(damage)] = damage[at % sizeof(damage)];
		if (mor_plan_read(copy, buf.len, &plan) == MOR_PLAN_OK) {
			for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(&plan, MOR_OP_PATH, op));)
				assert_true(strlen(((const struct mor_op_path *)mor_plan_payload(op))->path) <
					    buf.len);
		}
		mor_plan_fini(&plan);
		mor_free(copy);
	}
	mor_buf_fini(&buf);
}

static void test_other_version(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	struct mor_plan_head *head;
	struct mor_plan plan;

	(void)state;
	assert_int_equal(mor_plan_make(&buf, &command, NULL), 0);
	head = (struct mor_plan_head *)buf.data;
	head->version++;
	assert_int_equal(mor_plan_read(buf.data, buf.len, &plan), MOR_PLAN_OTHER_VERSION);
	head->magic++;
	assert_int_equal(mor_plan_read(buf.data, buf.len, &plan), MOR_PLAN_NOT_ONE);
	mor_buf_fini(&buf);
}

static void test_unknown_operation(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	struct mor_plan plan;

	(void)state;
	assert_int_equal(mor_plan_make(&buf, &command, NULL), 0);
	assert_int_equal(mor_plan_add_text(&buf, (enum mor_plan_kind)999, "x"), 0);
	assert_int_equal(mor_plan_read(buf.data, buf.len, &plan), MOR_PLAN_UNKNOWN_OP);
	mor_plan_fini(&plan);
	mor_buf_fini(&buf);
}

static void test_memfd_is_sealed(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	int fd;

	(void)state;
	assert_int_equal(mor_plan_make(&buf, &command, NULL), 0);
	fd = mor_plan_memfd(&buf);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(lseek(fd, 0, SEEK_END), (off_t)buf.len);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
	mor_buf_fini(&buf);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (long n = 0;; n++) {
		struct mor_buf buf = MOR_BUF_INIT;
		int r;

		mor_alloc_fail_after(n);
		r = mor_plan_make(&buf, &command, NULL);
		mor_alloc_fail_after(-1);
		mor_buf_fini(&buf);
		if (r == 0)
			break;
		assert_int_equal(r, MORTISE_ENOMEM);
		assert_true(n < 20);
	}
}

static void test_checked_files(void **state)
{
	static const struct mor_plan_file files[] = {
		{ .path = "a/b", .identity = { 1, 2, 3, 4, 5 }, .executable = true },
		{ .path = "c", .target = "a/b" },
	};
	static const struct mor_plan_checked checked = { "/store/x", files, 2 };
	struct mor_plan_command installed = command;
	struct mor_buf buf = MOR_BUF_INIT;
	const struct mor_plan_op *op;
	const struct mor_op_file *file;
	struct mor_plan plan;
	void *copy;

	(void)state;
	installed.checked = &checked;
	assert_int_equal(mor_plan_make(&buf, &installed, NULL), 0);
	copy = copy_of(&buf);
	assert_int_equal(mor_plan_read(copy, buf.len, &plan), MOR_PLAN_OK);
	assert_string_equal(plan.checked, "/store/x");
	op = mor_plan_next(&plan, MOR_OP_FILE, NULL);
	file = mor_plan_payload(op);
	assert_string_equal(file->path, "a/b");
	assert_int_equal(file->flags, MOR_OP_FILE_EXECUTABLE);
	assert_int_equal(file->identity.ctime_ns, 5);
	file = mor_plan_payload(mor_plan_next(&plan, MOR_OP_FILE, op));
	assert_int_equal(file->flags, MOR_OP_FILE_LINK);
	assert_string_equal(file->path + 2, "a/b");
	mor_plan_fini(&plan);
	mor_free(copy);
	mor_buf_fini(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_guarded),         MOR_TEST(test_confined),      MOR_TEST(test_cut),
		MOR_TEST(test_damaged),         MOR_TEST(test_other_version), MOR_TEST(test_unknown_operation),
		MOR_TEST(test_memfd_is_sealed), MOR_TEST(test_no_memory),     MOR_TEST(test_checked_files),
	};

	return mor_run_group("policy/plan", tests);
}
