/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sum.h"

int main(void)
{
	printf("sum %d\n", sum(20, 22));
	return 0;
}
