/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, and the files behind them. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "manifest/internal.h"

char *mor_path_join(const char *dir, const char *name)
{
	MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;
	size_t len = strlen(dir);

	if (name[0] == '/')
		return mor_strdup(name);
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	mor_buf_printf(&path, "%s%s%s", dir, len && dir[len - 1] == '/' ? "" : "/", name);
	return mor_buf_detach(&path);
}

char *mor_path_absolute(const char *path)
{
	char here[4096];

	if (path[0] == '/' || !getcwd(here, sizeof(here)))
		return mor_strdup(path);
	return mor_path_join(here, path);
}

/* Digits after the last dot are a version ("tool-1.2"), not an extension. */
char *mor_path_stem(const char *path)
{
	const char *base = mor_base_name(path), *dot = strrchr(base, '.');

	if (!dot || dot == base || !isalpha((unsigned char)dot[1]))
		return mor_strdup(base);
	return mor_strndup(base, (size_t)(dot - base));
}

bool mor_path_climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at++)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

bool mor_path_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* By inode: "./x", "x" and a link to it are the same program. */
bool mor_path_same(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool is_interpreter(const char *program)
{
	const char *base = mor_base_name(program);
	size_t len = strcspn(base, "0123456789.");

	/* "python3.11" is python; the version does not matter. */
	return mor_text_in((struct mor_slice){ base, len }, "python|pypy|node|nodejs|ruby|perl|php|lua|bash|sh|dash");
}

size_t mor_path_script(const char *const *argv)
{
	if (!argv[0] || !is_interpreter(argv[0]))
		return 0;
	for (size_t i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "-m") == 0) /* a module: its name is the next word */
			return argv[i + 1] ? i + 1 : 0;
		if (strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "-e") == 0)
			return 0;
		if (argv[i][0] != '-')
			return i;
	}
	return 0;
}

int mor_path_read(const char *path, const char *shown, char **ret, size_t *ret_len, mortise_error *err)
{
	char size[32];
	int r = mor_fd_read_file(path, MOR_MANIFEST_LIMIT, ret, ret_len);

	switch (r) {
	case 0:
		return 1;
	case -ENOENT:
	case -ENOTDIR:
		return 0;
	case -ENOMEM:
		return mor_fail_memory_of(err, shown);
	case -EFBIG:
		return mor_fail(err, MORTISE_EMANIFEST, "%s: larger than %s: make it smaller", shown,
				mor_format_bytes(MOR_MANIFEST_LIMIT, size));
	case -EISDIR:
	case -EINVAL:
		return mor_fail(err, MORTISE_EMANIFEST, "%s: not a regular file", shown);
	default:
		return mor_fail_errno(err, MORTISE_EMANIFEST, -r, "%s", shown);
	}
}
