/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for hosts of Sunscreen plugins: what they send, and what their sandbox allows. */
#include <string.h>

#include "check/host_own.h"

#define HEARD     MOR_CHECK_HEARD
#define ROW       MOR_CHECK_HOST_ROW
#define BLIND     MOR_CHECK_HOST_BLIND
#define SUNSCREEN MOR_CHECK_SUNSCREEN
#define JSON      MOR_CHECK_SUNSCREEN_JSON
#define RUN       "JSON-RPC methods, run"
#define SANDBOX   "Sandbox"
#define STDIO     "upstream runtime, stdio.rs"
#define JUDGE     MOR_CHECK_JUDGE
#define REFUSED   JUDGE(mor_check_host_ended, 9, "the host did not exit with status 9")

/* ---- what it sends ---- */

static const struct mor_value *call_params(const struct mor_check_heard *heard)
{
	for (size_t i = 0; i < heard->count; i++) {
		const struct mor_method *row = mor_dialect_method(heard->dialect, MOR_FROM_HOST,
								  mor_json_string(heard->message[i].method));

		if (row && row->role == MOR_ROLE_CALL)
			return mor_json_get(heard->message[i].root, "params");
	}
	return NULL;
}

static bool is_absolute(const struct mor_value *params, const char *pointer)
{
	return *mor_json_text(mor_json_at(params, pointer), "") == '/';
}

static bool has_kind(HEARD)
{
	const struct mor_value *params = call_params(heard);
	const char *command = mor_json_text(mor_json_get(params, "command"), "");

	if (!mor_json_get(params, "command") && mor_json_get(params, "name"))
		return true; /* a hook */
	return *command != ':' && strchr(command, ':') && strchr(command, ':')[1];
}

static bool has_root(HEARD)
{
	const struct mor_value *params = call_params(heard);

	return is_absolute(params, "/workspace_root") || is_absolute(params, "/context/workspace_root");
}

static bool is_whole(HEARD)
{
	const struct mor_value *params = call_params(heard);

	if (mor_json_get(params, "name"))
		return mor_json_get(params, "context");
	return mor_json_get(params, "args") && mor_json_get(params, "flags") && mor_json_get(params, "config");
}

static bool has_places(HEARD)
{
	const struct mor_value *params = call_params(heard);

	return is_absolute(params, "/workspace") && is_absolute(params, "/scratch");
}

static bool sends_one(HEARD)
{
	return heard->count == 1;
}

static bool could_write(HEARD)
{
	return heard->recorded;
}

const struct mor_check_host_row mor_check_host_sunscreen[] = {
	ROW("call.kind", "names a command as KIND:NAME", RUN, "good", must, SUNSCREEN,
	    JUDGE(has_kind, 0, "its command is not KIND:NAME"), "send \"scaffold:indexer\", not \"indexer\""),
	ROW("call.root", "sends an absolute workspace_root", RUN, "good", must, SUNSCREEN,
	    JUDGE(has_root, 0, "workspace_root is not an absolute path"),
	    "the plugin's directory is not the user's: resolve the path first"),
	ROW("call.whole", "sends args, flags and config with run, context with hook", RUN, "good", should,
	    SUNSCREEN, JUDGE(is_whole, 0, "hook without context, or run without args, flags or config"),
	    "send [] and {} where there is nothing"),
	ROW("call.one", "sends one request to each process", STDIO, "good", must, JSON,
	    JUDGE(sends_one, 0, "it did not send one request"), "start a process for each call"),
	ROW("call.end", "closes the plugin's stdin behind its request", STDIO, "good", must, JSON,
	    JUDGE(mor_check_host_marked, MOR_CHECK_MARK_END, "it did not close the plugin's stdin"),
	    "plugins read until the end of their stdin before they answer"),
	ROW("call.places", "sends absolute paths of workspace and scratch", STDIO, "good", must, JSON,
	    JUDGE(has_places, 0, "workspace or scratch is not an absolute path"), "resolve the paths first"),
	ROW("call.environment", "gives the plugin only PATH, NO_COLOR and the variables of Sunscreen",
	    "upstream runtime, sandbox.rs", "good", must, JSON,
	    JUDGE(mor_check_host_unmarked, MOR_CHECK_MARK_ENV,
		  "the plugin got variables of the host's environment"),
	    "clear the environment: it may hold tokens"),
	BLIND("bear.bare", "reads an answer without Content-Length", STDIO, "bare", must, JSON,
	      MOR_CHECK_SUCCEEDS, "if stdout begins with {, all of it is the answer"),
	BLIND("bear.id", "reads an answer with another id", STDIO, "id", must, JSON, MOR_CHECK_SUCCEEDS,
	      "a process has one request: its answer has any id"),
	BLIND("exit.told", "fails if the plugin exits with another status than 0 after its answer", STDIO,
	      "status", must, JSON,
	      JUDGE(mor_check_host_failed, 0, "the host did not tell that the plugin had exited with status 3"),
	      "wait for the end of the process"),
	BLIND("error.code", "exits with the code of the plugin's error",
	      "docs/dialects/sunscreen.md, codes and exit status", "refuse", should, SUNSCREEN,
	      JUDGE(mor_check_host_ended, 4, "the host did not exit with the plugin's code 4"),
	      "codes from 1 to 9 are exit statuses of the sunscreen command"),
	BLIND("sandbox.grant", "lets a plugin with workspace_write write into the workspace", SANDBOX, "good",
	      must, SUNSCREEN,
	      JUDGE(could_write, 0, "a plugin with workspace_write could not write into the workspace"),
	      "the path is the workspace that the command was given"),
	BLIND("sandbox.write", "ends with 9 if a plugin without workspace_write writes into the workspace",
	      SANDBOX, "write", must, SUNSCREEN, REFUSED, "deny it, end the session, exit with 9"),
	BLIND("sandbox.read", "ends with 9 if the plugin reads a file that is not declared", SANDBOX, "read",
	      must, SUNSCREEN, REFUSED, "deny it, end the session, exit with 9"),
	BLIND("sandbox.network", "ends with 9 if a plugin without network connects", SANDBOX, "network", must,
	      SUNSCREEN, REFUSED, "deny it, end the session, exit with 9"),
	BLIND("sandbox.spawn", "ends with 9 if the plugin starts a program", SANDBOX, "spawn", must, SUNSCREEN,
	      REFUSED, "deny it, end the session, exit with 9"),
	{ 0 },
};
