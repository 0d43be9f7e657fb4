/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks an archive that may be hostile: tar, tar.gz, tar.zst or zip, known by its bytes and not by its name.
 *
 * What comes out is a tree of files (0644 or 0755), directories (0755) and links that stay inside. Owners,
 * times, setuid bits, attributes and lists of access rights are not taken over. Anything else in the archive is
 * a reason to refuse all of it: names that mor_content_name_check() refuses, names that collide
 * (src/lib/content/nameset.h), devices, pipes, sparse or encrypted files, hard links and links that lead out,
 * sizes that are not true, and more than the limits, which count what is written and not what the archive says.
 *
 * One directory at the top that holds everything ("greeter-1.0/…") is left out.
 */
#ifndef MOR_BUNDLE_UNPACK_H
#define MOR_BUNDLE_UNPACK_H

#include <stdint.h>

#include <mortise/mortise.h>

#define MOR_BUNDLE_TOP 256 /* room for the name of a directory */

struct mor_bundle_limits {
	uint64_t bytes; /* of all files together                                                             */
	uint32_t files; /* and links; of entries, directories among them, three times that                   */
	uint32_t ratio; /* what is written, by the archive's size; counts from 16 MiB on, where it can hurt  */
};
/* 512 MiB, 20,000 files, 250 to 1: docs/design/0008-store.md */
extern const struct mor_bundle_limits mor_bundle_default_limits;

/* `archive_fd` is a file to read, from its beginning. `into_dirfd` is an empty directory that nobody else
 * writes to; after a failure it is empty again. `limits` may be NULL. MORTISE_EINPUT: refused, with one line
 * that names the entry; put the archive's name before it (mor_fail_prefix()). MORTISE_ESYSTEM: it cannot be
 * written (a full disk), MORTISE_ENOMEM. `ret_top`, if not NULL: the directory that was left out, or "". */
int mor_bundle_unpack(int archive_fd, int into_dirfd, const struct mor_bundle_limits *limits,
		      char ret_top[MOR_BUNDLE_TOP], mortise_error *err);

#endif
