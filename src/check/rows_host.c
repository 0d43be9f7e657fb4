/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for hosts. Each is judged by what the host sent in one scene, and by how it ended. */
#include "check/host_own.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define HEARD const struct mor_check_run *run, const struct mor_check_heard *heard
#define HOSTS MOR_CHECK_HOSTS
/* those that greet */
#define GREETERS (HOSTS & ~MOR_CHECK_PLAIN)

static const struct mor_method *method_row_of(const struct mor_check_run *run,
					      const struct mor_check_message *m)
{
	return mor_dialect_method(run->dialect, MOR_FROM_HOST, mor_json_string(m->method));
}

static const char *judge_exit(HEARD)
{
	(void)run;
	return heard->status == 0 ? NULL : "the host failed";
}

static const char *judge_ends(HEARD)
{
	(void)run;
	return heard->status >= 0 ? NULL : "the host crashed, or did not end";
}

static const char *judge_crash(HEARD)
{
	(void)run;
	return heard->status > 0 ? NULL : "the host did not tell that the plugin had crashed";
}

static const char *judge_first(HEARD)
{
	const struct mor_method *hello = mor_dialect_role(run->dialect, MOR_FROM_HOST, MOR_ROLE_HELLO, NULL);

	if (!heard->count || strcmp(mor_json_text(heard->message[0].method, ""), hello->name) != 0)
		return "its first message is not the greeting";
	return NULL;
}

static const char *judge_init(HEARD)
{
	const struct mor_method *init = mor_dialect_role(run->dialect, MOR_FROM_HOST, MOR_ROLE_INIT, NULL);
	bool ready = false;

	for (size_t i = 0; i < heard->count; i++) {
		const struct mor_method *row = method_row_of(run, &heard->message[i]);

		ready |= strcmp(mor_json_text(heard->message[i].method, ""), init->name) == 0;
		if (row && row->role == MOR_ROLE_CALL && !ready)
			return "it called before it had sent the configuration";
	}
	return NULL;
}

static const char *judge_clean(HEARD)
{
	(void)run;
	return heard->noise || heard->broken ? "it wrote bytes that are no message" : NULL;
}

static const char *judge_version(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (strcmp(mor_json_text(mor_json_get(heard->message[i].root, "jsonrpc"), ""), "2.0") != 0)
			return "a message without \"jsonrpc\":\"2.0\"";
	return NULL;
}

static const char *judge_methods(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_type(heard->message[i].method) != MOR_JSON_STRING)
			return "a message without a method";
	return NULL;
}

static const char *judge_ids(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		for (size_t j = 0; j < i; j++)
			if (heard->message[i].id && mor_json_equal(heard->message[i].id, heard->message[j].id))
				return "two requests with the same id";
	return NULL;
}

static const char *judge_id_types(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (heard->message[i].id && !mor_json_is_int(heard->message[i].id) &&
		    mor_json_type(heard->message[i].id) != MOR_JSON_STRING)
			return "an id that is neither an integer nor a string";
	return NULL;
}

static const char *judge_integers(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++) {
		int64_t id = mor_json_int(heard->message[i].id, 0);

		if (heard->message[i].id && (id < 1 || id > INT32_MAX))
			return "an id that is not an integer from 1 below 2^31";
	}
	return NULL;
}

static void keep_fatal(const struct mor_finding *finding, void *arg)
{
	bool *fatal = arg;

	*fatal |= finding->fatal;
}

static const char *judge_params(HEARD)
{
	for (size_t i = 0; i < heard->count; i++) {
		const struct mor_method *row = method_row_of(run, &heard->message[i]);
		bool fatal = false;

		if (row && row->params)
			mor_validate(row->params, mor_json_get(heard->message[i].root, "params"), keep_fatal,
				     &fatal);
		if (fatal)
			return "params that are not as the protocol says";
	}
	return NULL;
}

static const char *judge_param_types(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++) {
		enum mor_json_type type = mor_json_type(mor_json_get(heard->message[i].root, "params"));

		if (type != MOR_JSON_MISSING && type != MOR_JSON_OBJECT && type != MOR_JSON_ARRAY)
			return "params that are neither an object nor an array";
	}
	return NULL;
}

static const char *judge_eof(HEARD)
{
	(void)run;
	return heard->eof || heard->term ? NULL : "it killed the plugin without closing its stdin";
}

static const char *judge_polite(HEARD)
{
	(void)run;
	return heard->eof ? NULL : "it sent SIGTERM before it closed the plugin's stdin";
}

static const char *judge_bye(HEARD)
{
	for (size_t i = 0; i < heard->count; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

		mor_json_write(heard->message[i].root, false, &text);
		if (memmem(text.data, text.len, "shutdown", 8))
			return NULL;
	}
	(void)run;
	return "it did not say good-bye";
}

