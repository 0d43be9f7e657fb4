/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for hosts. Each is judged by what the host sent in one scene, and by how it ended. */
#include "check/host_own.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define HEARD MOR_CHECK_HEARD
#define ROW   MOR_CHECK_HOST_ROW
#define BLIND MOR_CHECK_HOST_BLIND
#define JUDGE MOR_CHECK_JUDGE
/* those whose plugins answer, all of them and one process per call left out */
#define HOSTS   (MOR_CHECK_ALL & ~MOR_CHECK_KYTHE)
#define SERVERS MOR_CHECK_SERVERS
/* those that greet and say good-bye */
#define GREETERS (MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_GASSIST)
/* those with tables of their params */
#define TABLES (HOSTS & ~MOR_CHECK_PLAIN)

static const struct mor_method *row_of(const struct mor_check_heard *heard, size_t i)
{
	return mor_dialect_method(heard->dialect, MOR_FROM_HOST, mor_json_string(heard->message[i].method));
}

/* ---- judges of all tables ---- */

bool mor_check_host_ended(HEARD)
{
	return heard->status == arg;
}

bool mor_check_host_failed(HEARD)
{
	return heard->status > 0;
}

bool mor_check_host_marked(HEARD)
{
	return heard->marks[arg];
}

bool mor_check_host_unmarked(HEARD)
{
	return !heard->marks[arg];
}

/* ---- judges of this one ---- */

static bool has_ended(HEARD)
{
	return heard->status >= 0;
}

static bool greets_first(HEARD)
{
	const struct mor_method *hello = mor_dialect_role(heard->dialect, MOR_FROM_HOST, MOR_ROLE_HELLO, NULL);

	return heard->count && strcmp(mor_json_text(heard->message[0].method, ""), hello->name) == 0;
}

static bool configures_first(HEARD)
{
	const struct mor_method *init = mor_dialect_role(heard->dialect, MOR_FROM_HOST, MOR_ROLE_INIT, NULL);
	bool ready = false;

	for (size_t i = 0; i < heard->count; i++) {
		const struct mor_method *row = row_of(heard, i);

		ready |= strcmp(mor_json_text(heard->message[i].method, ""), init->name) == 0;
		if (row && row->role == MOR_ROLE_CALL && !ready)
			return false;
	}
	return true;
}

static bool is_clean(HEARD)
{
	return !heard->marks[MOR_CHECK_MARK_NOISE] && !heard->broken;
}

static bool has_versions(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (strcmp(mor_json_text(mor_json_get(heard->message[i].root, "jsonrpc"), ""), "2.0") != 0)
			return false;
	return true;
}

static bool has_methods(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_type(heard->message[i].method) != MOR_JSON_STRING)
			return false;
	return true;
}

static bool has_own_ids(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		for (size_t j = 0; j < i; j++)
			if (heard->message[i].id && mor_json_equal(heard->message[i].id, heard->message[j].id))
				return false;
	return true;
}

static bool has_plain_ids(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (heard->message[i].id && !mor_json_is_int(heard->message[i].id) &&
		    mor_json_type(heard->message[i].id) != MOR_JSON_STRING)
			return false;
	return true;
}

static bool has_small_ids(HEARD)
{
	for (size_t i = 0; i < heard->count; i++) {
		int64_t id = mor_json_int(heard->message[i].id, 0);

		if (heard->message[i].id && (id < 1 || id > INT32_MAX))
			return false;
	}
	return true;
}

static void keep_fatal(const struct mor_finding *finding, void *arg)
{
	bool *fatal = arg;

	*fatal |= finding->fatal;
}

bool mor_check_host_valid(const struct mor_field *fields, const struct mor_value *value)
{
	bool fatal = false;

	mor_validate(fields, value, keep_fatal, &fatal);
	return !fatal;
}

static bool has_valid_params(HEARD)
{
	for (size_t i = 0; i < heard->count; i++) {
		const struct mor_method *row = row_of(heard, i);

		if (row && row->params &&
		    !mor_check_host_valid(row->params, mor_json_get(heard->message[i].root, "params")))
			return false;
	}
	return true;
}

static bool has_params_of_a_type(HEARD)
{
	for (size_t i = 0; i < heard->count; i++) {
		enum mor_json_type type = mor_json_type(mor_json_get(heard->message[i].root, "params"));

		if (type != MOR_JSON_MISSING && type != MOR_JSON_OBJECT && type != MOR_JSON_ARRAY)
			return false;
	}
	return true;
}

static bool ends_politely(HEARD)
{
	return heard->marks[MOR_CHECK_MARK_END] || heard->marks[MOR_CHECK_MARK_TERM];
}

static bool says_good_bye(HEARD)
{
	for (size_t i = 0; i < heard->count; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

		mor_json_write(heard->message[i].root, false, &text);
		if (memmem(text.data, text.len, "shutdown", 8))
			return true;
	}
	return false;
}

const struct mor_check_host_row *const mor_check_host_tables[] = {
	mor_check_host_common,
	mor_check_host_sunscreen,
	mor_check_host_kythe,
	NULL,
};

