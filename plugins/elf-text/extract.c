/* SPDX-License-Identifier: Apache-2.0 */
/* extractor.extract: from the parameters to the answer. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "plugin.h"
#include "report.h"

#define FUNCTION_SEC 10.0 /* timeout_sec of a call: the specification's default */

struct request {
	struct report_options report;
	double timeout_sec;
	bool metadata;
	const char *mime_type, *extension; /* what the host says of the file; NULL: nothing */
};

struct source {
	const char *path;     /* NULL: bytes                                        */
	unsigned char *image; /* a copy: a file that shrinks under us cannot hurt   */
	size_t len;
};

/* ---- Options ---- */

static int bad_option(tenon_call *call, const char *text)
{
	tenon_fail(call, TENON_EPARAMS, text);
	return -1;
}

/* Options come as true values of their type or not at all: a wrong type is the caller's mistake, told to
 * them rather than replaced by a default.
 *
 * A whole number of at least 0, or *number as it is when the option is not there. */
static bool take_count(const tenon_value *options, const char *name, size_t *number)
{
	const tenon_value *value = tenon_get(options, name);
	int64_t given = tenon_as_int(value, -1);

	if (tenon_type_of(value) <= TENON_NULL)
		return true;
	if (given < 0)
		return false;
	*number = (size_t)given;
	return true;
}

static bool take_bool(const tenon_value *options, const char *name, bool *on)
{
	const tenon_value *value = tenon_get(options, name);

	if (tenon_type_of(value) <= TENON_NULL)
		return true;
	*on = tenon_as_bool(value, 0);
	return tenon_type_of(value) == TENON_BOOL;
}

static bool take_seconds(const tenon_value *options, const char *name, double *seconds)
{
	const tenon_value *value = tenon_get(options, name);
	double given = tenon_as_double(value, -1);

	if (tenon_type_of(value) <= TENON_NULL)
		return true;
	if (!isfinite(given) || given <= 0)
		return false;
	*seconds = given < 86400 ? given : 86400;
	return true;
}

/* extract_metadata and max_text_size are not in the specification: the real host sends them. */
static int read_options(tenon_call *call, struct request *request)
{
	const tenon_value *options = tenon_options(call);
	struct report_options *r = &request->report;
	size_t max_text = r->max_content_bytes;
	bool decompile = true;

	if (!take_count(options, "max_functions", &r->max_functions))
		return bad_option(call, "options.max_functions: must be a whole number, 0 or more");
	if (!take_bool(options, "decompile", &decompile))
		return bad_option(call, "options.decompile: must be true or false");
	if (!take_bool(options, "extract_metadata", &request->metadata) ||
	    !take_bool(options, "include_metadata", &request->metadata))
		return bad_option(call, "options.include_metadata: must be true or false");
	if (!take_seconds(options, "timeout_sec", &r->function_sec))
		return bad_option(call, "options.timeout_sec: must be a number of seconds, more than 0");
	if (!take_count(options, "max_text_size", &max_text))
		return bad_option(call, "options.max_text_size: must be a whole number, 0 or more");
	if (max_text < r->max_content_bytes)
		r->max_content_bytes = max_text;
	if (!decompile)
		r->disassemble_functions = 0;
	request->mime_type = tenon_as_str(tenon_get(options, "mime_type"), NULL);
	request->extension = tenon_as_str(tenon_get(options, "extension"), NULL);
	return 0;
}

/* What plugin.init settled; read_options() then lets the call override it. */
static void start_request(const struct config *config, struct request *ret)
{
	*ret = (struct request){
		.report = {
			.max_functions = (size_t)config->max_functions,
			.disassemble_functions = (size_t)config->disassemble_functions,
			.max_instructions = (size_t)config->max_instructions,
			.min_string_length = (size_t)config->min_string_length,
			.max_strings = (size_t)config->max_strings,
			.max_content_bytes = (size_t)config->max_content_bytes,
			.function_sec = FUNCTION_SEC,
			.deadline_ns = clock_after(config->timeout_sec),
		},
		.timeout_sec = config->timeout_sec,
		.metadata = true,
	};
}

/* ---- Answers ---- */

static const char *extension_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *dot = path ? strrchr(slash ? slash : path, '.') : NULL;

	return dot ? dot : "";
}

static void put_formats(tenon_call *call, const char *key)
{
	tenon_array(call, key);
	for (const char *at = FORMATS; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		tenon_put_text(call, NULL, at, len);
		at += len;
	}
	tenon_end(call);
}

/* The host's word for the file if it gave one: we have only seen that it is no ELF. */
static int fail_foreign(tenon_call *call, const struct request *request, const struct source *source)
{
	const char *mime_type = request->mime_type ? request->mime_type : "application/octet-stream";
	const char *extension = request->extension ? request->extension : extension_of(source->path);
	char text[256];

	snprintf(text, sizeof(text), "Unsupported file format: %s is no ELF file",
		 request->mime_type ? mime_type : "this");
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", "UnsupportedFormat");
	tenon_put_str(call, "mime_type", mime_type);
	tenon_put_str(call, "extension", extension);
	put_formats(call, "supported_formats");
	tenon_end(call);
	return tenon_fail_built(call, YAMS_EFORMAT, text);
}

