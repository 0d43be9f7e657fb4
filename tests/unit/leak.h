/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every unit test runs between a set-up and a teardown that compare our open descriptors and our child
 * processes: a test that leaves one behind fails. Use MOR_TEST(fn) in the group's table, and
 * mor_run_group() instead of cmocka_run_group_tests(): it prints TAP.
 */
#ifndef TESTS_UNIT_LEAK_H
#define TESTS_UNIT_LEAK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int leak_setup(void **state);
int leak_teardown(void **state);

/* _exit() for a child of a test; in a coverage build what it has run is counted first. */
_Noreturn void leak_exit(int status);

/* Runs `fn` in a fork, so that what it does to the process stays there. Inside, asserts end it with abort(). */
void leak_in_fork(void (*fn)(void));

/* Ends the test: it cannot run on this machine, and why, in a few words that do not begin with a capital. */
_Noreturn void leak_skip(const char *why);

/* Before the first test: prints TAP, in which what leak_skip() has ended is skipped, with its reason. */
void leak_print_tap(void);

#define MOR_TEST(fn)               cmocka_unit_test_setup_teardown(fn, leak_setup, leak_teardown)
#define mor_run_group(name, tests) mor_run_group_in(name, tests, NULL, NULL)
#define mor_run_group_in(name, tests, setup, teardown) \
	(leak_print_tap(), cmocka_run_group_tests_name(name, tests, setup, teardown))

#endif
