/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzz target needs: the entry point, and a check that stays on in release builds. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* A new directory for a target that needs files: in memory where there is such a place, because a disk is what
 * makes such targets slow. The caller removes it, and the next run of the tests what is left of one that was
 * killed. */
static inline char *fuzz_dir(char path[64])
{
	snprintf(path, 64, "%s/mt-%d-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		 (int)getpid());
	CHECK(mkdtemp(path));
	return path;
}

#endif
