/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest plugin: says one byte, then waits for the end of its input. Static, so that its own
 * start is short. */
#include <unistd.h>

int main(void)
{
	char byte = 'x';

	if (write(1, &byte, 1) != 1)
		return 1;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
