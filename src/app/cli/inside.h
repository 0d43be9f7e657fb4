/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands whose words and whose work are in different programs: mortise-full knows the words, for help and
 * completion. NAME_words.c has the options and the entry, NAME.c the work. commands_PROGRAM.c joins them.
 */
#ifndef MOR_CLI_INSIDE_H
#define MOR_CLI_INSIDE_H

#include "cli/cli.h"
#include "cli/farming.h"
#include "converse/converse.h"
#include "index/index.h"

struct chat_args {
	bool stdio;
	struct mor_converse_args want;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

/* chat: --config without a PLUGIN names the file of a bot, since no plugin is given that it could configure. */
bool mor_cli_is_bot(const struct mor_cli *cli);
int mor_cli_chat(struct mor_cli *cli);
int mor_cli_chat_bot(struct mor_cli *cli); /* chat_bot.c */

struct entries_args {
	const char *output, *store;
	uint64_t memory;
	bool unique;
	struct mor_common_args common;
};

struct verify_args {
	const char *format, *goal_prefix, *goal_regex;
	bool singletons;
	struct mor_common_args common;
};

struct farm_args {
	const char *store;
	struct mor_text_list keep;
	struct mor_opt_count days;
	bool watch;
	struct mor_common_args common;
};

struct worker_args {
	const char *farm, *store, *cache;
	uint32_t jobs;
	bool confine, once;
	struct mor_common_args common;
};

struct index_args {
	struct mor_index_args want;
	struct mor_opt_count retries;
	bool manifest;
	struct mor_crew_farm farm;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

struct kzip_args {
	const char *output, *language, *corpus, *vnames, *compile_commands, *encoding, *unit;
	struct mor_text_list sources, inputs;
	uint32_t jobs;
	bool verify;
	struct mor_common_args common;
};

int mor_cli_entries(struct mor_cli *cli);
int mor_cli_farm(struct mor_cli *cli);
int mor_cli_index(struct mor_cli *cli);
int mor_cli_kzip(struct mor_cli *cli);
int mor_cli_verify_entries(struct mor_cli *cli);
int mor_cli_worker(struct mor_cli *cli);

#endif
