/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/tier.h"

static char said[700];

bool sweep_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!said[0])
		vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	return false;
}

static unsigned number_from(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static bool is_clean(const struct sweep *sweep, unsigned kind, unsigned n, bool on)
{
	said[0] = '\0';
	sweep->run(sweep->arg, kind, n, on);
	return !said[0];
}

static bool try_way(const struct sweep *sweep, unsigned kind, unsigned total, bool on, unsigned *number)
{
	static unsigned seed;
	unsigned least = tier_rounds(3, 1);
	unsigned most = sweep->most ? (total + sweep->most - 1) / sweep->most : 1;
	unsigned otherwise = most > least ? most : least;
	unsigned stride = number_from("MORTISE_INJECT_STRIDE", otherwise), tried = 0, bad = 0;
	char first[800] = "";

	if (!seed) /* the same each time: who wants others says so */
		seed = number_from("MORTISE_INJECT_SEED", 1);
	for (unsigned n = 1 + seed % (total < stride ? total : stride); n <= total; n += stride, tried++) {
		if (is_clean(sweep, kind, n, on))
			continue;
		if (!bad++)
			snprintf(first, sizeof(first), "n=%u of %u: %s", n, total, said);
	}
	printf("%sok %u - %s: %s %s, %u of %u\n", bad ? "not " : "", ++*number, sweep->name, sweep->names[kind],
	       on ? "from then on" : "once", tried, total);
	if (bad)
		printf("# %u failed; %s\n", bad, first);
	fflush(stdout);
	return !bad;
}

bool sweep_all(const struct sweep *sweep, const char *only, unsigned *number)
{
	bool good = true;

	/* Twice: what libraries allocate for good, they do the first time. */
	for (int i = 0; i < 2; i++)
		if (!is_clean(sweep, 0, 0, false) && i) {
			printf("not ok %u - %s: nothing fails\n# %s\n", ++*number, sweep->name, said);
			return false;
		}
	for (unsigned kind = 0; kind < sweep->kinds; kind++) {
		unsigned total;

		if (only && strcmp(only, sweep->names[kind]) != 0)
			continue;
		total = sweep->count(kind);
		if (!total)
			continue;
		good = try_way(sweep, kind, total, false, number) && good;
		if (sweep->goes_on(kind))
			good = try_way(sweep, kind, total, true, number) && good;
		is_clean(sweep, kind, 0, false); /* counts once more */
	}
	return good;
}
