/* SPDX-License-Identifier: Apache-2.0 */
/* Names of programs, and the files behind them. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "manifest/internal.h"

/* Digits after the last dot are a version ("tool-1.2"), not an extension. */
char *mor_manifest_stem(const char *path)
{
	const char *base = mor_base_name(path), *dot = strrchr(base, '.');

	if (!dot || dot == base || !isalpha((unsigned char)dot[1]))
		return mor_strdup(base);
	return mor_strndup(base, (size_t)(dot - base));
}

static bool is_interpreter(const char *program)
{
	const char *base = mor_base_name(program);
	size_t len = strcspn(base, "0123456789.");

	/* "python3.11" is python; the version is ignored. */
	return mor_text_in((struct mor_slice){ base, len },
			   "python|pypy|node|nodejs|ruby|perl|php|lua|bash|sh|dash");
}

size_t mor_manifest_script(const char *const *argv)
{
	size_t first = argv[0] && argv[1] && strcmp(mor_base_name(argv[0]), "env") == 0; /* env python3 x.py */

	if (!argv[0] || !is_interpreter(argv[first]))
		return 0;
	for (size_t i = first + 1; argv[i]; i++) {
		if (strcmp(argv[i], "-m") == 0) /* a module: its name is the next word */
			return argv[i + 1] ? i + 1 : 0;
		if (strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "-e") == 0)
			return 0;
		if (argv[i][0] != '-')
			return i;
	}
	return 0;
}

int mor_manifest_read_file(const char *path, const char *shown, char **ret, size_t *ret_len, mortise_error *err)
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
