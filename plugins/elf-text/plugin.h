/* SPDX-License-Identifier: Apache-2.0 */
/* What the methods of this plugin share. */
#ifndef ELF_TEXT_PLUGIN_H
#define ELF_TEXT_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include <tenon/tenon.h>

#define EXTRACTION_METHOD "elf_disassemble"

/* YAMS's own error codes. */
enum { YAMS_EFAILED = -32000, YAMS_EFORMAT = -32001, YAMS_ETIMEOUT = -32002 };

struct config { /* the names are those of the settings that plugin.init takes */
	int64_t max_functions, disassemble_functions, max_instructions;
	int64_t min_string_length, max_strings;
	int64_t max_content_bytes, max_file_bytes;
	double timeout_sec; /* for one extraction */
};

struct state {
	struct config config;
};

/* What it takes. Kept in step with yams-plugin.json.in: tests/e2e/test_elf_text.py compares the two. */
#define FORMATS \
	"application/x-executable application/x-pie-executable application/x-sharedlib application/x-object " \
	"application/x-coredump application/x-elf"
#define EXTENSIONS ".elf .so .o .ko .axf"

struct state *plugin_state(tenon_call *call);

/* config.c: reads the settings of plugin.init into *ret. On failure it has answered the call. */
int config_read(tenon_call *call, struct config *ret);
void config_put(tenon_call *call, const char *key, const struct config *config);

/* extract.c */
int extractor_extract(tenon_call *call);

#endif
