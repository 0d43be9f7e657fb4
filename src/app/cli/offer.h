/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise completion names [--at BEGINNING] [-- WORD…]: what may come next on a command line, one per line.
 * Only files are read: a plugin that the user has not asked for must not run because of a Tab.
 *
 * WORD… are the words so far, from the command on; BEGINNING is what is typed of the next one. Without WORD…,
 * the names of plugins are printed. With BEGINNING, a last line "/" says that files fit, too.
 */
#ifndef MOR_CLI_OFFER_H
#define MOR_CLI_OFFER_H

#include "cli/cli.h"

/* Does the command have words that only this knows? */
bool mor_cli_offers_names(const struct mor_cli_command *command);
/* `beginning`: NULL: not known. Mistakes in the words are not the concern of a completion: then
 * nothing is printed. */
void mor_cli_offer(struct mor_cli *cli, const char *beginning);

#endif
