/* SPDX-License-Identifier: Apache-2.0 */
/* The second part of `mortise list`: plugins that are not installed, but lie in directories of YAMS. */
#ifndef MOR_CLI_LIST_H
#define MOR_CLI_LIST_H

#include "cli/cli.h"
#include "wire/json.h"

/* Both: a list of trusted plugins that does not count is a note on stderr. Without plugins nothing is shown. */
void mor_cli_list_trusted_show(struct mor_cli *cli);
/* "yams":[{"name","version","path","trusted","why"}] into an open object. */
void mor_cli_list_trusted_json(struct mor_cli *cli, struct mor_writer *w);

#endif
