/* SPDX-License-Identifier: Apache-2.0 */
/* Events from stdin, one per line. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/bot.h"

#define LINE_LIMIT ((size_t)16 << 20)
#define READ_SIZE  65536

/* The next whole line, without its newline. The last line may lack it. false: no whole line has come yet. */
static bool next_line(struct mor_bot_lines *in, struct mor_slice *ret)
{
	size_t rest = in->bytes.len - in->seen;
	const char *newline = rest ? memchr(in->bytes.data + in->seen, '\n', rest) : NULL;

	if (newline)
		*ret = (struct mor_slice){ in->bytes.data, (size_t)(newline - in->bytes.data) };
	else if (in->ended && in->bytes.len)
		*ret = mor_buf_view(&in->bytes);
	else
		in->seen = in->bytes.len;
	return newline || (in->ended && in->bytes.len);
}

static void drop_line(struct mor_bot_lines *in, size_t len)
{
	mor_buf_consume(&in->bytes, len < in->bytes.len ? len + 1 : len);
	in->seen = 0;
}

void mor_bot_lines_feed(struct mor_bot_run *run, struct mor_bot_lines *in)
{
	struct mor_slice line;

	while (!mor_bot_is_held(run) && next_line(in, &line)) {
		if (in->too_long)
			run->line++;
		else
			mor_bot_take(run, line);
		in->too_long = false;
		drop_line(in, line.len);
	}
	if (in->bytes.len <= LINE_LIMIT || in->seen < in->bytes.len)
		return;
	if (!in->too_long)
		mor_bot_tell(run, NULL, "input", run->line + 1, "longer than 16 MiB: skipped");
	in->too_long = true;
	drop_line(in, in->bytes.len);
}

void mor_bot_lines_read(struct mor_bot_run *run, struct mor_bot_lines *in)
{
	ssize_t got;

	if (mor_buf_reserve(&in->bytes, READ_SIZE) < 0) {
		mor_bot_tell(run, NULL, "internal", run->line + 1, "out of memory: reading has stopped");
		in->ended = true;
		return;
	}
	got = read(STDIN_FILENO, in->bytes.data + in->bytes.len, READ_SIZE);
	if (got > 0)
		in->bytes.len += (size_t)got;
	else if (got == 0 || (errno != EINTR && errno != EAGAIN))
		in->ended = true;
}
