/* SPDX-License-Identifier: Apache-2.0 */
/* Kept in step with yams-plugin.json.in: tests/e2e/test_elf_text.py compares the two. */
#include <string.h>
#include <strings.h>

#include "plugin.h"

static const char *const formats[] = {
	"application/x-executable", "application/x-pie-executable", "application/x-sharedlib",
	"application/x-object",     "application/x-coredump",       "application/x-elf",
};
static const char *const extensions[] = { ".elf", ".so", ".o", ".ko", ".axf" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void put_list(tenon_call *call, const char *key, const char *const *list, size_t count)
{
	tenon_array(call, key);
	for (size_t i = 0; i < count; i++)
		tenon_put_str(call, NULL, list[i]);
	tenon_end(call);
}

void formats_put(tenon_call *call, const char *key)
{
	put_list(call, key, formats, COUNT(formats));
}

void extensions_put(tenon_call *call, const char *key)
{
	put_list(call, key, extensions, COUNT(extensions));
}

/* A type that names something else rules a file out, whatever it is called: a linker script is a .so. */
double formats_confidence(const char *mime_type, const char *extension)
{
	if (mime_type && *mime_type && strcasecmp(mime_type, "application/octet-stream") != 0) {
		for (size_t i = 0; i < COUNT(formats); i++)
			if (strcasecmp(mime_type, formats[i]) == 0)
				return 1.0;
		return 0.0;
	}
	if (!extension || !*extension)
		return 0.0;
	/* Hosts send it with or without its dot. */
	for (size_t i = 0; i < COUNT(extensions); i++)
		if (strcasecmp(extension, extensions[i] + (*extension != '.')) == 0)
			return 0.8;
	return 0.0;
}
