/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two files for G-Assist's format. */
#ifndef MOR_MANIFEST_GASSIST_H
#define MOR_MANIFEST_GASSIST_H

#include "manifest/internal.h"

/* PROGRAMDATA: the plugin's own directory below our state. Otherwise its files would go into its cwd. */
int mor_gassist_program_data(struct mor_load *load, const char *name);
int mor_gassist_launch(struct mor_load *load);
/* PYTHONPATH for libs/, if Python runs the plugin. */
int mor_gassist_finish(struct mor_load *load);

#endif
