/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by doing.c (processes) and doing_call.c (what one thread waits for). */
#ifndef MOR_PROC_DOING_INSIDE_H
#define MOR_PROC_DOING_INSIDE_H

#include <stddef.h>

#include "proc/doing.h"

/* A small file below /proc, cut at the size, NUL-terminated. false: it cannot be read. */
bool mor_doing_read(const char *path, char *out, size_t size);
/* What a thread that sleeps in the kernel waits for: fills what, fd and target. */
void mor_doing_call(int pid, int tid, struct mor_doing *ret);
/* The same from the name of the kernel's function (wchan), where the call may not be read. */
void mor_doing_place(const char *place, struct mor_doing *ret);

#endif
