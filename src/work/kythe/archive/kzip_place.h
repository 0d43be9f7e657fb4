/* SPDX-License-Identifier: Apache-2.0 */
/* The directories below the root of an archive, in the order in which they are written. */
#ifndef MOR_KYTHE_ARCHIVE_KZIP_PLACE_H
#define MOR_KYTHE_ARCHIVE_KZIP_PLACE_H

enum mor_kzip_place { MOR_KZIP_IN_FILES, MOR_KZIP_IN_PBUNITS, MOR_KZIP_IN_UNITS, MOR_KZIP_PLACES };
extern const char *const mor_kzip_places[MOR_KZIP_PLACES]; /* "files/" … */

#endif
