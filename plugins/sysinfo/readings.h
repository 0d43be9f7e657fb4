/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says about this machine. Everything is read below a root directory, "" for the real one. */
#ifndef SYSINFO_READINGS_H
#define SYSINFO_READINGS_H

#include <stddef.h>
#include <stdint.h>

struct cpu_times { /* of all processors together, in ticks since the start */
	uint64_t busy, total;
};

/* Each returns 0, or -1 if the kernel does not say it. */
int read_cpu(const char *root, struct cpu_times *ret);
int read_memory(const char *root, uint64_t *ret_used_mib, uint64_t *ret_total_mib);
int read_load(const char *root, double ret[3]);

struct temperature {
	char name[64];
	double celsius;
};

/* At most `most` sensors; how many there are. */
size_t read_temperatures(const char *root, struct temperature *ret, size_t most);

/* Percent between two readings; 0 if no time has passed. */
double cpu_percent(const struct cpu_times *before, const struct cpu_times *after);

#endif
