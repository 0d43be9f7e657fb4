/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two files of G-Assist's format. */
#ifndef MOR_MANIFEST_GASSIST_H
#define MOR_MANIFEST_GASSIST_H

#include "manifest/internal.h"

/* PROGRAMDATA: a directory of its own below our state, where its files go that would else litter its cwd. */
int mor_gassist_program_data(struct mor_load *load, const char *name);
int mor_gassist_launch(struct mor_load *load);
/* PYTHONPATH for libs/, where Python is what runs. */
int mor_gassist_finish(struct mor_load *load);

#endif