static const char *judge_together(HEARD)
{
	(void)run;
	return heard->eager ? "it sent more before its request was answered" : NULL;
}

#define ROW(id, text, section, play, level, mask, function, cure) \
	{ \
		.name = id, .title = text, .spec = section, .scene = play, .level = mask, .judge = function, \
		.advice = cure \
	}

/* clang-format off */
const struct mor_check_host_row mor_check_host_rows[] = {
	ROW("greet.first", "greets first", "docs/dialects", "good", must, GREETERS, judge_first,
	    "send the greeting before anything else"),
	ROW("greet.init", "configures before it calls", "docs/dialects", "good", must,
	    MOR_CHECK_YAMS | MOR_CHECK_AYIOU, judge_init, "send the configuration after the greeting"),
	ROW("wire.clean", "writes nothing but messages", "docs/reference/wire.md", "good", must, HOSTS,
	    judge_clean,
	    "one message, framed as the protocol says, and nothing between"),
	ROW("wire.version", "writes \"jsonrpc\":\"2.0\" in every message", "JSON-RPC 2.0, section 4", "good",
	    must,
	    HOSTS, judge_version, "add it"),
	ROW("wire.method", "writes a method in every message", "JSON-RPC 2.0, section 4", "good", must, HOSTS,
	    judge_methods, "a host of this protocol sends requests and notifications only"),
	ROW("ids.unique", "uses each id once", "JSON-RPC 2.0, section 4", "good", must, HOSTS, judge_ids,
	    "count from 1 for each process"),
	ROW("ids.type", "uses ids that are integers or strings", "JSON-RPC 2.0, section 4", "good", must, HOSTS,
	    judge_id_types, "null and fractions are no ids"),
	ROW("ids.small", "uses integers from 1 below 2^31", "docs/reference/wire.md", "good", should, HOSTS,
	    judge_integers, "some plugins keep ids in 32 bits"),
	ROW("params.type", "sends params as an object or an array", "JSON-RPC 2.0, section 4.2", "good", must,
	    HOSTS,
	    judge_param_types, "leave params out where there are none"),
	ROW("params.valid", "sends the params that the protocol says", "docs/dialects", "good", must, GREETERS,
	    judge_params, "mortise explain DIALECT lists the members and their types"),
	ROW("good.exit", "succeeds with a good plugin", "docs/dialects", "good", must, HOSTS, judge_exit,
	    "the played plugin answered everything"),
	ROW("stop.eof", "closes the plugin's stdin, or sends SIGTERM", "docs/dialects", "good", must, HOSTS,
	    judge_eof,
	    "a plugin that is killed at once cannot clean up"),
	ROW("stop.polite", "closes the plugin's stdin before it sends SIGTERM", "docs/dialects", "good", should,
	    HOSTS,
	    judge_polite, "give it a second to exit by itself"),
	ROW("stop.bye", "says good-bye", "docs/dialects", "good", must, GREETERS, judge_bye,
	    "send the protocol's shutdown before stdin is closed"),
	ROW("bear.split", "reads an answer that arrives in pieces", "docs/reference/wire.md", "split", must,
	    HOSTS,
	    judge_exit, "read until a whole message is there"),
	ROW("bear.noise", "goes on after a line on stdout that is no message", "docs/reference/wire.md",
	    "noise",
	    should, HOSTS, judge_exit, "skip it, and tell the user"),
	ROW("bear.stray", "ignores an answer that nobody asked for", "docs/reference/wire.md", "stray", must,
	    HOSTS,
	    judge_exit, "an answer belongs to the request with its id"),
	ROW("bear.note", "ignores an unknown notification", "JSON-RPC 2.0, section 4.1", "note", must, HOSTS,
	    judge_exit, "skip it"),
	ROW("bear.stderr", "reads the plugin's stderr", "docs/reference/wire.md", "stderr", must, HOSTS,
	    judge_exit,
	    "a full pipe stops the plugin"),
	ROW("bear.slow", "waits for a slow answer", "docs/dialects", "slow", must, HOSTS, judge_exit,
	    "the plugin took less than a second for each answer"),
	ROW("slow.one", "sends one request at a time", "docs/dialects", "slow", should,
	    MOR_CHECK_YAMS | MOR_CHECK_AYIOU, judge_together, "this protocol is synchronous"),
	ROW("crash.ends", "ends after a plugin that crashed", "docs/reference/faults.md", "crash", must, HOSTS,
	    judge_ends, "watch for the end of the process, not only for its answer"),
	ROW("crash.told", "fails if the plugin crashed instead of answering", "docs/reference/faults.md",
	    "crash",
	    must, HOSTS, judge_crash, "a lost answer is no success"),
	{ 0 },
};
/* clang-format on */
