/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semantic Versioning 2.0.0, strictly: MAJOR.MINOR.PATCH, then "-" and what leads to that version, then "+" and
 * the build. The store accepts any version; a registry does not, because it has to say which one is newer.
 * Versions are compared by mor_store_compare_versions().
 *
 * Ranges, with "," for "and":
 *
 *	1.2.3  =1.2.3   this one                1, 1.2          any 1.x.y, any 1.2.y
 *	^1.2.3          1.2.3 and later, as long as the first number that is not 0 stays
 *	~1.2.3          1.2.3 and later 1.2.y   ~1              any 1.x.y
 *	>=1.2  >1.2     1.2.0 and later; 1.3.0 and later
 *	<1.2   <=1.2    before 1.2.0; before 1.3.0
 *	*               any
 *
 * A version such as 2.0.0-rc.1 fits only a range that names one of the same 2.0.0: ">=2.0.0-rc.1".
 */
#ifndef MOR_STORE_SEMVER_H
#define MOR_STORE_SEMVER_H

#include "store/store.h"

bool mor_semver_valid(const char *version);

enum mor_semver_order {
	MOR_SEMVER_BELOW,
	MOR_SEMVER_UP_TO,
	MOR_SEMVER_EXACT,
	MOR_SEMVER_AT_LEAST,
	MOR_SEMVER_ABOVE
};

struct mor_semver_bound {
	enum mor_semver_order order;
	char version[MOR_STORE_VERSION_MAX + 8];
};

#define MOR_SEMVER_BOUNDS 16
struct mor_semver_range {
	struct mor_semver_bound bounds[MOR_SEMVER_BOUNDS]; /* all of them */
	size_t count;                                      /* 0: any */
};

/* NULL: any. MORTISE_EINVAL says what a range looks like. */
int mor_semver_range_parse(const char *text, struct mor_semver_range *ret, mortise_error *err);
bool mor_semver_range_fits(const struct mor_semver_range *range, const char *version);

#endif
