/* SPDX-License-Identifier: Apache-2.0 */
/* mortise probe: its options, what it found, and the manifest that it proposes. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"
#include "base/text.h"
#include "check/check.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"

struct probe_args {
	const char *output, *timeout;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct probe_args, name)
static const struct mor_option probe_options[] = {
	{ "output", 'o', "FILE", "write the manifest to FILE, or under its own name into a directory",
	  MOR_OPT_TEXT, FIELD(output), NULL },
	{ "timeout", 't', "DURATION", "how long each try waits for an answer; default: 2s", MOR_OPT_TEXT,
	  FIELD(timeout), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", probe_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

static int write_manifest(const char *output, const struct mor_check_found *found, mortise_error *err)
{
	struct stat status;
	bool dir = stat(output, &status) == 0 && S_ISDIR(status.st_mode);
	MOR_CLEAN_TEXT char *path =
		dir ? mor_text_format("%s/%s", output, found->manifest_file) : mor_strdup(output);

	if (path && access(path, F_OK) == 0)
		return mor_fail(err, MORTISE_EINPUT, "%s is there already: name another file, or remove it",
				path);
	return path ? mor_outfile_write(path, 0644, mor_buf_view(&found->manifest), err) : mor_fail_memory(err);
}

static bool can_be_driven(const struct mor_check_found *found)
{
	return found->dialect && !found->answers;
}

static void show_json(struct mor_cli *cli, const struct mor_check_found *found)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };
	struct mor_slice rest = mor_buf_view(&found->how);

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", can_be_driven(found));
	mor_w_pair(&w, "dialect", found->dialect);
	mor_w_pair(&w, "framing", found->framing);
	mor_w_pair(&w, "answers_framing", found->answers ? found->answers : found->framing);
	mor_w_pair(&w, "kind", found->kind);
	mor_w_pair_bool(&w, "echoes", found->echoes);
	mor_w_pair(&w, "name", found->name[0] ? found->name : NULL);
	mor_w_pair(&w, "level", found->level);
	mor_w_pair_array(&w, "how");
	while (rest.len)
		mor_w_slice(&w, mor_slice_cut(&rest, '\n'));
	mor_w_end(&w);
	mor_w_pair(&w, "manifest_file", found->manifest_file);
	mor_w_key(&w, "manifest");
	if (found->manifest.len)
		mor_w_slice(&w, mor_buf_view(&found->manifest));
	else
		mor_w_null(&w);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&text));
}

static void show_verdict(struct mor_console *console, const struct mor_check_found *found)
{
	if (!found->dialect)
		mor_outf(console, "no protocol was found%s\n",
			 found->echoes ? ": it only sends back what it is sent, like cat" : "");
	else if (found->answers)
		mor_outf(console,
			 "it reads messages as %s, but answers as %s: no host can use that; let it write "
			 "what it reads\n",
			 found->framing, found->answers);
	else if (found->kind)
		mor_outf(console, "%s%s%s: mortise drives it with -d plain%s%s\n",
			 mor_style(console, MOR_STYLE_GOOD), found->what, mor_style_end(console),
			 strcmp(found->framing, "lines") == 0 ? "" : " --framing ",
			 strcmp(found->framing, "lines") == 0 ? ", messages as lines" : found->framing);
	else
		mor_outf(console, "%s%s%s, messages as %s\n", mor_style(console, MOR_STYLE_GOOD),
			 found->dialect, mor_style_end(console), found->framing);
}

/* Such a server must be greeted before it does anything, so it needs a session. */
static void show_next(struct mor_console *console, const struct mor_check_found *found)
{
	if (!found->next)
		return;
	mor_out_title(console, "to use it, with this manifest in the directory DIR");
	mor_out_text(console, "mortise session start s DIR\n");
	for (const char *const *line = found->next; *line; line++)
		mor_outf(console, "%s\n", *line);
}

static void show_people(struct mor_cli *cli, const struct probe_args *args, const struct mor_check_found *found)
{
	show_verdict(cli->console, found);
	mor_out_title(cli->console, "how it was tried (confined, without network)");
	mor_out(cli->console, mor_buf_view(&found->how));
	if (!can_be_driven(found))
		return;
	if (args->output) {
		mor_outf(cli->console, "\nwritten to %s: %s\n", args->output, found->manifest_file);
	} else {
		mor_out_title(cli->console, found->manifest_file);
		mor_out(cli->console, mor_buf_view(&found->manifest));
	}
	show_next(cli->console, found);
}

static int probe_run(struct mor_cli *cli)
{
	const struct probe_args *args = cli->args;
	struct mor_check_found found = { 0 };
	const char *const *argv = NULL;
	const char *path = NULL;
	mortise_error err = { 0 };
	uint32_t ms = 0;
	int r = mor_cli_target_bare(cli, &path, &argv, &err);

	if (r == 0 && args->timeout && (!mor_parse_duration_ms(mor_slice_of(args->timeout), &ms) || !ms))
		r = mor_fail(&err, MORTISE_EINVAL, "--timeout \"%s\": expected a duration, such as 500ms or 2s",
			     args->timeout);
	if (r == 0)
		r = mor_check_probe(path, argv, ms, &found, &err);
	if (r == 0 && can_be_driven(&found) && args->output)
		r = write_manifest(args->output, &found, &err);
	if (r == 0 && cli->console->json)
		show_json(cli, &found);
	else if (r == 0)
		show_people(cli, args, &found);
	r = r < 0 ? r : can_be_driven(&found) ? 0 : 1;
	mor_check_found_fini(&found);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, &err);
	if (r == MORTISE_ECANCELED)
		return mor_report_interrupted(cli->console, mor_signals_exit_code());
	return r < 0 ? mor_report_error(cli->console, &err) : r;
}

const struct mor_cli_command mor_cli_command_probe = {
	.row = MOR_CLI_ROW(probe),
	.usage = "probe [OPTION…] PROGRAM\nprobe [OPTION…] -- COMMAND [ARG…]",
	.words = "file",
	.description =
		"Starts the program once for each protocol and framing, confined, without network, and with a "
		"directory of\nits own that is removed. Says what was sent, what came, and proposes a "
		"manifest. Servers of MCP and\nlanguage servers are found too: they are driven as plain. Exit "
		"status 1: none of them.",
	.examples = "mortise probe ./plugin.py\nmortise probe -o my-plugin/ -- python3 my-plugin/plugin.py",
	.options = groups,
	MOR_CLI_ARGS(probe_args),
	.run = probe_run,
};
