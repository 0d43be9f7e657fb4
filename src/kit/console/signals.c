/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library touches no signal, but a command must. The handler only counts and wakes the host. Both are
 * safe in a handler.
 */
#include "console/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <termios.h>
#include <unistd.h>

/* Limited: only "none", "one" and "more" matter, and the int must not overflow while a user holds Ctrl-C. */
static volatile sig_atomic_t count, first, serious; /* serious: any signal except Ctrl-C */
static volatile sig_atomic_t kept, hangups;         /* kept: SIGHUP does not end the program */
static _Atomic(mortise_host *) woken;

static void note_end(int number)
{
	if (count == 0)
		first = number;
	if (number != SIGINT)
		serious = 1;
	if (count < 100)
		count = count + 1;
}

static void on_signal(int number)
{
	int saved = errno;
	mortise_host *host = atomic_load(&woken);

	if (number == SIGHUP && kept)
		hangups = 1;
	else
		note_end(number);
	if (host)
		mortise_host_wakeup(host);
	errno = saved;
}

/* A signal that our parent ignores stays ignored: nohup and background jobs need that. A signal that it
 * blocks is unblocked: the parent blocked it only while it started us, and with it blocked nobody could stop
 * us. No SA_RESTART: a read of stdin or of a FIFO must end. */
static void catch (int number)
{
	struct sigaction old, action = { .sa_handler = on_signal };
	sigset_t this;

	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
	sigemptyset(&this);
	sigaddset(&this, number);
	sigprocmask(SIG_UNBLOCK, &this, NULL);
}

/* SIGPIPE is ignored: when a reader goes away, only that write fails. Plugins are still stopped politely. */
void mor_signals_init(void)
{
	signal(SIGPIPE, SIG_IGN);
	catch (SIGINT);
	catch (SIGTERM);
	catch (SIGHUP);
}

void mor_signals_end_at_once(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == on_signal)
			signal(numbers[i], SIG_DFL);
	if (count)
		raise(mor_signals_exit_code() - 128);
}

void mor_signals_host(mortise_host *host)
{
	atomic_store(&woken, host);
	if (host && count)
		mortise_host_wakeup(host); /* a signal that came before there was a host to wake */
}

void mor_signals_keep_hangup(bool on)
{
	kept = on;
}

/* A terminal that has hung up reports it on every descriptor. */
static bool terminal_is_gone(void)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO }, { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };
	struct termios settings;

	if (poll(fds, 3, 0) <= 0)
		return false;
	/* a pipe whose other end is closed hangs up too, but it is not a terminal */
	for (size_t i = 0; i < 3; i++)
		if ((fds[i].revents & POLLHUP) && tcgetattr(fds[i].fd, &settings) < 0 && errno == EIO)
			return true;
	return false;
}

bool mor_signals_terminal_gone(void)
{
	if (!terminal_is_gone())
		return false;
	note_end(SIGHUP);
	return true;
}

bool mor_signals_take_hangup(void)
{
	bool came = hangups;

	hangups = 0; /* a signal that comes exactly here is handled together with this one */
	return came && !mor_signals_terminal_gone();
}

int mor_signals_count(void)
{
	return count;
}

bool mor_signals_take_interrupt(void)
{
	if (serious || !count)
		return false;
	count = 0; /* a Ctrl-C that comes exactly here is lost; the user presses it again */
	if (serious)
		count = 1;
	return !serious;
}

/* The three signals are let in only while we wait: one that comes between the look at their count and the wait
 * is not lost. */
int mor_signals_poll(struct pollfd *fd, int timeout_ms)
{
	struct timespec limit = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	sigset_t ends, before;
	int n;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	n = mor_signals_count() ? -1 : ppoll(fd, 1, timeout_ms < 0 ? NULL : &limit, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

int mor_signals_exit_code(void)
{
	return 128 + first;
}
