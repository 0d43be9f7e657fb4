/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and what they show, on a terminal of our own: each test runs in a process that has it as its terminal.
 * What was drawn is read from the other end, without its escape sequences.
 */
#include "leak.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "tap/tap.h"

#define ROWS    6
#define COLUMNS 78

static struct {
	int master, slave, file;
	struct mor_tap tap;
	struct mor_screen *screen;
	char drawn[65536];
} t;

static void grow(const char *text)
{
	assert_int_equal(mor_fd_write_all(t.file, text, strlen(text)), 0);
	assert_true(mor_tap_read(&t.tap, NULL) >= 0);
}

static void resize(unsigned short rows, unsigned short columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	assert_int_equal(ioctl(t.master, TIOCSWINSZ, &size), 0);
}

static void begin(const char *filter)
{
	setsid();
	t.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(t.master >= 0);
	assert_int_equal(grantpt(t.master), 0);
	assert_int_equal(unlockpt(t.master), 0);
	t.slave = open(ptsname(t.master), O_RDWR | O_CLOEXEC); /* it becomes our terminal */
	assert_true(t.slave >= 0);
	resize(ROWS, COLUMNS);
	t.file = memfd_create("talk", MFD_CLOEXEC);
	mor_tap_init(&t.tap, t.file);
	t.screen = mor_screen_new(&t.tap, t.slave, false, filter);
	assert_non_null(t.screen);
	grow("talk 1 plain\n");
}

static void end(void)
{
	struct termios now;

	t.screen = mor_screen_free(t.screen);
	assert_int_equal(tcgetattr(t.slave, &now), 0);
	assert_true(now.c_lflag & ICANON && now.c_lflag & ECHO); /* as it was */
	mor_tap_fini(&t.tap);
}

/* What the terminal has got so far, without escape sequences. What the kernel still carries comes before our
 * own mark. */
static const char *take_drawn(void)
{
	static const char mark = '\x04';
	size_t len = 0, kept = 0;

	assert_int_equal(mor_fd_write_all(t.slave, &mark, 1), 0);
	while (!len || t.drawn[len - 1] != mark) {
		ssize_t n = read(t.master, t.drawn + len, sizeof(t.drawn) - 1 - len);

		assert_true(n > 0);
		len += (size_t)n;
	}
	len--;
	for (size_t i = 0; i < len; i++) {
		if (t.drawn[i] == '\x1b')
			while (++i < len && !((t.drawn[i] | 0x20) >= 'a' && (t.drawn[i] | 0x20) <= 'z'))
				;
		else if (t.drawn[i] != '\r')
			t.drawn[kept++] = t.drawn[i];
	}
	t.drawn[kept] = '\0';
	return t.drawn;
}

/* Draws, after the pause that the screen asks for. */
static const char *draw(void)
{
	int wait;

	while ((wait = mor_screen_draw(t.screen)) >= 0)
		poll(NULL, 0, wait);
	return take_drawn();
}

static const char *type(const char *keys)
{
	struct pollfd fd = { mor_screen_fd(t.screen), POLLIN, 0 };
	int len = (int)strlen(keys), come = 0;

	take_drawn();
	assert_int_equal(mor_fd_write_all(t.master, keys, (size_t)len), 0);
	while (come < len) { /* the kernel may carry them in pieces */
		assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_int_equal(ioctl(t.slave, FIONREAD, &come), 0);
	}
	mor_screen_wake(t.screen);
	return draw();
}

static void ten_rows(void)
{
	for (unsigned i = 0; i < 10; i++) {
		char line[100];

		snprintf(line, sizeof(line), "< {\"method\":\"m%u\",\"params\":[%u]}\n", i, i);
		grow(line);
	}
}

#define assert_shows(text, part) assert_non_null(strstr(text, part))
#define assert_hides(text, part) assert_null(strstr(text, part))

static void follow_and_move(void)
{
	const char *seen;

	begin(NULL);
	ten_rows();
	seen = draw();
	assert_shows(seen, "m9");
	assert_shows(seen, "m5");
	assert_hides(seen, "m4"); /* five lines, and the last is the newest */
	assert_shows(seen, "10 of 10 following");
	assert_int_equal(mor_screen_draw(t.screen), -1); /* nothing has changed */
	seen = type("g");
	assert_shows(seen, "m0");
	assert_hides(seen, "m5");
	assert_hides(seen, "following"); /* who moves does not follow */
	seen = type("\x1b[6~");          /* page down */
	assert_shows(seen, "m5");
	assert_hides(seen, "m0");
	assert_shows(type("\x1b[A\x1b[Akkkkkkkkkk"), "m0");
	assert_shows(type("\x1b[F"), "following"); /* End */
	assert_shows(type("\x1b[5~j\x1bOB"), "m9");
	assert_shows(type("\x1b[H"), "m0");
	end();
}

