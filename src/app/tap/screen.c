/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows on a terminal, with keys. A few escape sequences that every terminal knows, and no library: a list,
 * one message in full, and a line at the bottom.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "tap/tap.h"
#include "wire/json.h"

#define FRAME_MS 33
#define FILTER   48

#define ENTER "\x1b[?1049h\x1b[?25l" /* the other screen, without a cursor */
#define LEAVE "\x1b[?25h\x1b[?1049l"

struct mor_screen {
	struct mor_tap *tap;
	int fd;
	bool color;
	struct termios before;
	int epoll, resizes; /* of what wakes us: keys, and SIGWINCH as a descriptor */
	bool taken, keys;   /* the terminal's settings are ours; the keyboard is */
	unsigned rows, columns;
	size_t *shown; /* indices of rows that pass the filter, plus tap->dropped at that time */
	size_t count, cap;
	uint64_t looked; /* rows that were looked at since the start */
	size_t cursor, top;
	bool follow, paused, typing, left, dirty;
	char filter[FILTER], typed[FILTER];
	bool open; /* one message is shown in full */
	struct mor_buf page;
	size_t page_top, page_lines;
	unsigned page_line; /* of the file: its row may be forgotten meanwhile */
	int64_t drawn_ms;
};

/* ---- which rows ---- */

static void forget_shown(struct mor_screen *s)
{
	s->count = 0;
	s->looked = s->tap->dropped;
	s->cursor = s->top = 0;
}

/* While paused, what is new waits. */
static void look_for_new(struct mor_screen *s)
{
	const struct mor_tap *tap = s->tap;

	if (s->paused)
		return;
	if (s->looked < tap->dropped || (s->count && s->shown[0] < tap->dropped))
		forget_shown(s);
	for (; s->looked < tap->dropped + tap->count; s->looked++) {
		if (!mor_tap_passes(&tap->row[s->looked - tap->dropped], s->filter))
			continue;
		if (mor_grow(&s->shown, s->count, &s->cap, sizeof(*s->shown)) < 0)
			return;
		s->shown[s->count++] = s->looked;
		s->dirty = true;
	}
	if (s->follow && s->count)
		s->cursor = s->count - 1;
}

static const struct mor_tap_row *row_at(const struct mor_screen *s, size_t i)
{
	return &s->tap->row[s->shown[i] - s->tap->dropped];
}

/* ---- one message in full ---- */

static void open_row(struct mor_screen *s)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (s->cursor >= s->count || s->shown[s->cursor] < s->tap->dropped)
		return;
	mor_buf_reset(&s->page, SIZE_MAX);
	if (mor_tap_text(s->tap, row_at(s, s->cursor), &text) < 0)
		return;
	s->page_line = row_at(s, s->cursor)->line;
	if (mor_doc_parse(mor_buf_view(&text), MOR_JSON_NAN, 0, &doc, NULL) == 0)
		mor_json_write(mor_doc_root(doc), true, &s->page);
	else
		mor_buf_slice(&s->page, mor_buf_view(&text));
	s->open = true;
	s->page_top = 0;
}

/* The next line of a page, cut into lines as wide as the terminal. */
static struct mor_slice next_line(struct mor_slice *left, size_t columns)
{
	struct mor_slice rest = *left, line = mor_slice_cut(&rest, '\n');
	size_t fits = mor_tap_cut(line, columns);

	*left = fits == line.len ? rest : (struct mor_slice){ line.ptr + fits, left->len - fits };
	return (struct mor_slice){ line.ptr, fits };
}

/* ---- keys ---- */

static size_t page_size(const struct mor_screen *s)
{
	return s->rows > 1 ? s->rows - 1 : 1;
}

/* By so many lines: of the page, or of the list. Who moves does not follow. */
static void move_by(struct mor_screen *s, long by)
{
	size_t last = s->open ? (s->page_lines ? s->page_lines - 1 : 0) : (s->count ? s->count - 1 : 0);
	size_t *place = s->open ? &s->page_top : &s->cursor;

	if (by < 0)
		*place = *place > (size_t)-by ? *place - (size_t)-by : 0;
	else
		*place = last - *place > (size_t)by ? *place + (size_t)by : last;
	if (!s->open)
		s->follow = s->cursor == last;
}

