/* SPDX-License-Identifier: Apache-2.0 */
/* mortise extract: extract.c is the command, extract_farm.c lets a farm do it. */
#ifndef MOR_CLI_EXTRACT_H
#define MOR_CLI_EXTRACT_H

#include "cli/farm_args.h"
#include "extract/extract.h"

/* Instead of mor_extract_run(). */
int mor_extract_farm(struct mor_console *console, const struct mor_extract_args *want,
		     const struct mor_farm_args *args);

#endif
