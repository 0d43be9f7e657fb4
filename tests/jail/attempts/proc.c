/* SPDX-License-Identifier: Apache-2.0 */
/* /proc of others, and what /proc shows of the machine. */
#include "attempt.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static int open_host(const struct stage *s, const char *file, int flags)
{
	char path[8192];

	snprintf(path, sizeof(path), "/proc/%d/%s", s->host, file);
	return open(path, flags);
}

static struct result proc_cmdline(const struct stage *s)
{
	return read_secret("cmdline", open_host(s, "cmdline", O_RDONLY));
}

static struct result proc_environ(const struct stage *s)
{
	return read_secret("environ", open_host(s, "environ", O_RDONLY));
}

static struct result proc_maps(const struct stage *s)
{
	char buf[256];
	int fd = open_host(s, "maps", O_RDONLY);

	return got("maps", fd < 0 ? -1 : read(fd, buf, sizeof(buf)));
}

static struct result proc_mem(const struct stage *s)
{
	char buf[64];
	int fd = open_host(s, "mem", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof(buf), (off_t)s->address);

	return n > 0 && contains(buf, (size_t)n, SECRET) ? yes("mem") : no("mem");
}

static struct result proc_fd(const struct stage *s)
{
	char file[32];

	snprintf(file, sizeof(file), "fd/%d", s->host_fd);
	return read_secret("fd", open_host(s, file, O_RDONLY));
}

static struct result proc_rootlink(const struct stage *s)
{
	char file[4096];

	snprintf(file, sizeof(file), "root%s", in(s, "outside/secret.txt"));
	return read_secret("root", open_host(s, file, O_RDONLY));
}

static struct result proc_cwdlink(const struct stage *s)
{
	return read_secret("cwd", open_host(s, "cwd/outside/secret.txt", O_RDONLY));
}

static struct result proc_list(const struct stage *s)
{
	char pid[16];
	DIR *dir = opendir("/proc");
	struct dirent *e;
	bool seen = false;

	if (!dir)
		return no("opendir");
	snprintf(pid, sizeof(pid), "%d", s->host);
	while ((e = readdir(dir)))
		seen = seen || !strcmp(e->d_name, pid);
	errno = 0;
	return seen ? yes("readdir /proc") : no("readdir /proc");
}

/* The first process outside is the runner; one of the jail's own PID namespace would be no find. */
static struct result proc_1(const struct stage *s)
{
	char buf[4096];
	int fd = open("/proc/1/cmdline", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	(void)s;
	return n > 0 && contains(buf, (size_t)n, "run.py") ? yes("cmdline of 1") : no("cmdline of 1");
}

static struct result lines(const char *how, const char *path, const char *needle)
{
	char line[4096];
	FILE *f = fopen(path, "re");
	bool seen = false;

	if (!f)
		return no(how);
	while (fgets(line, sizeof(line), f))
		seen = seen || strstr(line, needle);
	fclose(f);
	errno = 0;
	return seen ? yes(how) : no(how);
}

static struct result proc_net(const struct stage *s)
{
	(void)s;
	return lines("net/unix", "/proc/net/unix", "host.sock");
}

static struct result proc_net_tcp(const struct stage *s)
{
	char port[16];

	snprintf(port, sizeof(port), ":%04X ", (unsigned)s->port);
	return lines("net/tcp", "/proc/self/net/tcp", port);
}

const struct attempt proc_attempts[] = {
	{ "proc_cmdline", "read", 16, 'D', 0, 0, 0, proc_cmdline },
	{ "proc_environ", "read", 16, 'D', 0, 0, 0, proc_environ },
	{ "proc_maps", "read", 16, 'D', 0, 0, 0, proc_maps },
	{ "proc_mem", "read", 17, 'D', 0, 0, 0, proc_mem },
	{ "proc_fd", "read", 18, 'D', 0, 0, 0, proc_fd },
	{ "proc_rootlink", "read", 18, 'D', 0, 0, 0, proc_rootlink },
	{ "proc_cwdlink", "read", 18, 'D', 0, 0, 0, proc_cwdlink },
	{ "proc_list", "read", 19, 'D', 0, 0, 0, proc_list },
	{ "proc_1", "read", 19, 'D', 0, 0, 0, proc_1 },
	{ "proc_net", "read", 20, 'B', 0, 0, 0, proc_net },
	{ "proc_net_tcp", "read", 20, 'B', 0, 0, 0, proc_net_tcp },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
