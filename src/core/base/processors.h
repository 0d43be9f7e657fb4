/* SPDX-License-Identifier: Apache-2.0 */
/* The number of processors. */
#ifndef MOR_BASE_PROCESSORS_H
#define MOR_BASE_PROCESSORS_H

#include <stdint.h>

uint32_t mor_processors(void); /* at least 1 */

#endif
