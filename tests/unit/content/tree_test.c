/* SPDX-License-Identifier: Apache-2.0 */
/* A directory as a list: what counts, what is refused, and what is noticed. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "content/content.h"
#include "tmp.h"

static char top[TMP_ROOM];
static int dir;

static void put(const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(mor_fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int setup(void **state)
{
	tmp_name(top, "content");
	assert_non_null(mkdtemp(top));
	leak_setup(state);
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return 0;
}

static int teardown(void **state)
{
	mor_fd_close(&dir);
	mor_dir_remove_all(AT_FDCWD, top);
	return leak_teardown(state);
}

static struct mor_content scan(void)
{
	struct mor_content content = { 0 };
	mortise_error err = { 0 };

	if (mor_content_scan(dir, "p", NULL, &content, &err) < 0)
		fail_msg("%s", err.text);
	return content;
}

static void refuse(const char *words)
{
	struct mor_content content = { 0 };
	mortise_error err = { 0 };

	assert_true(mor_content_scan(dir, "p", NULL, &content, &err) < 0);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}

static void test_text(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_content content;
	char digest[MOR_DIGEST_SIZE];

	(void)state;
	put("b", "abc");
	put("a.py", "");
	assert_int_equal(fchmodat(dir, "a.py", 0755, 0), 0);
	mkdirat(dir, "sub", 0755);
	mkdirat(dir, "empty", 0755);
	assert_int_equal(symlinkat("../b", dir, "sub/l"), 0);
	content = scan();
	assert_int_equal(mor_content_text(&content, &text), 0);
	mor_buf_byte(&text, '\0');
	assert_string_equal(text.data,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 x 0 a.py\n"
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad - 3 b\n"
			    "link - 0 sub/l -> ../b\n");
	mor_digest_of(text.data, text.len - 1, digest);
	assert_string_equal(content.digest, digest);
	assert_int_equal(content.bytes, 3);
	mor_content_fini(&content);
}

static void test_json(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_content content, back;
	mortise_error err = { 0 };

	(void)state;
	put("one", "1");
	symlinkat("one", dir, "two");
	content = scan();
	assert_int_equal(mor_content_write(&content, true, &json), 0);
	assert_int_equal(mor_content_read(mor_buf_view(&json), &back, &err), 0);
	assert_string_equal(back.digest, content.digest);
	assert_int_equal(back.made_ns, content.made_ns);
	assert_true(mor_content_same(&back.files[0].identity, &content.files[0].identity));
	mor_content_fini(&back);

	*(char *)memmem(json.data, json.len, "one", 3) = 'O';
	assert_int_equal(mor_content_read(mor_buf_view(&json), &back, &err), MORTISE_EPROTO);
	assert_non_null(strstr(err.text, "digest"));
	mor_content_fini(&content);
}

static void test_links(void **state)
{
	static const struct {
		const char *path, *target;
		bool stays;
	} rows[] = {
		{ "l", "a", true },         { "l", "a/b", true },         { "l", "../a", false },
		{ "d/l", "../a", true },    { "d/l", "..", true },        { "d/l", "../..", false },
		{ "d/l", "x/../y", false }, { "d/l", "x/..", false },     { "l", "/etc/passwd", false },
		{ "l", "", false },         { "d/l", "..x/y", true },     { "d/l", "x..", true },
		{ "l", "..", false },       { "a/b/l", "../../c", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (mor_content_link_stays(rows[i].path, rows[i].target) != rows[i].stays)
			fail_msg("%s -> %s", rows[i].path, rows[i].target);
	symlinkat("/etc/passwd", dir, "out");
	refuse("leads out");
}

static void test_special(void **state)
{
	(void)state;
	assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
	refuse("neither file, link nor directory");
}

static void test_deep(void **state)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	(void)state;
	for (int i = 0; i < MOR_CONTENT_DEPTH_MAX + 1; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
	refuse("too deep");
}

static void test_large(void **state)
{
	int fd = openat(dir, "hole", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)MOR_CONTENT_BYTES_MAX + 1), 0);
	close(fd);
	refuse("512 MiB");
}

/* ---- verify ---- */

/* As if the record had been made some time after the files. */
static void settle(struct mor_content *content)
{
	content->made_ns += MOR_CONTENT_FRESH_NS + 1;
}

static struct mor_content_check verify(const struct mor_content *record)
{
	struct mor_content_check check = { 0 };
	mortise_error err = { 0 };

	if (mor_content_verify(dir, "p", record, &check, &err) < 0)
		fail_msg("%s", err.text);
	return check;
}

static void test_identity(void **state)
{
	struct mor_content_check check;
	struct mor_content record;

	(void)state;
	put("a", "1");
	put("b", "2");
	record = scan();
	check = verify(&record); /* too fresh: each is read */
	assert_int_equal(check.hashed, 2);
	assert_int_equal(check.changes.count, 0);
	mor_content_check_fini(&check);
	settle(&record);
	check = verify(&record);
	assert_int_equal(check.hashed, 0);
	assert_int_equal(check.changes.count, 0);
	assert_string_equal(check.now.digest, record.digest);
	mor_content_check_fini(&check);
	mor_content_fini(&record);
}

static void test_changes(void **state)
{
	struct mor_content_check check;
	struct mor_content record;

	(void)state;
	put("a", "1");
	put("b", "2");
	put("c", "3");
	put("d", "4");
	record = scan();
	settle(&record);
	put("b", "x");
	unlinkat(dir, "c", 0);
	fchmodat(dir, "d", 0755, 0);
	put("new", "");
	check = verify(&record);
	assert_int_equal(check.changes.count, 4);
	assert_string_equal(check.changes.items[0].path, "b");
	assert_int_equal(check.changes.items[0].kind, MOR_CONTENT_CHANGED);
	assert_string_equal(check.changes.items[1].path, "c");
	assert_int_equal(check.changes.items[1].kind, MOR_CONTENT_MISSING);
	assert_string_equal(check.changes.items[2].path, "d");
	assert_int_equal(check.changes.items[2].kind, MOR_CONTENT_CHANGED);
	assert_string_equal(check.changes.items[3].path, "new");
	assert_int_equal(check.changes.items[3].kind, MOR_CONTENT_ADDED);
	mor_content_check_fini(&check);
	mor_content_fini(&record);
}

/* Same size, same mtime: the ctime tells. */
static void test_hidden_change(void **state)
{
	struct mor_content_check check;
	struct mor_content record;
	struct timespec times[2];
	struct stat st;

	(void)state;
	put("a", "1");
	record = scan();
	settle(&record);
	assert_int_equal(fstatat(dir, "a", &st, 0), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	/* until the clock of files has moved on: in the same tick only the 2 s protect */
	do {
		put("a", "2");
		utimensat(dir, "a", times, 0);
		fstatat(dir, "a", &st, 0);
	} while (st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec == record.files[0].identity.ctime_ns);
	check = verify(&record);
	assert_int_equal(check.hashed, 1);
	assert_int_equal(check.changes.count, 1);
	mor_content_check_fini(&check);
	mor_content_fini(&record);
}

static void test_memory(void **state)
{
	int r = MORTISE_ENOMEM;

	(void)state;
	put("a", "1");
	symlinkat("a", dir, "l");
	for (long n = 0; r == MORTISE_ENOMEM; n++) {
		struct mor_content content = { 0 };

		mor_alloc_fail_after(n);
		r = mor_content_scan(dir, "p", NULL, &content, NULL);
		mor_alloc_fail_after(-1);
		mor_content_fini(&content);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links, setup, teardown),
		cmocka_unit_test_setup_teardown(test_special, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return mor_run_group("content/tree", tests);
}
