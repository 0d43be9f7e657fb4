/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The telling line: of the last lines on a program's stderr, the one that says why it failed. It is seldom the
 * last. Runtimes print the error first and stack frames, notes and their version after it.
 *
 * Pure: bytes in, bytes out. The patterns are two tables in telling.c:
 *
 *	filler     says nothing by itself: stack frames (indented), "}", "Node.js v20.1.0", "exit status 2", …
 *	error      names an error: "ValueError: …" (Python), "TypeError: …" (Node), "Caused by: …" (Java),
 *	           "…: … (NameError)" (Ruby), "panic: …" (Go), "thread 'main' panicked at …" (Rust),
 *	           "SUMMARY: AddressSanitizer: …", "terminate called …" (C++)
 *
 * The last error line wins over what follows it, unless that complains itself. An error line that stands before
 * more than MOR_TELLING_BACK other lines is an old story, except where a runtime's dump follows it. Without an
 * error line: the last line that is not filler; if all are filler, the last line.
 */
#ifndef MOR_PROC_TELLING_H
#define MOR_PROC_TELLING_H

#include <stddef.h>

#define MOR_TELLING_BACK 8

/* `lines`: each ended by a NUL, oldest first, `len` bytes in all. Writes the line, joined with the next one
 * where the message is there, and cut where it does not fit. Returns out; "" without lines. */
const char *mor_telling(const char *lines, size_t len, char *out, size_t out_size);

#endif
