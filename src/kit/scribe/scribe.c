/* SPDX-License-Identifier: Apache-2.0 */
#include "scribe/scribe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "talk/talk.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define NO_HEAD_MAX ((size_t)64 << 10) /* lines that wait for the first message */
#define ERR_LINE    4096               /* a longer line of stderr is written in pieces */
#define KEEP_MEMORY ((size_t)1 << 20)

/* ---- the file ---- */

char *mor_scribe_path(const char *path)
{
	const char *mark = strstr(path, "%p");

	return mark ? mor_text_format("%.*s%d%s", (int)(mark - path), path, (int)getpid(), mark + 2) :
		      mor_strdup(path);
}

int mor_scribe_create(const char *path, bool force, const char *hint, mortise_error *err)
{
	int fd;

	if (force && unlink(path) < 0 && errno != ENOENT)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "%s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fchmod(fd, 0600) == 0)
		return fd;
	if (fd < 0 && errno == EEXIST)
		return mor_fail(err, MORTISE_EINPUT, "%s is there already; %s", path, hint);
	mor_fail_errno(err, MORTISE_EINPUT, errno, "%s", path);
	mor_fd_close(&fd);
	return err ? err->code : MORTISE_EINPUT;
}

static void give_up(struct mor_scribe *scribe, int error)
{
	scribe->failed = error;
	mor_fd_close(&scribe->fd);
}

/* Since the first line. */
static int64_t scribe_ms(struct mor_scribe *scribe)
{
	int64_t now = mor_clock_ns();

	if (!scribe->begun_ns)
		scribe->begun_ns = now;
	return (now - scribe->begun_ns) / 1000000;
}

/* The first line comes first, although it is known last. */
static void begin_file(struct mor_scribe *scribe, const char *dialect)
{
	struct mor_buf whole = MOR_BUF_INIT;

	mor_buf_printf(&whole, "talk 1 %s", dialect);
	if (scribe->framing >= 0)
		mor_buf_printf(&whole, " framing=%s", mor_framing_name((enum mor_framing)scribe->framing));
	mor_buf_printf(&whole, "\n# recorded by mortise %s\n", mortise_version());
	mor_buf_slice(&whole, mor_buf_view(&scribe->text));
	mor_buf_fini(&scribe->text);
	scribe->text = whole;
	scribe->begun = true;
}

void mor_scribe_flush(struct mor_scribe *scribe)
{
	int r = 0;

	if (!scribe->begun && scribe->text.len > NO_HEAD_MAX)
		begin_file(scribe, scribe->dialect[0] ? scribe->dialect : "plain");
	if (scribe->fd < 0 || !scribe->begun || (!scribe->text.len && !scribe->text.status))
		return;
	if (scribe->text.status)
		r = -ENOMEM;
	else
		r = mor_fd_write_all(scribe->fd, scribe->text.data, scribe->text.len);
	if (r < 0)
		give_up(scribe, -r);
	mor_buf_reset(&scribe->text, KEEP_MEMORY);
	scribe->flushed_ms = scribe_ms(scribe);
}

int mor_scribe_turn(struct mor_scribe *scribe)
{
	if (!scribe->text.len || scribe->fd < 0)
		return -1;
	if (scribe->text.len < MOR_SCRIBE_FULL && scribe_ms(scribe) == scribe->flushed_ms)
		return 1;
	mor_scribe_flush(scribe);
	return -1;
}

/* ---- lines ---- */

/* The sum of all waits is the time since the first line: what is rounded off now is told later. */
static void tell_time(struct mor_scribe *scribe)
{
	int64_t ms = scribe_ms(scribe);

	if (ms > scribe->told_ms)
		mor_buf_printf(&scribe->text, "~ %lldms\n", (long long)(ms - scribe->told_ms));
	scribe->told_ms = ms;
}

static void write_raw(struct mor_scribe *scribe, bool to_plugin, struct mor_slice bytes)
{
	mor_buf_reset(&scribe->work, KEEP_MEMORY);
	mor_secrets_text(&scribe->secrets, bytes, &scribe->work);
	mor_talk_write(&scribe->text, to_plugin ? MOR_TALK_SEND_RAW : MOR_TALK_RECEIVE_RAW,
		       mor_buf_view(&scribe->work));
}

