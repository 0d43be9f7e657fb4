/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/lines.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/error.h"
#include "console/console.h"
#include "console/signals.h"

#define REMEMBERED 500 /* lines of history */

struct mor_converse_lines {
	struct mor_runner *runner;
	EditLine *edit; /* NULL: no terminal */
	History *history;
	char *prompt;       /* libedit asks for it many times */
	struct mor_buf buf; /* for a file: bytes read ahead; the line itself is at the front */
	size_t taken;       /* length of the line given out last */
	bool at_eof;
	bool prompting;             /* a prompt is on the screen */
	enum mor_converse_line why; /* why reading a character ended the line */
	mor_converse_complete_fn *complete;
	void *complete_arg;
};

/* ---- waiting ---- */

/* Waits until stdin has something. false: a signal came. The host's descriptor also becomes readable for
 * time limits. */
static bool wait_for_input(struct mor_converse_lines *l)
{
	mortise_host *host = l->runner->host;

	for (;;) {
		struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
					 { .fd = mortise_host_fd(host), .events = POLLIN } };

		if (mor_signals_count())
			return false;
		if (poll(fds, 2, -1) < 0)
			continue; /* EINTR: the signal count tells */
		if (fds[1].revents)
			mortise_host_dispatch(host);
		if (fds[0].revents)
			return true;
	}
}

static enum mor_converse_line after_signal(void)
{
	return mor_signals_take_interrupt() ? MOR_CONVERSE_LINE_INTERRUPT : MOR_CONVERSE_LINE_STOP;
}

/* ---- a terminal ---- */

static char *prompt_of(EditLine *edit)
{
	struct mor_converse_lines *l = NULL;

	el_get(edit, EL_CLIENTDATA, &l);
	return l->prompt ? l->prompt : "";
}

