/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of every kind fails in turn: the n-th one once, and the n-th and all after it, for every n. One
 * TAP line for each kind and way.
 *
 * MORTISE_INJECT_STRIDE=10 takes every tenth n only; 1: all. MORTISE_INJECT_SEED=7 begins at another one.
 */
#ifndef TESTS_FAULT_SWEEP_H
#define TESTS_FAULT_SWEEP_H

#include <stdbool.h>

struct sweep {
	const char *name; /* before every line */
	unsigned kinds;
	const char *const *names;         /* of them */
	unsigned (*count)(unsigned kind); /* calls of that kind in the last run */
	bool (*goes_on)(unsigned kind);   /* it may fail from then on, too */
	/* One run; n 0: nothing fails. What is wrong is said with sweep_fail(). */
	void (*run)(const void *arg, unsigned kind, unsigned n, bool on);
	const void *arg;
	/* so many n of a kind are tried, where nobody says otherwise; 0: all */
	unsigned most;
};

/* The first word counts. Returns false. */
bool sweep_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* All of it, or the kind `only`. `number`: of the last TAP line. */
bool sweep_all(const struct sweep *sweep, const char *only, unsigned *number);

#endif