const struct mor_check_host_row mor_check_host_common[] = {
	ROW("greet.first", "greets first", "docs/dialects", "good", must, GREETERS,
	    JUDGE(greets_first, 0, "its first message is not the greeting"),
	    "send the greeting before anything else"),
	ROW("greet.init", "configures before it calls", "docs/dialects", "good", must,
	    MOR_CHECK_YAMS | MOR_CHECK_AYIOU,
	    JUDGE(configures_first, 0, "it called before it had sent the configuration"),
	    "send the configuration after the greeting"),
	ROW("wire.clean", "writes nothing but messages", "docs/reference/wire.md", "good", must, MOR_CHECK_ALL,
	    JUDGE(is_clean, 0, "it wrote bytes that are no message"),
	    "one message, framed as the protocol says, and nothing between"),
	ROW("wire.version", "writes \"jsonrpc\":\"2.0\" in every message", "JSON-RPC 2.0, sections 4 and 5",
	    "good", must, MOR_CHECK_ALL, JUDGE(has_versions, 0, "a message without \"jsonrpc\":\"2.0\""),
	    "add it"),
	ROW("wire.method", "writes a method in every message", "JSON-RPC 2.0, section 4", "good", must, HOSTS,
	    JUDGE(has_methods, 0, "a message without a method"),
	    "a host of this protocol sends requests and notifications only"),
	ROW("ids.unique", "uses each id once", "JSON-RPC 2.0, section 4", "good", must, SERVERS,
	    JUDGE(has_own_ids, 0, "two requests with the same id"), "count from 1 for each process"),
	ROW("ids.type", "uses ids that are integers or strings", "JSON-RPC 2.0, section 4", "good", must, HOSTS,
	    JUDGE(has_plain_ids, 0, "an id that is neither an integer nor a string"),
	    "null and fractions are no ids"),
	ROW("ids.small", "uses integers from 1 below 2^31", "docs/reference/wire.md", "good", should, HOSTS,
	    JUDGE(has_small_ids, 0, "an id that is not an integer from 1 below 2^31"),
	    "some plugins keep ids in 32 bits"),
	ROW("params.type", "sends params as an object or an array", "JSON-RPC 2.0, section 4.2", "good", must,
	    HOSTS, JUDGE(has_params_of_a_type, 0, "params that are neither an object nor an array"),
	    "leave params out where there are none"),
	ROW("params.valid", "sends the params that the protocol says", "docs/dialects", "good", must, TABLES,
	    JUDGE(has_valid_params, 0, "params that are not as the protocol says"),
	    "mortise explain DIALECT lists the members and their types"),
	BLIND("good.exit", "succeeds with a good plugin", "docs/dialects", "good", must, MOR_CHECK_ALL,
	      MOR_CHECK_SUCCEEDS, "the played plugin did all that it was asked"),
	ROW("stop.eof", "closes the plugin's stdin, or sends SIGTERM", "docs/dialects", "good", must,
	    MOR_CHECK_ALL, JUDGE(ends_politely, 0, "it killed the plugin without closing its stdin"),
	    "a plugin that is killed at once cannot clean up"),
	ROW("stop.polite", "closes the plugin's stdin before it sends SIGTERM", "docs/dialects", "good", should,
	    MOR_CHECK_ALL & ~MOR_CHECK_SUNSCREEN_JSON,
	    JUDGE(mor_check_host_marked, MOR_CHECK_MARK_END,
		  "it sent SIGTERM before it closed the plugin's stdin"),
	    "give it a second to exit by itself"),
	ROW("stop.bye", "says good-bye", "docs/dialects", "good", must, GREETERS,
	    JUDGE(says_good_bye, 0, "it did not say good-bye"),
	    "send the protocol's shutdown before stdin is closed"),
	BLIND("bear.split", "reads an answer that arrives in pieces", "docs/reference/wire.md", "split", must,
	      HOSTS, MOR_CHECK_SUCCEEDS, "read until a whole message is there"),
	BLIND("bear.noise", "goes on after a line on stdout that is no message", "docs/reference/wire.md",
	      "noise", should, HOSTS, MOR_CHECK_SUCCEEDS, "skip it, and tell the user"),
	BLIND("bear.stray", "ignores an answer that nobody asked for", "docs/reference/wire.md", "stray", must,
	      SERVERS, MOR_CHECK_SUCCEEDS, "an answer belongs to the request with its id"),
	BLIND("bear.note", "ignores an unknown notification", "JSON-RPC 2.0, section 4.1", "note", must,
	      SERVERS, MOR_CHECK_SUCCEEDS, "skip it"),
	BLIND("bear.stderr", "reads the plugin's stderr", "docs/reference/wire.md", "stderr", must,
	      MOR_CHECK_ALL, MOR_CHECK_SUCCEEDS, "a full pipe stops the plugin"),
	BLIND("bear.slow", "waits for a slow answer", "docs/dialects", "slow", must, HOSTS, MOR_CHECK_SUCCEEDS,
	      "the plugin took less than a second for each answer"),
	ROW("slow.one", "sends one request at a time", "docs/dialects", "slow", should,
	    MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_SUNSCREEN,
	    JUDGE(mor_check_host_unmarked, MOR_CHECK_MARK_EAGER,
		  "it sent more before its request was answered"),
	    "this protocol is synchronous"),
	BLIND("error.told", "fails if the plugin answers with an error", "JSON-RPC 2.0, section 5.1", "refuse",
	      must, HOSTS,
	      JUDGE(mor_check_host_failed, 0,
		    "the host did not tell that the plugin had answered with an error"),
	      "an error is no success: show its message, and exit with another status"),
	BLIND("crash.ends", "ends after a plugin that crashed", "docs/reference/faults.md", "crash", must,
	      MOR_CHECK_ALL, JUDGE(has_ended, 0, "the host crashed, or did not end"),
	      "watch for the end of the process, not only for its answer"),
	BLIND("crash.told", "fails if the plugin crashed instead of answering", "docs/reference/faults.md",
	      "crash", must, MOR_CHECK_ALL,
	      JUDGE(mor_check_host_failed, 0, "the host did not tell that the plugin had crashed"),
	      "a lost answer is no success"),
	{ 0 },
};
