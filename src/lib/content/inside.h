/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of src/lib/content alone. */
#ifndef MOR_CONTENT_INSIDE_H
#define MOR_CONTENT_INSIDE_H

#include <sys/stat.h>

#include "content/content.h"

struct mor_content_identity mor_content_identity_stat(const struct stat *st);
/* Like mor_content_add(), but takes path and target, also on failure. */
int mor_content_add_take(struct mor_content *content, struct mor_content_file *file, mortise_error *err);

#endif
