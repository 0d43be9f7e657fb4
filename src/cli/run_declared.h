/* Plugins by name: those that the workspace declares, in plugins[] of its sunscreen.yml. */
#ifndef MOR_CLI_RUN_DECLARED_H
#define MOR_CLI_RUN_DECLARED_H

#include "cli/run.h"

/* Fills run->plugins: one path for each of the words, or for --hook without words all that the workspace declares. A word
 * that names a file is that file; another one is a source of plugins[], a manifest's name or the last part of a source.
 * MORTISE_EMANIFEST, MORTISE_EINPUT (it means several), MORTISE_ENOTFOUND. */
int mor_declared_find(struct mor_run *run, mortise_error *err);
void mor_declared_free(struct mor_run *run);

#endif