static void type_filter(struct mor_screen *s, char c)
{
	size_t len = strlen(s->typed);

	if (c == '\r' || c == '\n') {
		s->typing = false;
		memcpy(s->filter, s->typed, sizeof(s->filter));
		forget_shown(s);
		s->follow = true;
	} else if (c == 0x1b) {
		s->typing = false;
	} else if (c == 0x7f || c == '\b') {
		if (len)
			s->typed[len - 1] = '\0';
	} else if ((unsigned char)c >= ' ' && len + 1 < sizeof(s->typed)) {
		s->typed[len] = c;
		s->typed[len + 1] = '\0';
	}
}

static void press(struct mor_screen *s, char c)
{
	switch (c) {
	case 'q':
	case 0x1b:
		if (!s->open && c == 'q')
			s->left = true;
		s->open = false;
		break;
	case '\r':
	case '\n':
		if (s->open)
			s->open = false;
		else
			open_row(s);
		break;
	case 'j':
		move_by(s, 1);
		break;
	case 'k':
		move_by(s, -1);
		break;
	case ' ':
	case 'p':
		s->paused = !s->paused;
		break;
	case 'f':
		s->paused = false;
		s->follow = !s->follow;
		break;
	case 'g':
		move_by(s, -(long)(s->open ? s->page_lines : s->count));
		break;
	case 'G':
		move_by(s, (long)(s->open ? s->page_lines : s->count));
		break;
	case '/':
		s->typing = !s->open;
		s->typed[0] = '\0';
		break;
	default:
		break;
	}
}

/* What follows "ESC [". Returns the number of bytes used. */
static size_t press_special(struct mor_screen *s, const char *keys, size_t len)
{
	size_t n = 0;

	while (n < len && (keys[n] < '@' || keys[n] > '~'))
		n++;
	if (n == len)
		return len;
	if (keys[n] == 'A' || keys[n] == 'B')
		move_by(s, keys[n] == 'A' ? -1 : 1);
	else if (keys[n] == '~' && (keys[0] == '5' || keys[0] == '6'))
		move_by(s, keys[0] == '5' ? -(long)page_size(s) : (long)page_size(s));
	else if (keys[n] == 'H' || keys[n] == 'F')
		press(s, keys[n] == 'H' ? 'g' : 'G');
	return n + 1;
}

static void read_keys(struct mor_screen *s)
{
	char keys[256];
	ssize_t n = read(s->fd, keys, sizeof(keys));

	/* EIO: we are in the background; the end: the terminal is gone. What is shown goes on. */
	if (n <= 0 && !(n < 0 && (errno == EINTR || errno == EAGAIN))) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->fd, NULL);
		s->keys = false;
	}
	s->dirty |= n > 0;
	for (ssize_t i = 0; i < n; i++) {
		if (s->typing)
			type_filter(s, keys[i]);
		else if (keys[i] == 0x1b && i + 1 < n && (keys[i + 1] == '[' || keys[i + 1] == 'O'))
			i += 1 + (ssize_t)press_special(s, keys + i + 2, (size_t)(n - i - 2));
		else
			press(s, keys[i]);
	}
}

