/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libmortise-grpc.so is loaded, and what is said of others. It is searched beside the program: so each
 * test puts one beside a copy of this program in a directory of its own, and runs that.
 */
#include "leak.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "addon/addon.h"
#include "addon/stamp.h"
#include "top.h"

#define SPEAKS "this plugin speaks gRPC, and libmortise-grpc.so"

static char *bytes_of(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "r");
	char *bytes = NULL;
	long len;

	if (!file)
		return NULL;
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	len = ftell(file);
	rewind(file);
	bytes = malloc((size_t)len + 1);
	assert_int_equal(fread(bytes, 1, (size_t)len, file), len);
	fclose(file);
	*ret_len = (size_t)len;
	return bytes;
}

/* A new file: the one that is there may be loaded somewhere. */
static void put_bytes(const char *name, const char *bytes, size_t len, mode_t mode)
{
	int fd;

	unlink(at(name));
	fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && fchmod(fd, mode) == 0);
	close(fd);
}

/* The library of this build, or a skip. To be freed. */
static char *real_library(size_t *ret_len)
{
	char self[PATH_MAX - 40], path[PATH_MAX], *bytes;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/../../libmortise-grpc.so", self);
	bytes = bytes_of(path, ret_len);
	if (!bytes)
		leak_skip("this build has no libmortise-grpc.so");
	return bytes;
}

/* What the copy says: "loaded", or the error's text. */
static const char *load(void)
{
	static char text[1200];
	size_t len = 0;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl(at("program"), "program", "load", (char *)NULL);
		_exit(99);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return text;
}

/* In the copy. The second time, the same table, or the same error: nothing is remembered of a failure. */
static int load_here(void)
{
	const struct mor_addon *addon = NULL, *again = NULL;
	mortise_error err = { 0 }, second = { 0 };
	int r = mor_addon_load(&addon, &err);

	if (mor_addon_load(&again, &second) != r || again != addon || strcmp(err.text, second.text) != 0)
		return 1;
	if (r < 0) {
		printf("%s", err.text);
		return r != MORTISE_ETRANSPORT || addon;
	}
	/* one function after the other: none was forgotten in the table */
	for (size_t i = 0; i < sizeof(*addon) / sizeof(void *); i++)
		if (!((void *const *)addon)[i])
			return 1;
	printf("loaded");
	return 0;
}

static void assert_said(const char *wanted)
{
	const char *text = load();

	if (strncmp(text, wanted, strlen(wanted)) != 0)
		assert_string_equal(text, wanted);
}

static void test_none_is_installed(void **state)
{
	(void)state;
	unlink(at(MOR_ADDON_FILE));
	assert_said(SPEAKS " is not installed: there is no ");
	assert_non_null(
		strstr(load(), "Build Mortise where libnghttp2 is (-Dgrpc=enabled), and install it again"));
}

static void test_what_is_no_library(void **state)
{
	(void)state;
	put_bytes(MOR_ADDON_FILE, "nonsense", 8, 0755);
	assert_said(SPEAKS " cannot be loaded: ");
}

static void test_another_library_of_that_name(void **state)
{
	Dl_info info;
	size_t len;
	char *bytes;

	(void)state;
	assert_true(dladdr((void *)cmocka_set_message_output, &info));
	bytes = bytes_of(info.dli_fname, &len);
	assert_non_null(bytes);
	put_bytes(MOR_ADDON_FILE, bytes, len, 0755);
	free(bytes);
	assert_said(SPEAKS " at ");
	assert_non_null(strstr(load(), " is not Mortise's: install it again"));
}

static void test_of_another_build(void **state)
{
	size_t len, stamps = 0;
	char *bytes = real_library(&len);

	(void)state;
	for (size_t i = 0; i + sizeof(MOR_ADDON_STAMP) <= len; i++)
		if (memcmp(bytes + i, MOR_ADDON_STAMP, sizeof(MOR_ADDON_STAMP)) == 0) {
			bytes[i] ^= 1;
			stamps++;
		}
	assert_true(stamps > 0);
	put_bytes(MOR_ADDON_FILE, bytes, len, 0755);
	free(bytes);
	assert_said(SPEAKS " at ");
	assert_non_null(strstr(load(), " is of another build of Mortise: install both together"));
}

/* As with the guardian: a file that others could have written is not loaded. */
static void test_one_that_everybody_can_write(void **state)
{
	size_t len;
	char *bytes = real_library(&len);

	(void)state;
	put_bytes(MOR_ADDON_FILE, bytes, len, 0757);
	free(bytes);
	assert_said(SPEAKS " is not loaded: ");
	assert_non_null(strstr(load(), "everybody can write it"));
}

static void test_the_right_one(void **state)
{
	size_t len;
	char *bytes = real_library(&len);

	(void)state;
	put_bytes(MOR_ADDON_FILE, bytes, len, 0755);
	free(bytes);
	assert_string_equal(load(), "loaded");
}

static int make_top(void **state)
{
	size_t len;
	char *self = bytes_of("/proc/self/exe", &len);

	(void)state;
	if (!self || top_make("addon") < 0)
		return -1;
	put_bytes("program", self, len, 0755);
	free(self);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_none_is_installed),
		MOR_TEST(test_what_is_no_library),
		MOR_TEST(test_another_library_of_that_name),
		MOR_TEST(test_of_another_build),
		MOR_TEST(test_one_that_everybody_can_write),
		MOR_TEST(test_the_right_one),
	};

	if (argc == 2 && strcmp(argv[1], "load") == 0)
		return load_here();
	return mor_run_group_in("addon/load", tests, make_top, top_drop);
}
