/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in a film: subtitles (.srt) without their numbers and times. */
#include <ctype.h>
#include <string.h>
#include <tenon/tenon.h>

static int extract(tenon_call *call)
{
	size_t len;
	const char *line = tenon_source(call, 16 << 20, &len);

	for (; line && *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		if (!isdigit((unsigned char)*line))
			tenon_stream(call, "%.*s\n", (int)len, line);
	}
	return tenon_reply_text(call, "%s", "");
}

int main(void)
{
	return tenon_run(&(tenon_plugin){ "subtitles", "1.0.0", .extract = extract, .extensions = ".srt" });
}
