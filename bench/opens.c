/* SPDX-License-Identifier: Apache-2.0 */
/* opens FILE COUNT: the median time of opening and closing FILE, in nanoseconds, as {"p50_ns": ...}. Run bare
 * and in the jail, where each open is a question to the broker. */
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"

int main(int argc, char **argv)
{
	size_t count = argc == 3 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
	int64_t *ns = malloc((count + 1) * sizeof(*ns));

	if (!count || !ns)
		return 2;
	for (size_t i = 0; i < count; i++) {
		int64_t begin = bench_now();
		int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return 1;
		ns[i] = bench_now() - begin;
		close(fd);
	}
	bench_print_times(ns, count);
	free(ns);
	return 0;
}
