/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two names that are one to the file system. Some directories do not tell upper from lower case (ext4, f2fs and
 * tmpfs with casefold, FAT, NTFS, SMB), and some ignore characters that nobody sees. There ".GIT" is ".git".
 */
#ifndef MOR_JAIL_FOLD_H
#define MOR_JAIL_FOLD_H

#include <stdbool.h>
#include <stddef.h>

/* Could a directory that folds names take `name` for `plain`? Letters outside ASCII: in doubt, yes. */
bool mor_fold_alike(const char *name, size_t len, const char *plain, size_t plain_len);
/* Does the directory (the first `len` bytes of `path`) fold names? If we cannot tell, it does. */
bool mor_fold_in(const char *path, size_t len);

#endif
