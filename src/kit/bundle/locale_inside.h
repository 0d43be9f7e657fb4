/* SPDX-License-Identifier: Apache-2.0 */
/* libarchive converts names to the charset of the thread's locale: while it works, that is UTF-8. */
#ifndef MOR_BUNDLE_LOCALE_INSIDE_H
#define MOR_BUNDLE_LOCALE_INSIDE_H

#include <locale.h>

struct mor_locale {
	locale_t now, before;
};

static inline struct mor_locale mor_locale_begin(void)
{
	struct mor_locale locale = { .now = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) };

	if (locale.now)
		locale.before = uselocale(locale.now);
	return locale;
}

static inline void mor_locale_fini(struct mor_locale *locale)
{
	if (!locale->now)
		return;
	uselocale(locale->before);
	freelocale(locale->now);
}

#endif
