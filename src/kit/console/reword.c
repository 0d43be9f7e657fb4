/* SPDX-License-Identifier: Apache-2.0 */
#include "console/reword.h"

#include <string.h>

void mor_reword(const char *text, const struct mor_rewording *rows, size_t count, struct mor_buf *out)
{
	for (size_t i = 0; i < count; i++) {
		const char *begin = strstr(text, rows[i].begin),
			   *middle = begin ? begin + strlen(rows[i].begin) : NULL;
		const char *end = middle ? strstr(middle, rows[i].end) : NULL;

		if (!end)
			continue;
		mor_buf_printf(out, "%.*s%s%.*s%s", (int)(begin - text), text, rows[i].our_begin,
			       (int)(end - middle), middle, rows[i].our_end);
		text = end + strlen(rows[i].end);
	}
	mor_buf_text(out, text);
}
