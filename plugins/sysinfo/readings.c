/* SPDX-License-Identifier: Apache-2.0 */
#include "readings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static FILE *open_below(const char *root, const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	return fopen(whole, "re");
}

/* user nice system idle iowait irq softirq steal; what guests use is in user already. */
int read_cpu(const char *root, struct cpu_times *ret)
{
	FILE *file = open_below(root, "/proc/stat");
	uint64_t t[8] = { 0 };
	int n;

	if (!file)
		return -1;
	n = fscanf(file,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
	fclose(file);
	if (n < 4)
		return -1;
	*ret = (struct cpu_times){ 0 };
	for (int i = 0; i < 8; i++) {
		ret->total += t[i];
		if (i != 3 && i != 4)
			ret->busy += t[i];
	}
	return 0;
}

double cpu_percent(const struct cpu_times *before, const struct cpu_times *after)
{
	uint64_t total = after->total - before->total;

	return total ? 100.0 * (double)(after->busy - before->busy) / (double)total : 0;
}

int read_memory(const char *root, uint64_t *ret_used_mib, uint64_t *ret_total_mib)
{
	FILE *file = open_below(root, "/proc/meminfo");
	uint64_t total = 0, available = 0, number;
	char line[128];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemTotal: %" SCNu64, &number) == 1)
			total = number;
		if (sscanf(line, "MemAvailable: %" SCNu64, &number) == 1)
			available = number;
	}
	fclose(file);
	if (total == 0 || available > total)
		return -1;
	*ret_used_mib = (total - available) / 1024;
	*ret_total_mib = total / 1024;
	return 0;
}

int read_load(const char *root, double ret[3])
{
	FILE *file = open_below(root, "/proc/loadavg");
	int n;

	if (!file)
		return -1;
	n = fscanf(file, "%lf %lf %lf", &ret[0], &ret[1], &ret[2]);
	fclose(file);
	return n == 3 ? 0 : -1;
}

/* A line of a file; 0, or -1 if there is none. */
static int read_line(const char *root, const char *path, char *ret, size_t size)
{
	FILE *file = open_below(root, path);
	int r;

	if (!file)
		return -1;
	r = fgets(ret, (int)size, file) ? 0 : -1;
	fclose(file);
	if (r == 0)
		ret[strcspn(ret, "\n")] = '\0';
	return r;
}

size_t read_temperatures(const char *root, struct temperature *ret, size_t most)
{
	size_t count = 0;

	for (unsigned zone = 0; count < most; zone++) {
		char path[96], text[32];
		double milli;

		snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/type", zone);
		if (read_line(root, path, ret[count].name, sizeof(ret[count].name)) < 0)
			break;
		snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/temp", zone);
		if (read_line(root, path, text, sizeof(text)) < 0 || sscanf(text, "%lf", &milli) != 1)
			continue;
		ret[count++].celsius = milli / 1000;
	}
	return count;
}
