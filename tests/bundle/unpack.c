/* SPDX-License-Identifier: Apache-2.0 */
/* unpack ARCHIVE DIRECTORY [BYTES FILES RATIO]: the function, as tests/bundle/test_unpack.py calls it. Prints
 * the error's kind and text. */
#include "bundle/unpack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct mor_bundle_limits limits = mor_bundle_default_limits;
	mortise_error err = { 0 };
	int archive = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int into = argc > 2 ? open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (archive < 0 || into < 0)
		return 2;
	if (argc > 5)
		limits = (struct mor_bundle_limits){ strtoull(argv[3], NULL, 10),
						     (uint32_t)strtoul(argv[4], NULL, 10),
						     (uint32_t)strtoul(argv[5], NULL, 10) };
	if (mor_bundle_unpack(archive, into, &limits, NULL, &err) == 0)
		return 0;
	printf("%s: %s\n", mortise_status_kind(err.code), err.text);
	return 1;
}