static int fail_timeout(tenon_call *call, const struct request *request, const struct report *report)
{
	char text[128];

	snprintf(text, sizeof(text), "Extraction timed out after %g seconds", request->timeout_sec);
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", "Timeout");
	tenon_put_double(call, "timeout_sec", request->timeout_sec);
	tenon_put_bool(call, "partial_extraction", report->functions_listed > 0);
	tenon_put_int(call, "functions_extracted", (int64_t)report->functions_listed);
	tenon_end(call);
	return tenon_fail_built(call, YAMS_ETIMEOUT, text);
}

static int fail_damaged(tenon_call *call, const char *reason, const char *details, const struct report *report)
{
	char text[160];

	snprintf(text, sizeof(text), "Extraction failed: %s", details);
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", reason);
	tenon_put_str(call, "details", details);
	tenon_put_bool(call, "recoverable", 0);
	if (*report->arch.name)
		tenon_put_str(call, "architecture", report->arch.name);
	tenon_put_int(call, "partial_functions", (int64_t)report->functions_listed);
	tenon_end(call);
	return tenon_fail_built(call, YAMS_EFAILED, text);
}

/* Names the setting that gets the caller going without the dependency. */
static int fail_dependency(tenon_call *call, const struct report *report)
{
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", "DependencyMissing");
	tenon_put_str(call, "dependency", "capstone");
	tenon_put_str(call, "architecture", report->arch.name);
	tenon_put_str(call, "config_key", "disassemble_functions");
	tenon_end(call);
	return tenon_fail_built(
		call, TENON_EINTERNAL,
		"capstone cannot read this processor's code. Set disassemble_functions to 0 to do without.");
}

/* Metadata are texts, numbers too: the specification's rule. */
static void put_number(tenon_call *call, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	tenon_put_str(call, key, text);
}

static void put_metadata(tenon_call *call, const struct report *report, const struct source *source, int64_t ms)
{
	char entry[24];

	snprintf(entry, sizeof(entry), "0x%" PRIx64, report->entry);
	tenon_object(call, "metadata");
	tenon_put_str(call, "architecture", report->arch.name);
	tenon_put_str(call, "type", "ELF");
	tenon_put_str(call, "elf_type", report->type);
	put_number(call, "functions_count", report->functions_found);
	tenon_put_str(call, "functions_source", report->functions_source);
	tenon_put_str(call, "entry_point", entry);
	put_number(call, "strings_count", report->strings);
	put_number(call, "file_size", source->len);
	if (report->libraries.len > 0)
		tenon_put_text(call, "libraries", report->libraries.data, report->libraries.len);
	if (*report->build_id)
		tenon_put_str(call, "build_id", report->build_id);
	tenon_put_str(call, "truncated", report->text.cut ? "true" : "false");
	tenon_put_str(call, "extraction_method", EXTRACTION_METHOD);
	put_number(call, "extraction_time_ms", (uint64_t)ms);
	tenon_end(call);
}

static int reply(tenon_call *call, const struct request *request, const struct report *report,
		 const struct source *source, int64_t ms)
{
	tenon_object(call, NULL);
	tenon_put_text(call, "content", report->text.data, report->text.len);
	if (request->metadata)
		put_metadata(call, report, source, ms);
	tenon_object(call, "stats");
	tenon_put_int(call, "functions_extracted", (int64_t)report->functions_listed);
	tenon_put_int(call, "functions_decompiled", (int64_t)report->functions_disassembled);
	tenon_put_int(call, "extraction_time_ms", ms);
	tenon_put_int(call, "decompilation_failures", (int64_t)report->failures);
	tenon_end(call);
	tenon_end(call);
	return tenon_done(call);
}

static int extract(tenon_call *call, struct request *request, const struct source *source)
{
	int64_t start_ns = clock_now_ns(); /* without reading and decoding the file */
	struct report report;
	int r = 0;

	request->report.label = source->path ? source->path : "(bytes)";
	switch (report_make(source->image, source->len, &request->report, &report)) {
	case REPORT_OK:
		r = reply(call, request, &report, source, (clock_now_ns() - start_ns) / 1000000);
		break;
	case REPORT_FOREIGN:
		r = fail_foreign(call, request, source);
		break;
	case REPORT_CORRUPT:
		r = fail_damaged(call, "CorruptFile", report.why, &report);
		break;
	case REPORT_TIMEOUT:
		r = fail_timeout(call, request, &report);
		break;
	case REPORT_NO_DISASSEMBLER:
		r = fail_dependency(call, &report);
		break;
	case REPORT_NO_MEMORY:
		r = fail_damaged(call, "OutOfMemory", "out of memory", &report);
		break;
	}
	report_fini(&report);
	return r;
}

int extractor_extract(tenon_call *call)
{
	const struct config *config = &plugin_state(call)->config;
	struct source source = { .path = tenon_source_path(call) };
	struct request request;

	start_request(config, &request);
	if (read_options(call, &request) < 0)
		return -1;
	/* libelf wants a pointer to non-const and only reads. */
	source.image =
		(unsigned char *)(uintptr_t)tenon_source(call, (size_t)config->max_file_bytes, &source.len);
	return source.image ? extract(call, &request, &source) : -1;
}
