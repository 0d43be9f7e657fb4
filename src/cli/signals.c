/*
 * The library touches no signal; a command has to. The handler only counts and wakes the host, both of which
 * are safe there. These are the only variables of the process that are not on somebody's stack.
 */
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* Bounded: only "none", "one" and "more" matter, and an int must not overflow while someone leans on ^C. */
static volatile sig_atomic_t count, first, serious; /* serious: one that is no Ctrl-C */
static _Atomic(mortise_host *) woken;

static void on_signal(int number)
{
	int saved = errno;
	mortise_host *host = atomic_load(&woken);

	if (count == 0)
		first = number;
	if (number != SIGINT)
		serious = 1;
	if (count < 100)
		count = count + 1;
	if (host)
		mortise_host_wakeup(host);
	errno = saved;
}

/* One that our parent ignores stays ignored: nohup and background jobs rely on it. No SA_RESTART: a
 * read of stdin or of a FIFO must end. */
static void catch(int number)
{
	struct sigaction old, action = { .sa_handler = on_signal };

	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

/* SIGPIPE: a reader that goes away is an error of that write, not the end of plugins in mid-sentence. */
void mor_signals_init(void)
{
	signal(SIGPIPE, SIG_IGN);
	catch(SIGINT);
	catch(SIGTERM);
	catch(SIGHUP);
}

void mor_signals_host(mortise_host *host)
{
	atomic_store(&woken, host);
	if (host && count)
		mortise_host_wakeup(host); /* one that came before there was a host to wake */
}

int mor_signals_count(void)
{
	return count;
}

bool mor_signals_take_interrupt(void)
{
	if (serious || !count)
		return false;
	count = 0; /* one more Ctrl-C that comes right here is lost, and typed again */
	if (serious)
		count = 1;
	return !serious;
}

int mor_signals_exit_code(void)
{
	return 128 + first;
}
