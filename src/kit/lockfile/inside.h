/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of src/kit/lockfile alone. */
#ifndef MOR_LOCKFILE_INSIDE_H
#define MOR_LOCKFILE_INSIDE_H

#include "lockfile/lockfile.h"

#define MOR_LOCKFILE_BYTES (4ul * 1024 * 1024)

/* As they are written in a lock. */
void mor_lockfile_write_permissions(struct mor_writer *w, const struct mor_value *permissions);
void mor_lockfile_write_interface(struct mor_writer *w, const struct mor_lockfile_facts *facts);

#endif
