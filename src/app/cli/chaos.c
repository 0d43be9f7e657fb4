/* SPDX-License-Identifier: Apache-2.0 */
/* mortise chaos: its options. */
#include "chaos/chaos.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"

#define DEFAULT_SEED     1
#define DEFAULT_STALL_MS 200

struct chaos_args {
	struct mor_opt_rate rate[MOR_CHAOS_FAULTS];
	bool all;
	struct mor_opt_count seed, after;
	const char *stall_time, *framing, *log, *starts;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct chaos_args, name)
static const struct mor_option fault_options[] = {
	{ "split", 0, "[=RATE]", "cut the message into several writes (0.5)", MOR_OPT_RATE,
	  FIELD(rate[MOR_CHAOS_FAULT_SPLIT]), NULL },
	{ "stall", 0, "[=RATE]", "delay it, and everything after it (0.05)", MOR_OPT_RATE,
	  FIELD(rate[MOR_CHAOS_FAULT_STALL]), NULL },
	{ "garbage", 0, "[=RATE]", "send bytes that are not a message before it; to the host only (0.1)",
	  MOR_OPT_RATE, FIELD(rate[MOR_CHAOS_FAULT_GARBAGE]), NULL },
	{ "dup-id", 0, "[=RATE]", "send a reply twice (0.05)", MOR_OPT_RATE,
	  FIELD(rate[MOR_CHAOS_FAULT_DUP_ID]), NULL },
	{ "stale-id", 0, "[=RATE]", "after a reply, one with an old or unknown id (0.05)", MOR_OPT_RATE,
	  FIELD(rate[MOR_CHAOS_FAULT_STALE_ID]), NULL },
	{ "drop", 0, "[=RATE]", "lose a reply (0.02)", MOR_OPT_RATE, FIELD(rate[MOR_CHAOS_FAULT_DROP]), NULL },
	{ "truncate", 0, "[=RATE]", "end stdout in the middle of the message; to the host only (0.01)",
	  MOR_OPT_RATE, FIELD(rate[MOR_CHAOS_FAULT_TRUNCATE]), NULL },
	{ "kill", 0, "[=RATE]", "kill the plugin instead of passing it on (0.01)", MOR_OPT_RATE,
	  FIELD(rate[MOR_CHAOS_FAULT_KILL]), NULL },
	{ "all", 0, NULL, "all of these, at the rates in brackets", MOR_OPT_FLAG, FIELD(all), NULL },
	{ 0 },
};
static const struct mor_option how_options[] = {
	{ "seed", 0, "N", "seed of the random faults; default: 1", MOR_OPT_COUNT, FIELD(seed), NULL },
	{ "starts", 0, "FILE", "count starts in FILE, so that each start has different faults", MOR_OPT_TEXT,
	  FIELD(starts), NULL },
	{ "after", 0, "N", "leave the first N messages of each side unchanged", MOR_OPT_COUNT, FIELD(after),
	  NULL },
	{ "stall-time", 0, "DURATION", "longest time that --stall takes; default: 200ms", MOR_OPT_TEXT,
	  FIELD(stall_time), NULL },
	{ "framing", 0, "FRAMING", "framing of messages; default: found from the first message", MOR_OPT_TEXT,
	  FIELD(framing), "lines|headers|be32|decimal" },
	{ "log", 0, "FILE", "append a line per fault to FILE, and print nothing on stderr", MOR_OPT_TEXT,
	  FIELD(log), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Faults, each at a rate per message:", fault_options, 0 },
	{ "Options:", how_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- options ---- */

static void take_rates(const struct chaos_args *args, struct mor_chaos *chaos)
{
	for (int i = 0; i < MOR_CHAOS_FAULTS; i++) {
		if (args->rate[i].valued)
			chaos->rate[i] = args->rate[i].value;
		else if (args->rate[i].given || args->all)
			chaos->rate[i] = mor_chaos_fault_kinds[i].rate;
	}
}

static int read_args(const struct chaos_args *args, struct mor_chaos *chaos, mortise_error *err)
{
	*chaos = (struct mor_chaos){ .stall_ms = DEFAULT_STALL_MS,
				     .after = args->after.value,
				     .log = -1,
				     .framing = mor_framing_by_name(args->framing) };
	take_rates(args, chaos);
	if (args->stall_time &&
	    (!mor_parse_duration_ms(mor_slice_of(args->stall_time), &chaos->stall_ms) || !chaos->stall_ms))
		return mor_fail(err, MORTISE_EINVAL,
				"--stall-time \"%s\": expected a duration, such as 500ms or 2s",
				args->stall_time);
	return mor_chaos_begin(chaos, args->seed.given ? args->seed.value : DEFAULT_SEED, args->starts,
			       args->log, err);
}

static int chaos_run(struct mor_cli *cli)
{
	struct mor_relay_plugin plugin = { .in = -1, .out = -1, .err = -1 };
	struct mor_chaos chaos = { .log = -1 };
	const char *const *argv = NULL;
	const char *path = NULL;
	mortise_error err = { 0 };
	int r = mor_cli_target_bare(cli, &path, &argv, &err);

	if (r == 0 && cli->words.count)
		r = mor_fail(&err, MORTISE_EINVAL, "chaos takes one PLUGIN; \"%s\" is one word too many",
			     cli->words.item[0]);
	if (r < 0 || read_args(cli->args, &chaos, &err) < 0 ||
	    mor_relay_start(path, argv, false, &plugin, &err) < 0)
		return mor_report_cause(cli->console, &err);
	r = mor_chaos_run(&chaos, &plugin, cli->console);
	if (r >= 0)
		return mor_relay_end_as(r);
	mor_fail(&err, r, "the plugin was killed: %s",
		 r == MORTISE_ENOMEM ? mortise_status_text(MORTISE_ENOMEM) : "poll() failed");
	return mor_report_error(cli->console, &err);
}

const struct mor_cli_command mor_cli_command_chaos = {
	.row = MOR_CLI_ROW(chaos),
	.usage = "chaos [FAULT…] [OPTION…] PLUGIN\nchaos [FAULT…] [OPTION…] -- COMMAND [ARG…]",
	.words = "file",
	.description =
		"Give a host this command line instead of the plugin's. Everything they send passes through "
		"here: stdin\n"
		"to the plugin, its stdout to stdout. Signals, closed ends and the exit status pass too. "
		"Faults are\n"
		"chosen only by the number of a message: the same seed and the same messages give the same "
		"faults.\n"
		"Without any FAULT everything passes unchanged.",
	.examples =
		"mortise call echo x=1 -- mortise chaos --seed 7 --split -- examples/echo-plugin.py\n"
		"mortise call echo x=1 -- mortise chaos --all --after 4 --log faults.log "
		"examples/echo-plugin.py\n"
		"mortise call echo x=1 -- mortise chaos --kill=1% --starts count -- examples/echo-plugin.py",
	.options = groups,
	MOR_CLI_ARGS(chaos_args),
	.run = chaos_run,
};
