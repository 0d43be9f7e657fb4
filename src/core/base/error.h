/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a mortise_error, and the table behind the status numbers. */
#ifndef MOR_BASE_ERROR_H
#define MOR_BASE_ERROR_H

#include <stdbool.h>

#include <mortise/mortise.h>

/* Sets err (NULL is fine) and returns code, so that `return mor_fail(err, MORTISE_E..., "...")` is one step.
 * The text is cut at a UTF-8 boundary and newlines become spaces: it is always one line. */
int mor_fail(mortise_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same; keeps errno's number in os_errno and appends its text: "open x: No such file". */
int mor_fail_errno(mortise_error *err, int code, int os_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* MORTISE_ENOMEM with the text of its row, "out of memory"; _of puts "what: " before it. */
int mor_fail_memory(mortise_error *err);
int mor_fail_memory_of(mortise_error *err, const char *what);
/* Puts "prefix: " before the present text. Returns err->code. With err NULL it does nothing and returns
 * MORTISE_ESYSTEM: keep the status you have. */
int mor_fail_prefix(mortise_error *err, const char *prefix);
/* Is it a temporary lack of descriptors, processes or memory? */
bool mor_errno_is_lack(int os_errno);
bool mor_error_is_lack(const mortise_error *err);

/* All of them return a number below 0, which the static analyzer cannot see from here. */
#if defined(__clang_analyzer__) && !defined(MOR_ERROR_HOME)
#define mor_fail(...)           (mor_fail(__VA_ARGS__), -1)
#define mor_fail_errno(...)     (mor_fail_errno(__VA_ARGS__), -1)
#define mor_fail_memory(err)    (mor_fail_memory(err), -1)
#define mor_fail_memory_of(...) (mor_fail_memory_of(__VA_ARGS__), -1)
#endif

#endif
