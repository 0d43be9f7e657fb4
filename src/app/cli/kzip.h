/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise kzip create|info|cat|merge.
 *
 *	kzip.c          the command, cat, merge
 *	kzip_info.c     info
 *	kzip_create.c   create: what is to be recorded; src/work/capture does it
 */
#ifndef MOR_CLI_KZIP_H
#define MOR_CLI_KZIP_H

#include "cli/cli.h"
#include "kythe/archive/kzip.h"

struct mor_cli_kzip_args {
	const char *output, *language, *corpus, *vnames, *compile_commands, *encoding, *unit;
	struct mor_text_list sources, inputs;
	uint32_t jobs;
	bool verify;
	struct mor_common_args common;
};

/* Each function gets the words after the action. It returns 0, a status with *err set, or a positive exit
 * code if it has reported everything itself. MORTISE_EINVAL is a usage error. */
int mor_cli_kzip_create(struct mor_cli *cli, mortise_error *err);
int mor_cli_kzip_info(struct mor_cli *cli, mortise_error *err);

/* Opens the archive for reading. Warnings go to stderr, each after the archive's name. `warned` must live as
 * long as the archive. */
struct mor_cli_kzip_warned {
	struct mor_cli *cli;
	const char *path;
};
int mor_cli_kzip_open(struct mor_cli *cli, const char *path, struct mor_cli_kzip_warned *warned,
		      struct mor_kzip **ret, mortise_error *err);
/* --encoding, else KYTHE_KZIP_ENCODING, else protobuf. */
int mor_cli_kzip_encoding(const struct mor_cli_kzip_args *args, enum mor_kzip_encoding *ret,
			  mortise_error *err);
/* Prints on stdout what was written. */
void mor_cli_kzip_told(struct mor_cli *cli, const struct mor_kzip_writer *writer, size_t failed);

#endif
