/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of an archive says: greeter-1.0.tar.gz is an archive, of greeter. */
#ifndef MOR_BUNDLE_STEM_H
#define MOR_BUNDLE_STEM_H

#include <stdbool.h>

bool mor_bundle_is_archive(const char *name); /* by its end: .tar.zst and so on */
/* Cuts the end, and "-" and a version, from the last part of a path. */
void mor_bundle_stem(char *path);
/* "greeter-1.0.0" -> "greeter": this version (or NULL), else what looks like one. */
void mor_bundle_cut_version(char *name, const char *version);

#endif