/* What a pattern can say: JSON, and no string that looks like one of its own marks. */
static bool is_pattern(struct mor_slice body)
{
	static const char mark[] = "\"\\u0001";

	return mor_json_valid(body, MOR_ENV_NAN, MOR_JSON_DEPTH_MAX, NULL) &&
	       !(memchr(body.ptr, '\\', body.len) && memmem(body.ptr, body.len, mark, sizeof(mark) - 1));
}

static void write_message(struct mor_scribe *scribe, bool to_plugin, struct mor_slice body)
{
	mor_buf_text(&scribe->text, to_plugin ? "> " : "< ");
	mor_secrets_json(&scribe->secrets, mor_slice_trim(body, " \t\r\n"), &scribe->text);
	mor_buf_byte(&scribe->text, '\n');
}

static void write_left_out(struct mor_scribe *scribe, bool to_plugin, uint64_t size)
{
	char text[32];

	if (size)
		mor_buf_printf(&scribe->text, "# left out: a message of %s\n", mor_format_bytes(size, text));
	else
		mor_buf_text(&scribe->text, "# left out: a message that is too long\n");
	mor_buf_text(&scribe->text, to_plugin ? "> ...\n" : "< ...\n");
}

/* ---- what passes ---- */

static void learn(struct mor_scribe *scribe, struct mor_scribe_side *side, struct mor_slice body)
{
	side->messages++;
	if (scribe->begun)
		return;
	if (scribe->framing < 0)
		scribe->framing = (int)side->cutter.deframer.framing;
	if (!scribe->dialect[0])
		snprintf(scribe->dialect, sizeof(scribe->dialect), "%s",
			 mor_scribe_guess((enum mor_framing)scribe->framing, side->to_plugin, body));
	begin_file(scribe, scribe->dialect);
}

/* The rest of a line of noise that is too long to be kept. */
static void tell_skipped(struct mor_scribe *scribe, struct mor_scribe_side *side)
{
	char text[32];

	if (side->left_out)
		mor_buf_printf(&scribe->text, "# left out: %s more\n", mor_format_bytes(side->left_out, text));
	side->left_out = 0;
}

static void take_item(void *arg, enum mor_item_kind kind, struct mor_slice whole, const struct mor_item *item)
{
	struct mor_scribe_side *side = arg;
	struct mor_scribe *scribe = side->scribe;

	if (kind == MOR_ITEM_SKIP) {
		side->left_out += whole.len;
		return;
	}
	tell_skipped(scribe, side);
	if (kind == MOR_ITEM_BLANK)
		return;
	tell_time(scribe);
	if (kind == MOR_ITEM_TOO_BIG) {
		write_left_out(scribe, side->to_plugin, item->size);
		return;
	}
	if (kind == MOR_ITEM_FRAME)
		learn(scribe, side, item->body);
	if (kind == MOR_ITEM_FRAME && is_pattern(item->body))
		write_message(scribe, side->to_plugin, item->body);
	else
		write_raw(scribe, side->to_plugin, whole);
}

void mor_scribe_bytes(struct mor_scribe *scribe, bool to_plugin, struct mor_slice bytes)
{
	struct mor_scribe_side *side = &scribe->side[!to_plugin];

	if (scribe->fd < 0)
		return;
	if (mor_cutter_feed(&side->cutter, bytes, !bytes.ptr, take_item, side) < 0) {
		give_up(scribe, ENOMEM);
		return;
	}
	if (bytes.ptr)
		return;
	tell_skipped(scribe, side);
	tell_time(scribe);
	mor_talk_write(&scribe->text, to_plugin ? MOR_TALK_SEND_END : MOR_TALK_RECEIVE_END, bytes);
}

void mor_scribe_message(struct mor_scribe *scribe, bool to_plugin, struct mor_slice body)
{
	struct mor_scribe_side *side = &scribe->side[!to_plugin];

	if (scribe->fd < 0)
		return;
	tell_time(scribe);
	learn(scribe, side, body);
	if (body.len > side->cutter.deframer.limit)
		write_left_out(scribe, to_plugin, body.len);
	else if (is_pattern(body))
		write_message(scribe, to_plugin, body);
	else
		write_raw(scribe, to_plugin, body);
}

