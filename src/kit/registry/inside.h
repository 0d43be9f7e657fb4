/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of src/kit/registry alone. */
#ifndef MOR_REGISTRY_INSIDE_H
#define MOR_REGISTRY_INSIDE_H

#include "base/buf.h"
#include "registry/registry.h"

/* As mor_registry_open(), also for a directory without an index: then its serial is 0. */
int mor_registry_open_any(const char *path, struct mor_registry *ret, mortise_error *err);
/* What is signed: `plugins` is the array of entries. 0 or MORTISE_ENOMEM. */
int mor_registry_statement(int64_t serial, const struct mor_value *plugins, struct mor_buf *out);
/* Sum and size of an open file. */
int mor_registry_sum(int fd, const char *shown, char ret_hex[MOR_DIGEST_SIZE], uint64_t *ret_size,
		     mortise_error *err);
/* MORTISE_EINPUT, or MORTISE_ENOTFOUND: why a file in the directory cannot be read. `error` is an errno. */
int mor_registry_fail_file(const char *dir, const char *file, int error, mortise_error *err);

#endif