void mor_screen_wake(struct mor_screen *s)
{
	struct pollfd typed = { s->keys ? s->fd : -1, POLLIN, 0 };
	struct signalfd_siginfo info;

	while (read(s->resizes, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->dirty = true;
	if (poll(&typed, 1, 0) > 0)
		read_keys(s);
}

int mor_screen_fd(const struct mor_screen *s)
{
	return s->epoll;
}

/* ---- drawing ---- */

static void measure_terminal(struct mor_screen *s)
{
	struct winsize size = { 0 };

	if (ioctl(s->fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	s->rows = size.ws_row;
	s->columns = size.ws_col;
}

static void draw_list(struct mor_screen *s, struct mor_buf *out)
{
	size_t lines = page_size(s);

	if (s->cursor < s->top)
		s->top = s->cursor;
	if (s->cursor >= s->top + lines)
		s->top = s->cursor - lines + 1;
	for (size_t i = 0; i < lines; i++) {
		size_t at = s->top + i;

		mor_buf_text(out, "\x1b[0m\x1b[K");
		if (at < s->count && s->shown[at] >= s->tap->dropped) {
			bool here = at == s->cursor;

			if (here)
				mor_buf_text(out, "\x1b[7m");
			mor_tap_show(s->tap, row_at(s, at), s->columns, s->color && !here, out);
			if (here)
				mor_buf_text(out, "\x1b[0m");
		}
		mor_buf_text(out, "\r\n");
	}
}

/* In a terminal that became wider a page has fewer lines than before. */
static void measure_page(struct mor_screen *s)
{
	struct mor_slice left = mor_buf_view(&s->page);

	for (s->page_lines = 0; left.len; s->page_lines++)
		next_line(&left, s->columns);
	if (s->page_top >= s->page_lines)
		s->page_top = s->page_lines ? s->page_lines - 1 : 0;
}

static void draw_page(struct mor_screen *s, struct mor_buf *out)
{
	struct mor_slice left = mor_buf_view(&s->page);
	size_t lines = page_size(s), number = 0;

	measure_page(s);
	for (; left.len; number++) {
		struct mor_slice line = next_line(&left, s->columns);
		char text[2048];

		if (number < s->page_top || number >= s->page_top + lines)
			continue;
		mor_buf_text(out, "\x1b[0m\x1b[K");
		mor_buf_text(out, mor_printable(line, text, sizeof(text)));
		mor_buf_text(out, "\r\n");
	}
	for (size_t drawn = number - s->page_top; drawn < lines; drawn++)
		mor_buf_text(out, "\x1b[0m\x1b[K\r\n");
}

static void draw_status(const struct mor_screen *s, struct mor_buf *out)
{
	char text[256];
	int len;

	if (s->typing)
		len = snprintf(text, sizeof(text), " show only methods with: %s_", s->typed);
	else if (s->open)
		len = snprintf(text, sizeof(text), " line %u of the file  Enter back  j k move", s->page_line);
	else
		len = snprintf(text, sizeof(text),
			       " %zu of %llu %s%s%s  %sEnter open  / filter  p pause  f follow  q quit",
			       s->count, (unsigned long long)s->tap->dropped + s->tap->count,
			       s->paused    ? "paused" :
			       s->tap->over ? "ended" :
			       s->follow    ? "following" :
					      "",
			       s->filter[0] ? " filter " : "", s->filter,
			       s->keys ? "" : "(keys are not ours) ");
	if (len > (int)s->columns)
		len = (int)s->columns;
	mor_buf_printf(out, "\x1b[7m%-*.*s\x1b[0m", (int)s->columns, len, text);
}

static void draw_all(struct mor_screen *s)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	measure_terminal(s);
	mor_buf_text(&out, "\x1b[H");
	if (s->open)
		draw_page(s, &out);
	else
		draw_list(s, &out);
	draw_status(s, &out);
	if (!mor_buf_failed(&out))
		(void)mor_fd_write_all(s->fd, out.data, out.len);
	s->dirty = false;
	s->drawn_ms = mor_clock_ms();
}

int mor_screen_draw(struct mor_screen *s)
{
	int64_t since;

	look_for_new(s);
	if (!s->dirty)
		return -1;
	since = mor_clock_ms() - s->drawn_ms;
	if (since < FRAME_MS)
		return (int)(FRAME_MS - since);
	draw_all(s);
	return -1;
}

bool mor_screen_left(const struct mor_screen *s)
{
	return s->left;
}

/* ---- life ---- */

/* A terminal of which we are in the background would stop us. We ask it to let us draw all the same. */
struct mor_screen *mor_screen_new(struct mor_tap *tap, int fd, bool color, const char *filter)
{
	struct mor_screen *s = mor_zalloc(sizeof(*s));
	struct epoll_event ready = { .events = EPOLLIN };
	struct termios now;
	sigset_t set;

	if (!s)
		return NULL;
	*s = (struct mor_screen){ .tap = tap, .fd = fd, .color = color, .follow = true, .dirty = true };
	if (filter)
		snprintf(s->filter, sizeof(s->filter), "%s", filter);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->resizes = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->resizes, &ready);
	s->keys = tcgetpgrp(fd) == getpgrp() && tcgetattr(fd, &s->before) == 0;
	if (s->keys) {
		now = s->before;
		now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		now.c_cc[VMIN] = 1;
		now.c_cc[VTIME] = 0;
		s->taken = tcsetattr(fd, TCSANOW, &now) == 0;
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ready);
	}
	(void)mor_fd_write_all(fd, ENTER, strlen(ENTER));
	return s;
}

struct mor_screen *mor_screen_free(struct mor_screen *s)
{
	if (!s)
		return NULL;
	(void)mor_fd_write_all(s->fd, LEAVE, strlen(LEAVE));
	if (s->taken)
		tcsetattr(s->fd, TCSANOW, &s->before);
	mor_fd_close(&s->resizes);
	mor_fd_close(&s->epoll);
	mor_buf_fini(&s->page);
	mor_free(s->shown);
	mor_free(s);
	return NULL;
}
