/* SPDX-License-Identifier: Apache-2.0 */
/* The page that `mortise info` prints, from what mortise_plugin_describe() says. */
#ifndef MOR_CLI_INFO_H
#define MOR_CLI_INFO_H

#include <stdint.h>

#include "cli/cli.h"
#include "wire/json.h"

/* The result of our own health question. */
struct mor_info_health {
	int64_t time_ms;
	char *result;      /* JSON, or NULL: not asked or failed */
	const char *error; /* why it failed, or NULL             */
	int healthy;       /* by the dialect's health words; -1: unknown */
	char status[64];   /* the plugin's word, or ""           */
};

void mor_info_page(struct mor_cli *cli, const struct mor_value *describe, const struct mor_info_health *health);

#endif
