/* SPDX-License-Identifier: Apache-2.0 */
#include "sum.h"

int sum(int a, int b)
{
	return a + b;
}
