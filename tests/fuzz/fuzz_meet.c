/* SPDX-License-Identifier: Apache-2.0 */
/* The line with which a plugin says where it listens: a path that fits, or a reason. */
#include "fuzz.h"

#include <string.h>

#include "meet/meet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_meet_line line;
	mortise_error err = { 0 };
	int r = mor_meet_read_line((struct mor_slice){ (const char *)data, size }, &line, &err);

	CHECK(r == 0 || r == MORTISE_EPROTO || r == MORTISE_ETRANSPORT);
	CHECK(r == 0 ? line.path[0] && strlen(line.path) < MOR_MEET_PATH : err.code == r && err.text[0]);
	return 0;
}
