/* SPDX-License-Identifier: Apache-2.0 */
#include "base/processors.h"

#include <unistd.h>

uint32_t mor_processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (uint32_t)count : 1;
}
