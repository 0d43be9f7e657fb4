/* SPDX-License-Identifier: Apache-2.0 */
/* Time of check, time of use. Bounded by rounds, and by time on a busy machine: so it may be that the jail was
 * never asked at the wrong moment, and had nothing to detect. `met` counts the rounds in which it said no. */
#include "attempt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static char shared_path[4096];
static atomic_bool over;
static const struct stage *stage;
static int rounds, met;

/* Whether there is another round. */
static bool goes_on(const struct stage *s)
{
	static time_t began;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!began)
		began = now.tv_sec;
	return rounds < s->rounds && now.tv_sec - began < 6 && ++rounds;
}

/* What a round's call came to. */
static int came_to(int returned)
{
	met += returned < 0 && (errno == EACCES || errno == EPERM);
	return returned;
}

static struct result counted(struct result r)
{
	r.rounds = rounds;
	r.met = met;
	return r;
}

/* Each name stays for a moment, so that either may be whole when the kernel copies it. */
static void linger(void)
{
	for (volatile int i = 0; i < 300; i++)
		continue;
}

/* Flips the buffer between a harmless name and the secret's, byte by byte as far as they differ. */
static void *flip(void *unused)
{
	char good[4096], bad[4096];
	bool turn = false;

	(void)unused;
	snprintf(good, sizeof(good), "%s", in(stage, "ws/.//////data.txt"));
	snprintf(bad, sizeof(bad), "%s", in(stage, "outside/secret.txt"));
	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		const char *from = (turn = !turn) ? bad : good;

		for (size_t i = strlen(stage->dir); i <= strlen(bad); i++)
			((volatile char *)shared_path)[i] = from[i];
		linger();
	}
	return NULL;
}

static struct result run_against(const struct stage *s, void *(*other)(void *), int (*once)(void))
{
	pthread_t thread;
	int stolen = 0;

	stage = s;
	if (pthread_create(&thread, NULL, other, NULL))
		return no("pthread_create");
	while (!stolen && goes_on(s))
		stolen += read_secret("race", came_to(once())).escaped;
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	errno = 0;
	return counted(stolen ? yes("the content came through") : no("nothing came through"));
}

static int open_shared(void)
{
	return open(shared_path, O_RDONLY);
}

static int open_denied(void)
{
	return open(in(stage, "outside/secret.txt"), O_RDONLY);
}

static struct result race_open(const struct stage *s)
{
	snprintf(shared_path, sizeof(shared_path), "%s", in(s, "outside/secret.txt"));
	return run_against(s, flip, open_shared);
}

static void *spin(void *unused)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		(void)open(in(stage, "ws/data.txt"), O_PATH | O_NOFOLLOW | O_DIRECTORY);
	return unused;
}

/* Not a race of content: many opens at once must not make a denied one go unnoticed. */
static struct result race_crowd(const struct stage *s)
{
	return run_against(s, spin, open_denied);
}

/* A link in the workspace that is now a file, now a way out. */
static void *swap_link(void *unused)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		if (symlink("data.txt", "swap.a") == 0)
			(void)!rename("swap.a", "swap");
		if (symlink("../outside/secret.txt", "swap.b") == 0)
			(void)!rename("swap.b", "swap");
	}
	return unused;
}

static int open_swap(void)
{
	return open("swap", O_RDONLY);
}

static struct result race_symlink(const struct stage *s)
{
	(void)!unlink("swap");
	return run_against(s, swap_link, open_swap);
}

/* The same with a directory on the way, and an O_NOFOLLOW that does not help. */
static void *swap_dir(void *unused)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		(void)!renameat2(AT_FDCWD, "swapdir", AT_FDCWD, "linkdir", 2 /* RENAME_EXCHANGE */);
	}
	return unused;
}

static int open_swapdir(void)
{
	return open("swapdir/secret.txt", O_RDONLY | O_NOFOLLOW);
}

static struct result race_dir(const struct stage *s)
{
	return run_against(s, swap_dir, open_swapdir);
}

/* A directory that is now its own, now the one that git runs hooks from. */
static void *swap_way(void *unused)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		(void)!renameat2(AT_FDCWD, "swapdir", AT_FDCWD, "way", 2 /* RENAME_EXCHANGE */);
	return unused;
}

static struct result race_protected(const struct stage *s)
{
	bool there = false;
	pthread_t thread;

	if (symlink(".git/hooks", "way") < 0 || pthread_create(&thread, NULL, swap_way, NULL) != 0)
		return no("a link to hooks");
	while (!there && goes_on(s)) {
		int fd = came_to(open("swapdir/post-checkout", O_CREAT | O_WRONLY, 0755));

		if (fd >= 0)
			close(fd);
		there = access(".git/hooks/post-checkout", F_OK) == 0;
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	return counted(there ? yes("a hook by a link that changes") : no("a hook by a link that changes"));
}

/* A storm of signals without SA_RESTART while asking: none of the answers may be the wrong one. From 50 us to
 * 100 ms apart: on a busy machine a question gets through only to the slow ones. */
static void on_alarm(int unused)
{
	(void)unused;
}

static struct result race_signal(const struct stage *s)
{
	const struct sigaction act = { .sa_handler = on_alarm };

	if (sigaction(SIGALRM, &act, NULL) < 0)
		return no("sigaction");
	while (goes_on(s)) {
		const struct timeval apart = { .tv_usec = 50 << rounds % 12 };
		const struct itimerval every = { apart, apart };
		struct result r;

		if (setitimer(ITIMER_REAL, &every, NULL) < 0)
			return no("setitimer");
		r = read_secret("open in a storm of signals",
				came_to(open(in(s, "outside/secret.txt"), O_RDONLY)));
		if (r.escaped)
			return r;
	}
	return counted(no("open in a storm of signals"));
}

/* The descriptor becomes another file between the question and the answer. */
#define SWAPPED 99
static int swap_fds[2];

static void *swap_fd(void *unused)
{
	for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++)
		(void)dup2(swap_fds[i % 2], SWAPPED);
	return unused;
}

static struct result race_fchmod(const struct stage *s)
{
	const char *other = in(s, "declared/file.txt");
	struct stat st;
	pthread_t thread;

	swap_fds[0] = open("data.txt", O_RDWR);
	swap_fds[1] = open(other, O_RDONLY);
	if (swap_fds[0] < 0 || swap_fds[1] < 0 || dup2(swap_fds[0], SWAPPED) < 0 ||
	    pthread_create(&thread, NULL, swap_fd, NULL))
		return no("preparation");
	st.st_mode = 0;
	while ((st.st_mode & 0777) != 0604 && goes_on(s))
		if (came_to(fchmod(SWAPPED, 0604)) == 0)
			(void)fstat(swap_fds[1], &st);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	errno = 0;
	return counted((st.st_mode & 0777) == 0604 ? yes("fchmod of a read-only file") :
						     no("fchmod of a read-only file"));
}

const struct attempt race_attempts[] = {
	{ "race_open", "read", 26, 'D', 0, 0, 0, race_open },
	{ "race_crowd", "read", 26, 'D', 0, 0, 0, race_crowd },
	{ "race_signal", "read", 26, 'D', 0, 0, 0, race_signal },
	{ "race_fchmod", "write", 26, 'D', 0, 0, NEEDS_WRITE, race_fchmod },
	{ "race_symlink", "read", 26, 'D', 0, 0, NEEDS_WRITE, race_symlink },
	{ "race_dir", "read", 26, 'D', 0, 0, NEEDS_WRITE, race_dir },
	{ "race_protected", "write", 26, 'D', 0, 0, NEEDS_WRITE, race_protected },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
