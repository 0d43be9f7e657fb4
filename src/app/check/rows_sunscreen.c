/* SPDX-License-Identifier: Apache-2.0 */
/* sunscreen: plugins by plugin.toml. They run confined, in an empty workspace. */
#include <string.h>

#include "check/own.h"

#define SUNSCREEN MOR_CHECK_SUNSCREEN
#define COMMANDS  "JSON-RPC methods, commands"
#define RUN       "JSON-RPC methods, run"
#define HOOK      "JSON-RPC methods, hook"
#define RUNNING   MOR_CHECK_REQ "51,\"method\":\"run\",\"params\":"
#define NOTHING   "\"args\":[],\"flags\":{},\"workspace_root\":\"%W\",\"config\":{}}}\n"

static const struct mor_value *kind_of(struct mor_check_case *at, const char *name, const char **ret_rest)
{
	const char *colon = strchr(name, ':');

	*ret_rest = colon ? colon + 1 : name;
	return mor_json_get_slice(mor_doc_root(at->run->hello),
				  (struct mor_slice){ name, colon ? (size_t)(colon - name) : strlen(name) });
}

/* Everything that plugin.toml lists is told, and nothing else. */
static void check_same_commands(struct mor_check_case *at)
{
	const struct mor_value *listed = mor_doc_root(at->run->opt->manifest->actions);
	struct mor_json_iter it = mor_json_iter(listed);
	size_t told = 0;

	if (!at->run->opt->manifest->file) {
		mor_check_unseen(at, "there is no plugin.toml");
		return;
	}
	if (!mor_check_hello(at))
		return;
	while (mor_json_next(&it)) {
		const char *name = mor_json_text(mor_json_get(it.value, "name"), ""), *rest;
		const struct mor_value *kind = kind_of(at, name, &rest);

		if (!mor_json_get(kind, rest))
			mor_check_failed(at, "plugin.toml has %s, \"commands\" does not", name);
	}
	it = mor_json_iter(mor_doc_root(at->run->hello));
	while (mor_json_next(&it))
		told += mor_json_size(it.value);
	if (told > mor_json_size(listed))
		mor_check_failed(at, "\"commands\" tells more than plugin.toml lists: %zu, not %zu", told,
				 mor_json_size(listed));
}

#define ROW(id, text, section, level, how, cure) MOR_CHECK_ROW(id, text, section, level, SUNSCREEN, how, cure)

static const struct mor_check_row rows[] = {
	ROW("commands.answer", "answers commands", COMMANDS, must,
	    .script = "start\n" MOR_CHECK_REQ "1,\"method\":\"commands\"}\nresult 1 {...}",
	    "answer {\"scaffold\":{NAME:TEXT},\"hook\":{NAME:TEXT}}"),
	ROW("commands.same", "tells the commands that its plugin.toml lists", COMMANDS, should,
	    .fn = check_same_commands, "keep both in one place: users see the file, the host runs the plugin"),
	ROW("commands.params", "answers commands with empty params too", COMMANDS, should,
	    .script = "start\n" MOR_CHECK_REQ "1,\"method\":\"commands\",\"params\":{}}\nresult 1",
	    "accept absent and empty params alike"),
	ROW("manifest.warnings", "has a plugin.toml without oddities", "Manifest", should,
	    .fn = mor_check_manifest_warnings, "docs/reference/manifests.md lists the keys"),
	ROW("run.unknown", "refuses a command that it does not have", RUN, must,
	    .script = RUNNING "{\"command\":\"scaffold:mortise-check\"," NOTHING "error 51 any\nalive",
	    "answer an error with the code 4 (user input) and data.next_step"),
	ROW("run.code", "uses the codes of the sunscreen command for its errors", RUN, should,
	    .script = RUNNING "{\"command\":\"scaffold:mortise-check\"," NOTHING
			      "error 51 1|2|3|4|5|6|7|8|9|-32601|-32602",
	    "1 to 9 become the exit status: 4 is user input"),
	ROW("run.no-command", "refuses run without a command", RUN, must,
	    .script = RUNNING "{}}\nerror 51 any\nalive", "answer -32602"),
	ROW("run.command-type", "refuses a command that is not a text", RUN, should,
	    .script = RUNNING "{\"command\":7," NOTHING "error 51 any\nalive", "answer -32602"),
	ROW("run.named", "answers the commands named by --call", RUN, must, .fn = mor_check_calls,
	    "answer {\"files_written\":[],\"summary\":\"...\"}, or an error"),
	ROW("hook.unknown", "refuses a hook that it does not have", HOOK, must,
	    .script = MOR_CHECK_REQ
	    "61,\"method\":\"hook\",\"params\":{\"name\":\"mortise-check\",\"context\":{\"workspace_root\":\"%W\"}}}\nerror "
	    "61 any\nalive",
	    "answer an error with the code 4 (user input)"),
	ROW("hook.no-name", "refuses hook without a name", HOOK, must,
	    .script = MOR_CHECK_REQ "62,\"method\":\"hook\",\"params\":{}}\nerror 62 any\nalive",
	    "answer -32602"),
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_sunscreen = {
	.dialect = SUNSCREEN,
	.name = "sunscreen",
	.wire = "JSON-RPC methods",
	.stop = "docs/dialects/sunscreen.md, time limits",
	.greet = MOR_CHECK_REQ "1,\"method\":\"commands\"}\nhello 1",
	.greet_id = "commands.answer",
	.probe = "\"method\":\"commands\"",
	.call = "\"method\":\"run\",\"params\":{\"command\":%s,\"args\":[],\"flags\":{},\"workspace_root\":\"/\",\"config\":{}}",
	.call_method = "run",
	.rows = rows,
};
