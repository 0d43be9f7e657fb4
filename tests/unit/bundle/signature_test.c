/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/signature.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "bundle/keys.h"
#include "leak.h"
#include "tmp.h"

static char dir[TMP_ROOM];

static void put_file(const char *name, struct mor_slice text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(mor_fd_write_all(fd, text.ptr, text.len), 0);
	mor_fd_close(&fd);
}

static char *at(const char *name)
{
	return mor_text_format("%s/%s", dir, name);
}

static void make_key(const char *name)
{
	MOR_CLEAN(mor_buf) struct mor_buf secret = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf public = MOR_BUF_INIT;

	assert_int_equal(mor_sign_new_key(&secret, &public, NULL), 0);
	put_file(name, mor_buf_view(&secret));
}

static struct mor_content two_files(const char *sum_of_run, bool executable)
{
	struct mor_content content = { 0 };
	struct mor_content_file run = { .path = (char *)"run", .executable = executable, .size = 7 };
	struct mor_content_file link = { .path = (char *)"again", .target = (char *)"run" };

	mor_digest_of(sum_of_run, strlen(sum_of_run), run.sha256);
	assert_int_equal(mor_content_add(&content, &run, NULL), 0);
	assert_int_equal(mor_content_add(&content, &link, NULL), 0);
	assert_int_equal(mor_content_seal(&content, "test", NULL), 0);
	return content;
}

/* Every part that is signed, changed alone. */
static void what_is_signed(void **state)
{
	MOR_CLEAN(mor_content) struct mor_content content = two_files("a", true);
	MOR_CLEAN(mor_content) struct mor_content other_sum = two_files("b", true);
	MOR_CLEAN(mor_content) struct mor_content other_mode = two_files("a", false);
	const struct mor_bundle_plugin good = { "greeter", "1.0.0", &content, -1 };
	const struct mor_bundle_plugin bad[] = {
		{ "greeter2", "1.0.0", &content, -1 },
		{ "greeter", "0.9.0", &content, -1 },
		{ "greeter", "1.0.0", &other_sum, -1 },
		{ "greeter", "1.0.0", &other_mode, -1 },
	};
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *key_path = at("key.pem");
	char key[MOR_SIGN_KEY_SIZE], told[MOR_SIGN_KEY_SIZE];
	mortise_error err = { 0 };

	(void)state;
	make_key("key.pem");
	assert_int_equal(mor_sign_read_key(key_path, key, &err), 0);
	assert_int_equal(mor_bundle_sign(&good, key_path, &text, &err), 0);
	assert_int_equal(mor_bundle_verify(&good, mor_buf_view(&text), told, &err), 0);
	assert_string_equal(told, key);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(mor_bundle_verify(&bad[i], mor_buf_view(&text), told, &err), MORTISE_EINPUT);
		assert_non_null(strstr(err.text, "they were changed, or it belongs to another plugin"));
	}
}

/* No byte of the signature's text may change and still prove something. */
static void every_byte_of_a_signature(void **state)
{
	MOR_CLEAN(mor_content) struct mor_content content = two_files("a", true);
	const struct mor_bundle_plugin plugin = { "greeter", "1.0.0", &content, -1 };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *key_path = at("key.pem");
	char told[MOR_SIGN_KEY_SIZE];
	char *from;

	(void)state;
	make_key("key.pem");
	assert_int_equal(mor_bundle_sign(&plugin, key_path, &text, NULL), 0);
	from = memmem(text.data, text.len, "\"key\"", 5);
	assert_non_null(from);
	for (; *from != '}'; from++) {
		*from ^= 1;
		assert_int_equal(mor_bundle_verify(&plugin, mor_buf_view(&text), told, NULL), MORTISE_EINPUT);
		*from ^= 1;
	}
	assert_int_equal(mor_bundle_verify(&plugin, mor_buf_view(&text), told, NULL), 0);
	for (size_t len = 0; len + 2 < text.len; len++)
		assert_int_equal(mor_bundle_verify(&plugin, (struct mor_slice){ text.data, len }, told, NULL),
				 MORTISE_EINPUT);
}

static void names_of_one_line(void **state)
{
	MOR_CLEAN(mor_content) struct mor_content content = two_files("a", true);
	const struct mor_bundle_plugin plugin = { "greeter\nversion 2", "1.0.0", &content, -1 };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *key_path = at("key.pem");

	(void)state;
	make_key("key.pem");
	assert_int_equal(mor_bundle_sign(&plugin, key_path, &text, NULL), MORTISE_EINPUT);
}

static void origin_of_an_archive(void **state)
{
	MOR_CLEAN(mor_content) struct mor_content content = two_files("a", true);
	const struct mor_bundle_plugin plugin = { "greeter", "1.0.0", &content, -1 };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *key_path = at("key.pem");
	MOR_CLEAN_TEXT char *archive = at("a.tar");
	struct mor_bundle_origin origin = { .key = "x" };
	mortise_error err = { 0 };

	(void)state;
	make_key("key.pem");
	assert_int_equal(mor_bundle_origin_find(&plugin, archive, dir, &origin, &err), 0);
	assert_string_equal(origin.key, "");
	assert_int_equal(mor_bundle_sign(&plugin, key_path, &text, &err), 0);
	put_file("a.tar.sig", mor_buf_view(&text));
	assert_int_equal(mor_bundle_origin_find(&plugin, archive, dir, &origin, &err), 0);
	assert_true(mor_sign_key_valid(origin.key));
	assert_string_equal(origin.owner, "");
	assert_int_equal(mor_keys_add(dir, origin.key, "acme", &err), 0);
	assert_int_equal(mor_bundle_origin_find(&plugin, archive, dir, &origin, &err), 0);
	assert_string_equal(origin.owner, "acme");
	put_file("a.tar.sig", MOR_SLICE("{}"));
	assert_int_equal(mor_bundle_origin_find(&plugin, archive, dir, &origin, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "a.tar.sig: it is no signature of mortise"));
}

static int make_dir(void **state)
{
	(void)state;
	tmp_name(dir, "signature");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	mor_dir_remove_all(AT_FDCWD, dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(what_is_signed),
		MOR_TEST(every_byte_of_a_signature),
		MOR_TEST(names_of_one_line),
		MOR_TEST(origin_of_an_archive),
	};

	return mor_run_group_in("bundle/signature", tests, make_dir, remove_dir);
}