static void pause_holds_what_is_new(void)
{
	const char *seen;

	begin(NULL);
	ten_rows();
	draw();
	assert_shows(type("p"), "paused");
	grow("< {\"method\":\"new\"}\n");
	assert_int_equal(mor_screen_draw(t.screen), -1);
	seen = type(" ");
	assert_shows(seen, "new");
	assert_shows(seen, "11 of 11");
	assert_shows(type("gf"), "new");
	end();
}

static void filter_by_method(void)
{
	const char *seen;

	begin("m3");
	ten_rows();
	seen = draw();
	assert_shows(seen, "1 of 10 following filter m3");
	assert_shows(type("/m8x"), "show only methods with: m8x_");
	seen = type("\x7f\r");
	assert_shows(seen, "filter m8");
	assert_shows(seen, "note    m8");
	assert_hides(seen, "note    m3");
	assert_shows(type("/q\x1b"), "filter m8"); /* given up; "q" was a letter */
	assert_shows(type("/\n"), "10 of 10");
	/* longer than there is room for */
	assert_shows(type("/0123456789012345678901234567890123456789012345678901234567890"), "0123456_");
	assert_false(mor_screen_left(t.screen));
	end();
}

static void one_message_in_full(void)
{
	const char *seen;

	begin(NULL);
	ten_rows();
	draw();
	seen = type("kk\r");
	assert_shows(seen, "\"method\": \"m7\"");
	assert_shows(seen, "line 9 of the file");
	assert_hides(seen, "m8");
	seen = type("jj");
	assert_hides(seen, "m7");
	assert_shows(seen, "7\n");
	assert_hides(type("G"), "7\n");
	assert_shows(type("g"), "m7");
	assert_shows(type("q"), "m8"); /* the first q closes the message, the second leaves */
	assert_false(mor_screen_left(t.screen));
	type("q");
	assert_true(mor_screen_left(t.screen));
	end();
}

/* What is no JSON is shown as it stands in the file; controls do not steer the terminal. */
static void noise_in_full(void)
{
	begin(NULL);
	grow("2 a\x07"
	     "bell\n");
	draw();
	assert_shows(type("\r"), "a\\x07bell");
	end();
}

/* A wider terminal needs fewer lines for a message: the place in it is not lost behind its end. */
static void a_message_after_a_resize(void)
{
	begin(NULL);
	resize(ROWS, 10);
	grow("2 0123456789aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff\n");
	draw();
	assert_shows(type("\r"), "0123456789\n");
	assert_shows(type("G"), "ffffffffff\n");
	resize(ROWS, COLUMNS);
	assert_shows(type("j"), "0123456789a");
	end();
}

/* Rows that were forgotten while a message is open and nothing moves. */
static void a_message_that_was_forgotten(void)
{
	begin(NULL);
	ten_rows();
	draw();
	type("p");
	assert_shows(type("\r"), "line 11 of the file");
	memmove(t.tap.row, t.tap.row + 9, sizeof(*t.tap.row)); /* as rows.c does it */
	t.tap.count = 1;
	t.tap.dropped = 9;
	assert_shows(type("j"), "line 11 of the file");
	t.tap.count = 0;
	t.tap.dropped = 1u << 30;
	assert_shows(type("j"), "line 11 of the file");
	assert_shows(type("qp"), "0 of 1073741824");
	end();
}

static void small_terminals(void)
{
	begin(NULL);
	ten_rows();
	resize(1, 1);
	draw();
	resize(0, 0); /* nobody has set a size */
	assert_shows(type("g"), "10 of 10");
	resize(2, 20);
	assert_shows(type("G"), " 10 of 10 following ");
	end();
}

/* A terminal of others is only written to. */
static void a_terminal_that_is_not_ours(void)
{
	begin(NULL);
	t.screen = mor_screen_free(t.screen);
	signal(SIGHUP, SIG_IGN);
	assert_int_equal(ioctl(t.slave, TIOCNOTTY), 0);
	t.screen = mor_screen_new(&t.tap, t.slave, true, NULL);
	grow("< {\"method\":\"m1\"}\n");
	assert_shows(draw(), "(keys are not ours)");
	end();
}

#define IN_FORK(name) \
	static void test_##name(void **state) \
	{ \
		(void)state; \
		leak_in_fork(name); \
	}
IN_FORK(follow_and_move)
IN_FORK(pause_holds_what_is_new)
IN_FORK(filter_by_method)
IN_FORK(one_message_in_full)
IN_FORK(noise_in_full)
IN_FORK(a_message_after_a_resize)
IN_FORK(a_message_that_was_forgotten)
IN_FORK(small_terminals)
IN_FORK(a_terminal_that_is_not_ours)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_follow_and_move),
		MOR_TEST(test_pause_holds_what_is_new),
		MOR_TEST(test_filter_by_method),
		MOR_TEST(test_one_message_in_full),
		MOR_TEST(test_noise_in_full),
		MOR_TEST(test_a_message_after_a_resize),
		MOR_TEST(test_a_message_that_was_forgotten),
		MOR_TEST(test_small_terminals),
		MOR_TEST(test_a_terminal_that_is_not_ours),
	};

	return mor_run_group("tap/screen", tests);
}