/* ---- stderr ---- */

static void write_err(struct mor_scribe *scribe, struct mor_slice line)
{
	char text[4 * ERR_LINE + 8];

	tell_time(scribe);
	mor_buf_reset(&scribe->work, KEEP_MEMORY);
	mor_secrets_text(&scribe->secrets, line, &scribe->work);
	mor_printable(mor_buf_view(&scribe->work), text, sizeof(text));
	mor_talk_write(&scribe->text, MOR_TALK_STDERR, mor_slice_of(text));
}

void mor_scribe_stderr(struct mor_scribe *scribe, struct mor_slice bytes)
{
	if (scribe->fd < 0)
		return;
	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.ptr[i] != '\n')
			mor_buf_byte(&scribe->err, bytes.ptr[i]);
		if (bytes.ptr[i] == '\n' || scribe->err.len == ERR_LINE) {
			write_err(scribe, mor_slice_trim(mor_buf_view(&scribe->err), "\r"));
			mor_buf_reset(&scribe->err, SIZE_MAX);
		}
	}
	if (!bytes.ptr && scribe->err.len)
		write_err(scribe, mor_buf_view(&scribe->err));
	if (!bytes.ptr)
		mor_buf_reset(&scribe->err, SIZE_MAX);
}

/* ---- comments, signals and the end ---- */

void mor_scribe_comment(struct mor_scribe *scribe, const char *what, const char *text)
{
	char shown[1000];

	if (scribe->fd < 0)
		return;
	mor_buf_reset(&scribe->work, KEEP_MEMORY);
	mor_secrets_text(&scribe->secrets, mor_slice_of(text), &scribe->work);
	mor_buf_printf(&scribe->text, "# %s: %s\n", what,
		       mor_printable(mor_buf_view(&scribe->work), shown, sizeof(shown)));
}

void mor_scribe_signal(struct mor_scribe *scribe, int number)
{
	const char *name = sigabbrev_np(number);

	tell_time(scribe);
	if (name)
		mor_talk_write(&scribe->text, MOR_TALK_SIGNAL, mor_slice_of(name));
}

void mor_scribe_exit(struct mor_scribe *scribe, int status)
{
	const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
	char text[40];

	if (name)
		snprintf(text, sizeof(text), "signal %s", name);
	else
		snprintf(text, sizeof(text), "%s %d", WIFSIGNALED(status) ? "signal" : "exit",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	tell_time(scribe);
	mor_talk_write(&scribe->text, MOR_TALK_EXIT, mor_slice_of(text));
}

/* ---- life ---- */

void mor_scribe_open(struct mor_scribe *scribe, int fd, const struct mor_scribe_options *opt)
{
	size_t limit = opt->limit ? (size_t)opt->limit : (size_t)MOR_SCRIBE_LIMIT;

	*scribe = (struct mor_scribe){ .fd = fd, .framing = opt->framing, .flushed_ms = -1 };
	scribe->secrets.more = opt->secrets;
	scribe->secrets.keep = opt->keep;
	if (opt->dialect)
		mor_text_keep(scribe->dialect, sizeof(scribe->dialect), opt->dialect, strlen(opt->dialect));
	for (int i = 0; i < 2; i++) {
		scribe->side[i].scribe = scribe;
		scribe->side[i].to_plugin = i == 0;
		mor_cutter_init(&scribe->side[i].cutter, opt->framing, limit);
		scribe->side[i].cutter.other = &scribe->side[!i].cutter;
	}
}

void mor_scribe_close(struct mor_scribe *scribe)
{
	if (!scribe->begun)
		begin_file(scribe, scribe->dialect[0] ? scribe->dialect : "plain");
	mor_scribe_flush(scribe);
	mor_fd_close(&scribe->fd);
	mor_buf_fini(&scribe->text);
	mor_buf_fini(&scribe->work);
	mor_buf_fini(&scribe->err);
	mor_secrets_fini(&scribe->secrets);
	mor_cutter_fini(&scribe->side[0].cutter);
	mor_cutter_fini(&scribe->side[1].cutter);
}
