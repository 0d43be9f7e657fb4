/* SPDX-License-Identifier: Apache-2.0 */
/* See confirm.h. */
#include "console/confirm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

bool mor_console_confirm(const char *question)
{
	char line[64];
	ssize_t n;

	fprintf(stderr, "%s", question);
	fflush(stderr);
	n = read(STDIN_FILENO, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (n <= 0)
		fputc('\n', stderr); /* the user did not end this line */
	return mor_text_in(mor_slice_of(line), "y|Y|yes|Yes|YES");
}
