/* SPDX-License-Identifier: Apache-2.0 */
/* elf-text: a YAMS content extractor for ELF binaries. Here: what every such plugin answers. */
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "plugin.h"

struct state *plugin_state(tenon_call *call)
{
	return tenon_plugin_of(call)->arg;
}

bool params_named(tenon_call *call)
{
	if (tenon_type_of(tenon_params(call)) != TENON_ARRAY)
		return true;
	tenon_fail(call, TENON_EPARAMS, "params: must be an object");
	return false;
}

static int handshake_manifest(tenon_call *call)
{
	const tenon_plugin *plugin = tenon_plugin_of(call);

	tenon_object(call, NULL);
	tenon_put_str(call, "name", plugin->name);
	tenon_put_str(call, "version", plugin->version);
	tenon_put_str(call, "description", plugin->description);
	tenon_put_str(call, "author", "Mortise contributors");
	tenon_array(call, "interfaces");
	tenon_put_str(call, NULL, "content_extractor_v1");
	tenon_end(call);
	tenon_object(call, "capabilities");
	tenon_object(call, "content_extraction");
	formats_put(call, "formats");
	extensions_put(call, "extensions");
	tenon_end(call);
	tenon_end(call);
	tenon_end(call);
	return tenon_done(call);
}

/* May come again: then all settings are anew, not on top of the old. */
static int plugin_init(tenon_call *call)
{
	struct state *state = plugin_state(call);

	if (!params_named(call) || config_read(call, &state->config) < 0)
		return -1;
	state->started = true;
	tenon_object(call, NULL);
	tenon_put_str(call, "status", "initialized");
	config_put(call, "config_applied", &state->config);
	tenon_end(call);
	return tenon_done(call);
}

/* Resident, from the second number of statm; 0 where there is no /proc. */
static int64_t memory_mb(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %lld", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE) >> 20;
}

static int plugin_health(tenon_call *call)
{
	const struct state *state = plugin_state(call);

	return tenon_reply(call, TENON("status", "ok"), TENON_ON("started", state->started),
			   TENON("memory_mb", memory_mb()),
			   TENON("uptime_sec", (clock_now_ns() - state->born_ns) / 1000000000),
			   TENON("extractions", state->extractions));
}

/* The process goes on until its input ends: hosts wait for that, and may start anew with plugin.init. */
static int plugin_shutdown(tenon_call *call)
{
	plugin_state(call)->started = false;
	return tenon_reply_null(call);
}

static bool text_or_none(tenon_call *call, const char *key)
{
	return !tenon_has(call, key) || tenon_str(call, key, NULL);
}

/* Null counts as absent, empty text as "not known": hosts send both. */
static int extractor_supports(tenon_call *call)
{
	double confidence;

	if (!params_named(call))
		return -1;
	if (!text_or_none(call, "mime_type") || !text_or_none(call, "extension"))
		return tenon_fail(call, TENON_EPARAMS, "mime_type and extension: must be text");
	if (!tenon_has(call, "mime_type") && !tenon_has(call, "extension"))
		return tenon_fail(call, TENON_EPARAMS, "mime_type or extension: at least one must be given");
	confidence = formats_confidence(tenon_str(call, "mime_type", NULL), tenon_str(call, "extension", NULL));
	return tenon_reply(call, TENON_ON("supported", confidence > 0), TENON("confidence", confidence),
			   TENON("method", EXTRACTION_METHOD));
}

static const tenon_method methods[] = {
	{ "handshake.manifest", handshake_manifest, "What the plugin is and takes" },
	{ "plugin.init", plugin_init, "Takes the configuration" },
	{ "plugin.health", plugin_health, "Whether it is well" },
	{ "plugin.shutdown", plugin_shutdown, "Ends what plugin.init began" },
	{ "extractor.supports", extractor_supports, "Whether it takes a file" },
	{ "extractor.extract", extractor_extract, "The text of an ELF binary" },
	{ 0 },
};

int main(void)
{
	struct state state = { .born_ns = clock_now_ns() };

	return tenon_run(&(tenon_plugin){
		.name = "elf_text",
		.version = ELF_TEXT_VERSION,
		.description = "Text of ELF binaries: header, libraries, functions, disassembly, strings",
		.methods = methods,
		.arg = &state,
		.max_message_bytes = (size_t)1536 << 20, /* the largest max_file_bytes, in base64 */
	});
}
