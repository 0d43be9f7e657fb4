/* SPDX-License-Identifier: Apache-2.0 */
/* attempt NAME KEY=VALUE...: tries one escape and prints one line of JSON. --list prints the table. */
#include "attempt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct attempt *const tables[] = {
	read_attempts,  proc_attempts,    race_attempts, meta_attempts,  write_attempts,   grant_attempts,
	spawn_attempts, network_attempts, ipc_attempts,  host_attempts,  places_attempts,  kernel_attempts,
	mount_attempts, broker_attempts,  attr_attempts, limit_attempts, protect_attempts,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

struct result yes(const char *how)
{
	return (struct result){ .escaped = true, .how = how };
}

struct result no(const char *how)
{
	return (struct result){ .error = errno, .how = how };
}

struct result got(const char *how, long returned)
{
	return returned >= 0 ? yes(how) : no(how);
}

struct result reached(const char *how, long returned)
{
	struct result r = got(how, returned);

	if (returned < 0 && errno != EPERM && errno != ENOSYS && errno != EACCES)
		r.escaped = true;
	return r;
}

bool contains(const char *data, size_t size, const char *needle)
{
	return memmem(data, size, needle, strlen(needle)) != NULL;
}

struct result read_secret(const char *how, int fd)
{
	char buf[4096];
	ssize_t n;
	int saved;

	if (fd < 0)
		return no(how);
	n = read(fd, buf, sizeof(buf));
	saved = errno;
	close(fd);
	if (n > 0 && contains(buf, (size_t)n, SECRET))
		return yes(how);
	errno = n < 0 ? saved : 0;
	return no(how);
}

const char *in(const struct stage *s, const char *rest)
{
	static _Thread_local char ring[4][4096];
	static _Thread_local unsigned turn;
	char *path = ring[turn++ % 4];

	snprintf(path, sizeof(ring[0]), "%s/%s", s->dir, rest);
	return path;
}

/* One write, so that a kill right after it cannot tear the line. */
void report(const struct stage *s, struct result r)
{
	char line[512];
	int n = snprintf(line, sizeof(line),
			 "{\"name\":\"%s\",\"escaped\":%s,\"errno\":%d,\"how\":\"%s\",\"rounds\":%d,\"met\":%d}\n",
			 s->name, r.escaped ? "true" : "false", r.error, r.how, r.rounds, r.met);

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(3);
}

long int80(long nr, long a, long b, long c)
{
#ifdef __x86_64__
	long out;

	__asm__ volatile("int $0x80"
			 : "=a"(out)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return out;
#else
	(void)nr, (void)a, (void)b, (void)c;
	return -ENOSYS;
#endif
}

void *low_page(void)
{
#ifdef MAP_32BIT
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return p == MAP_FAILED ? NULL : p;
#else
	return NULL;
#endif
}

static int list(void)
{
	for (size_t t = 0; t < TABLES; t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			printf("{\"name\":\"%s\",\"class\":\"%s\",\"row\":%d,\"expect\":\"%c\",\"net\":\"%c\",\"spawn\":\"%c\",\"write\":%s,\"bare\":%s,\"reaches\":%s}\n",
			       a->name, a->class, a->row, a->expect, a->net ? a->net : a->expect,
			       a->spawn ? a->spawn : a->expect, a->flags & NEEDS_WRITE ? "true" : "false",
			       a->flags & NOT_BARE ? "false" : "true", a->flags & REACHES ? "true" : "false");
	return 0;
}

static void set(struct stage *s, const char *key, const char *value)
{
	if (!strcmp(key, "dir"))
		s->dir = value;
	else if (!strcmp(key, "abstract"))
		s->abstract = value;
	else if (!strcmp(key, "shm"))
		s->shm = value;
	else if (!strcmp(key, "host"))
		s->host = (pid_t)strtol(value, NULL, 10);
	else if (!strcmp(key, "address"))
		s->address = strtoul(value, NULL, 10);
	else if (!strcmp(key, "fd"))
		s->host_fd = (int)strtol(value, NULL, 10);
	else if (!strcmp(key, "port"))
		s->port = (int)strtol(value, NULL, 10);
	else if (!strcmp(key, "open"))
		s->open = (int)strtol(value, NULL, 10);
	else if (!strcmp(key, "full"))
		s->full = (int)strtol(value, NULL, 10);
	else if (!strcmp(key, "rounds"))
		s->rounds = (int)strtol(value, NULL, 10);
}

static const struct attempt *find(const char *name)
{
	for (size_t t = 0; t < TABLES; t++)
		for (const struct attempt *a = tables[t]; a->name; a++)
			if (!strcmp(a->name, name))
				return a;
	return NULL;
}

int main(int argc, char **argv)
{
	struct stage s = { .dir = "/nonexistent", .abstract = "", .shm = "", .host_fd = -1, .rounds = 300 };
	const struct attempt *a;

	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	if (argc == 4 && !strcmp(argv[1], "--victim"))
		return victim(argv[2], argv[3]);
	a = argc > 1 ? find(argv[1]) : NULL;
	if (!a) {
		fprintf(stderr, "attempt: no attempt '%s'\n", argc > 1 ? argv[1] : "");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		char *equals = strchr(argv[i], '=');

		if (!equals)
			return 2;
		*equals = '\0';
		set(&s, argv[i], equals + 1);
	}
	if (s.host <= 1) { /* kill(0) and kill(-1) mean something else than "the victim" */
		fputs("attempt: host=PID is missing\n", stderr);
		return 2;
	}
	s.name = a->name;
	alarm(LIFE_S); /* an attempt that hangs must not hang the suite */
	report(&s, a->fn(&s));
	return 0;
}
