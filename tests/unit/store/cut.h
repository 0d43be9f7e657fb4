/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker puts these in the place of the calls that change files (--wrap). Before the n-th of them the
 * process ends as if it were killed, or the call fails as on a full disk.
 */
#ifndef TESTS_UNIT_STORE_CUT_H
#define TESTS_UNIT_STORE_CUT_H

/* `error` 0: the process ends before the n-th call (0: the first); else the n-th call and all later ones that
 * need room fail with it. Negative n: nothing happens. */
void cut_at(long n, int error);
long cut_count(void); /* calls so far */

#define CUT_STATUS 97 /* of a process that was ended */

#endif