/* One character, made from its bytes. */
static int get_char(EditLine *edit, wchar_t *ret)
{
	mbstate_t state = { 0 };
	struct mor_converse_lines *l = NULL;
	char byte;

	el_get(edit, EL_CLIENTDATA, &l);
	for (;;) {
		ssize_t n;
		size_t used;

		if (!wait_for_input(l)) {
			l->why = after_signal();
			errno = EINTR;
			return -1;
		}
		n = read(STDIN_FILENO, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : 0;
		if (byte == '\0') /* the rest of a Ctrl-D that was typed early, before we had the terminal */
			byte = 'D' & 0x1f;
		used = mbrtowc(ret, &byte, 1, &state);
		if (used == (size_t)-2)
			continue;
		if (used == (size_t)-1)
			*ret = (unsigned char)byte; /* not UTF-8: a strange character is better than none */
		return 1;
	}
}

static int next_edited(struct mor_converse_lines *l, enum mor_converse_line *ret_kind, const char **ret_line)
{
	HistEvent event;
	const char *line;
	size_t len;
	int count = 0;

	l->why = MOR_CONVERSE_LINE_END;
	l->prompting = true;
	el_resize(l->edit);
	el_set(l->edit, EL_PREP_TERM, 1); /* before the prompt is shown, not after */
	line = el_gets(l->edit, &count);
	l->prompting = false;
	if (!line || count <= 0) {
		mor_out_text(l->runner->console, "\n");
		mor_out_flush(l->runner->console);
		*ret_kind = l->why;
		return 0;
	}
	len = (size_t)count;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	mor_buf_reset(&l->buf, MOR_CONVERSE_LINE_LIMIT);
	mor_buf_append(&l->buf, line, len);
	mor_buf_byte(&l->buf, '\0');
	if (mor_buf_failed(&l->buf))
		return MORTISE_ENOMEM;
	if (len)
		history(l->history, &event, H_ENTER, l->buf.data);
	*ret_kind = MOR_CONVERSE_LINE_READ;
	*ret_line = l->buf.data;
	return 0;
}

/* ---- Tab ---- */

/* How many bytes all of them have in common. */
static size_t common_length(const struct mor_text_list *found)
{
	size_t len = strlen(found->item[0]);

	for (size_t i = 1; i < found->count; i++) {
		size_t same = 0;

		while (same < len && found->item[i][same] == found->item[0][same])
			same++;
		len = same;
	}
	return len;
}

static void show_choices(struct mor_converse_lines *l, const struct mor_text_list *found)
{
	struct mor_console *console = l->runner->console;

	mor_out_text(console, "\n");
	for (size_t i = 0; i < found->count; i++)
		mor_outf(console, "%s%s", i ? "  " : "", found->item[i]);
	mor_out_text(console, "\n");
	mor_out_flush(console);
}

/* One choice is put in; of several what they have in common, and if that is there already they are shown. */
static unsigned char on_tab(EditLine *edit, int key)
{
	const LineInfo *info = el_line(edit);
	struct mor_converse_lines *l = NULL;
	struct mor_text_list found = { 0 };
	MOR_CLEAN_TEXT char *line = mor_strndup(info->buffer, (size_t)(info->cursor - info->buffer));
	MOR_CLEAN_TEXT char *more = NULL;
	unsigned char result = CC_ERROR;
	size_t from = 0, len;

	(void)key;
	el_get(edit, EL_CLIENTDATA, &l);
	if (line && l->complete)
		l->complete(l->complete_arg, line, &from, &found);
	if (found.count) {
		len = common_length(&found);
		more = len > strlen(line + from) ?
			       mor_strndup(found.item[0] + strlen(line + from), len - strlen(line + from)) :
			       NULL;
		if (more && el_insertstr(edit, more) == 0) {
			result = CC_REFRESH;
		} else if (found.count > 1) {
			show_choices(l, &found);
			result = CC_REDISPLAY;
		}
	}
	mor_text_list_free_texts(&found);
	return result;
}

void mor_converse_lines_complete(struct mor_converse_lines *l, mor_converse_complete_fn *complete, void *arg)
{
	l->complete = complete;
	l->complete_arg = arg;
}

static bool open_terminal(struct mor_converse_lines *l)
{
	HistEvent event;

	if (MB_CUR_MAX == 1) /* no locale is set, but people type UTF-8 anyway */
		setlocale(LC_CTYPE, "C.UTF-8");
	l->edit = el_init("mortise", stdin, stdout, stderr);
	l->history = history_init();
	if (!l->edit || !l->history)
		return false;
	history(l->history, &event, H_SETSIZE, REMEMBERED);
	history(l->history, &event, H_SETUNIQUE, 1);
	el_set(l->edit, EL_CLIENTDATA, l);
	el_set(l->edit, EL_PROMPT, prompt_of);
	el_set(l->edit, EL_EDITOR, "emacs");
	el_set(l->edit, EL_SIGNAL, 0);
	el_set(l->edit, EL_HIST, history, l->history);
	el_set(l->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_set(l->edit, EL_GETCFN, get_char);
	el_set(l->edit, EL_ADDFN, "complete", "completes a word", on_tab);
	el_set(l->edit, EL_BIND, "^I", "complete", NULL);
	return true;
}

/* ---- a file ---- */

static void end_line_at(struct mor_converse_lines *l, size_t len, size_t taken)
{
	if (len && l->buf.data[len - 1] == '\r')
		len--;
	l->buf.data[len] = '\0';
	l->taken = taken;
}

static int next_read(struct mor_converse_lines *l, enum mor_converse_line *ret_kind, const char **ret_line,
		     mortise_error *err)
{
	mor_buf_consume(&l->buf, l->taken);
	l->taken = 0;
	for (;;) {
		char *newline = l->buf.len ? memchr(l->buf.data, '\n', l->buf.len) : NULL;
		ssize_t n;

		*ret_line = l->buf.data;
		*ret_kind = MOR_CONVERSE_LINE_READ;
		if (newline) {
			end_line_at(l, (size_t)(newline - l->buf.data), (size_t)(newline - l->buf.data) + 1);
			return 0;
		}
		if (l->buf.len > MOR_CONVERSE_LINE_LIMIT)
			return mor_fail(err, MORTISE_EINPUT, "stdin: a line is longer than 1 MiB");
		if (mor_buf_reserve(&l->buf, 65536) < 0)
			return mor_fail_memory(err);
		if (l->at_eof) { /* a last line without newline counts */
			size_t len = l->buf.len;

			*ret_line = l->buf.data;
			*ret_kind = len ? MOR_CONVERSE_LINE_READ : MOR_CONVERSE_LINE_END;
			end_line_at(l, len, len);
			return 0;
		}
		if (!wait_for_input(l)) {
			*ret_kind = after_signal();
			return 0;
		}
		n = read(STDIN_FILENO, l->buf.data + l->buf.len, 65535);
		if (n > 0)
			l->buf.len += (size_t)n;
		else if (n == 0 || errno != EINTR)
			l->at_eof = true;
	}
}

/* ---- both ---- */

struct mor_converse_lines *mor_converse_lines_new(struct mor_runner *runner)
{
	struct mor_converse_lines *l = mor_zalloc(sizeof(*l));

	if (!l)
		return NULL;
	l->runner = runner;
	if (isatty(STDIN_FILENO) && runner->console->out_terminal && !open_terminal(l))
		return mor_converse_lines_free(l);
	return l;
}

struct mor_converse_lines *mor_converse_lines_free(struct mor_converse_lines *l)
{
	if (!l)
		return NULL;
	if (l->edit)
		el_end(l->edit);
	if (l->history)
		history_end(l->history);
	mor_free(l->prompt);
	mor_buf_fini(&l->buf);
	return mor_free(l);
}

bool mor_converse_lines_terminal(const struct mor_converse_lines *l)
{
	return l->edit;
}

int mor_converse_lines_next(struct mor_converse_lines *l, const char *prompt, enum mor_converse_line *ret_kind,
			    const char **ret_line, mortise_error *err)
{
	int r;

	if (!l->edit)
		return next_read(l, ret_kind, ret_line, err);
	mor_free(l->prompt);
	l->prompt = mor_strdup(prompt);
	mor_out_flush(l->runner->console);
	r = next_edited(l, ret_kind, ret_line);
	return r < 0 ? mor_fail_memory(err) : 0;
}

void mor_converse_lines_make_room(struct mor_converse_lines *l)
{
	if (!l || !l->prompting)
		return;
	mor_out_text(l->runner->console, "\r\033[K");
	mor_out_flush(l->runner->console);
}

void mor_converse_lines_redraw(struct mor_converse_lines *l)
{
	if (l && l->prompting)
		el_set(l->edit, EL_REFRESH);
}
