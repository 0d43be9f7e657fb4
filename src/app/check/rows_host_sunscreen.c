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
#define VIOLATION 9

/* ---- what it sends ---- */

static const struct mor_value *call_params(const struct mor_check_run *run, const struct mor_check_heard *heard)
{
	for (size_t i = 0; i < heard->count; i++) {
		const struct mor_method *row = mor_dialect_method(run->dialect, MOR_FROM_HOST,
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

static const char *judge_kind(HEARD)
{
	const struct mor_value *params = call_params(run, heard);
	const char *command = mor_json_text(mor_json_get(params, "command"), "");

	if (!mor_json_get(params, "command") && mor_json_get(params, "name"))
		return NULL; /* a hook */
	return *command != ':' && strchr(command, ':') && strchr(command, ':')[1] ?
		       NULL :
		       "its command is not KIND:NAME";
}

static const char *judge_root(HEARD)
{
	const struct mor_value *params = call_params(run, heard);

	return is_absolute(params, "/workspace_root") || is_absolute(params, "/context/workspace_root") ?
		       NULL :
		       "workspace_root is not an absolute path";
}

static const char *judge_whole(HEARD)
{
	const struct mor_value *params = call_params(run, heard);

	if (mor_json_get(params, "name"))
		return mor_json_get(params, "context") ? NULL : "hook without context";
	return mor_json_get(params, "args") && mor_json_get(params, "flags") && mor_json_get(params, "config") ?
		       NULL :
		       "run without args, flags or config";
}

static const char *judge_places(HEARD)
{
	const struct mor_value *params = call_params(run, heard);

	return is_absolute(params, "/workspace") && is_absolute(params, "/scratch") ?
		       NULL :
		       "workspace or scratch is not an absolute path";
}

static const char *judge_one(HEARD)
{
	(void)run;
	return heard->count == 1 ? NULL : "it did not send one request";
}

static const char *judge_end(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_END] ? NULL : "it did not close the plugin's stdin";
}

static const char *judge_bare(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_ENV] ? "the plugin got variables of the host's environment" : NULL;
}

/* ---- what it makes of the plugin's end and errors ---- */

static const char *judge_status(HEARD)
{
	(void)run;
	return heard->status > 0 ? NULL : "the host did not tell that the plugin had exited with status 3";
}

static const char *judge_code(HEARD)
{
	(void)run;
	return heard->status == 4 ? NULL : "the host did not exit with the plugin's code 4";
}

/* ---- its sandbox ---- */

static const char *judge_grant(HEARD)
{
	(void)run;
	return heard->recorded ? NULL : "a plugin with workspace_write could not write into the workspace";
}

static const char *judge_violation(HEARD)
{
	(void)run;
	return heard->status == VIOLATION ? NULL : "the host did not exit with status 9";
}

/* clang-format off */
const struct mor_check_host_row mor_check_host_sunscreen[] = {
	ROW("call.kind", "names a command as KIND:NAME", RUN, "good", must, SUNSCREEN, judge_kind,
	    "send \"scaffold:indexer\", not \"indexer\""),
	ROW("call.root", "sends an absolute workspace_root", RUN, "good", must, SUNSCREEN, judge_root,
	    "the plugin's directory is not the user's: resolve the path first"),
	ROW("call.whole", "sends args, flags and config with run, context with hook", RUN, "good", should,
	    SUNSCREEN, judge_whole, "send [] and {} where there is nothing"),
	ROW("call.one", "sends one request to each process", STDIO, "good", must, JSON, judge_one,
	    "start a process for each call"),
	ROW("call.end", "closes the plugin's stdin behind its request", STDIO, "good", must, JSON, judge_end,
	    "plugins read until the end of their stdin before they answer"),
	ROW("call.places", "sends absolute paths of workspace and scratch", STDIO, "good", must, JSON,
	    judge_places, "resolve the paths first"),
	ROW("call.environment", "gives the plugin only PATH, NO_COLOR and the variables of Sunscreen",
	    "upstream runtime, sandbox.rs", "good", must, JSON, judge_bare,
	    "clear the environment: it may hold tokens"),
	BLIND("bear.bare", "reads an answer without Content-Length", STDIO, "bare", must, JSON,
	    mor_check_host_succeeded, "if stdout begins with {, all of it is the answer"),
	BLIND("bear.id", "reads an answer with another id", STDIO, "id", must, JSON, mor_check_host_succeeded,
	    "a process has one request: its answer has any id"),
	BLIND("exit.told", "fails if the plugin exits with another status than 0 after its answer", STDIO,
	    "status", must, JSON, judge_status, "wait for the end of the process"),
	BLIND("error.code", "exits with the code of the plugin's error",
	      "docs/dialects/sunscreen.md, codes and exit status", "refuse", should, SUNSCREEN, judge_code,
	      "codes from 1 to 9 are exit statuses of the sunscreen command"),
	BLIND("sandbox.grant", "lets a plugin with workspace_write write into the workspace", SANDBOX, "good",
	      must, SUNSCREEN, judge_grant, "the path is the workspace that the command was given"),
	BLIND("sandbox.write", "ends with 9 if a plugin without workspace_write writes into the workspace",
	      SANDBOX, "write", must, SUNSCREEN, judge_violation, "deny it, end the session, exit with 9"),
	BLIND("sandbox.read", "ends with 9 if the plugin reads a file that is not declared", SANDBOX, "read",
	      must, SUNSCREEN, judge_violation, "deny it, end the session, exit with 9"),
	BLIND("sandbox.network", "ends with 9 if a plugin without network connects", SANDBOX, "network", must,
	      SUNSCREEN, judge_violation, "deny it, end the session, exit with 9"),
	BLIND("sandbox.spawn", "ends with 9 if the plugin starts a program", SANDBOX, "spawn", must, SUNSCREEN,
	      judge_violation, "deny it, end the session, exit with 9"),
	{ 0 },
};
/* clang-format on */
