/* SPDX-License-Identifier: Apache-2.0 */
/* elf-text: a YAMS content extractor for ELF binaries. Here: what it is, and its settings. */
#include "plugin.h"

struct state *plugin_state(tenon_call *call)
{
	return tenon_plugin_of(call)->arg;
}

/* May come again: then all settings are anew, not on top of the old. */
static int start(tenon_call *call)
{
	struct state *state = plugin_state(call);

	if (config_read(call, &state->config) < 0)
		return -1;
	config_put(call, NULL, &state->config);
	return tenon_done(call);
}

int main(void)
{
	struct state state = { 0 };

	return tenon_run(&(tenon_plugin){
		.name = "elf_text",
		.version = ELF_TEXT_VERSION,
		.description = "Text of ELF binaries: header, libraries, functions, disassembly, strings",
		.author = "Mortise contributors",
		.extract = extractor_extract,
		.formats = FORMATS,
		.extensions = EXTENSIONS,
		.on_start = start,
		.arg = &state,
		.max_message_bytes = (size_t)1536 << 20, /* the largest max_file_bytes, in base64 */
	});
}
