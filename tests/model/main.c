/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: runs scripts made from seeds until the time or the steps are over; or plays the .ops files it is
 * given. Each run has a process of its own, so that a crash is a finding like any other.
 */
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "model.h"

#define MAX_OPS       400
#define HANGS_AFTER_S 60

/* What the process that runs leaves for the one that waits. */
static struct shared {
	uint64_t seed;
	char fault[2048];
	struct model_counts counts;
} * shared;

static struct {
	uint64_t seed, steps;
	unsigned seconds;
	const char *save;
	bool all;
	const char *without; /* no operations whose name has this in it */
} opt = { .seed = 1, .seconds = 10 };

/* ---- seeds ---- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	/* splitmix64 */
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ z >> 31) % below);
}

static unsigned code_of(const char *name)
{
	for (unsigned i = 0; i < op_kind_count; i++)
		if (strcmp(op_kinds[i].name, name) == 0)
			return i;
	abort();
}

static size_t put(uint8_t *script, size_t len, const char *name, unsigned a, unsigned b)
{
	op_encode(&(struct op){ .code = (uint8_t)code_of(name), .a = (uint8_t)a, .b = (uint8_t)b },
		  script + len);
	return len + OP_BYTES;
}

/* Each seed likes some operations and hardly does others: deep states need a bias (swarm testing). */
static void choose_weights(unsigned *weights, unsigned *total)
{
	*total = 0;
	for (unsigned i = 0; i < op_kind_count; i++) {
		unsigned mood = draw(4);

		if (opt.without && strstr(op_kinds[i].name, opt.without))
			mood = 4;
		weights[i] = mood == 4 ? 0 :
			     mood == 0 ? op_kinds[i].weight / 10 :
			     mood == 3 ? op_kinds[i].weight * 3 :
					 op_kinds[i].weight;
		*total += weights[i];
	}
}

static size_t script_of(uint64_t seed, uint8_t *script)
{
	unsigned weights[128], total, ops, same = 0, places;
	size_t len = 0;

	random_state = seed * 0x2545f4914f6cdd1d;
	choose_weights(weights, &total);
	ops = 10 + draw(draw(3) ? 120 : MAX_OPS - 20);
	same = draw(3) * 40;
	places = draw(2) ? 2 : PLACES; /* few plugins get further than many */
	len = put(script, len, "plugin", draw(2) * SINGLES, draw(256));
	if (draw(2) && weights[code_of("pool")])
		len = put(script, len, "pool", draw(256), draw(256));
	if (draw(2))
		len = put(script, len, "plugin", 1 + draw(2) * SINGLES, draw(256));
	while (len < ops * OP_BYTES) {
		unsigned at = draw(total), code = 0;

		while (at >= weights[code])
			at -= weights[code++];
		script[len] = (uint8_t)(code | (draw(256) < same ? OP_SAME_TURN : 0));
		script[len + 1] =
			(uint8_t)(draw(4) ? draw(places) + (draw(2) ? SINGLES * draw(2) : 0) : draw(256));
		script[len + 2] = (uint8_t)draw(256);
		len += OP_BYTES;
	}
	return len;
}

/* ---- in a process of its own ---- */

static void leave(const char *text)
{
	snprintf(shared->fault, sizeof(shared->fault), "%s", text);
	fflush(NULL);
	_exit(1);
}

/* True: it failed, and shared->fault says how. */
static bool wait_for(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFSIGNALED(status))
		snprintf(shared->fault, sizeof(shared->fault),
			 WTERMSIG(status) == SIGALRM ? "hangs" : "dies of %s", strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) && !shared->fault[0])
		snprintf(shared->fault, sizeof(shared->fault), "exits with status %d", WEXITSTATUS(status));
	return status != 0;
}

static void silence(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		dup2(fd, 2);
}

static bool fails(const uint8_t *script, size_t len, bool quiet)
{
	pid_t pid;

	shared->fault[0] = '\0';
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (quiet)
			silence();
		model_on_fault = leave;
		alarm(HANGS_AFTER_S);
		model_run(script, len);
		_exit(0);
	}
	return wait_for(pid);
}

/* The same fault, whatever the numbers in it. */
static void classify(const char *text, char *ret, size_t size)
{
	size_t len = 0;

	for (; *text && len + 1 < size && len < 60; text++)
		if (*text < '0' || *text > '9')
			ret[len++] = *text;
	ret[len] = '\0';
}

static bool fails_so(const uint8_t *script, size_t len, void *arg)
{
	char found[64];

	if (!fails(script, len, true))
		return false;
	classify(shared->fault, found, sizeof(found));
	return strcmp(found, arg) == 0;
}

/* ---- findings ---- */

static void report(uint64_t seed)
{
	static uint8_t script[4096 * OP_BYTES];
	size_t len = script_of(seed, script);
	char class[64];
	FILE *file;

	printf("seed %llu: %s\n", (unsigned long long)seed, shared->fault);
	classify(shared->fault, class, sizeof(class));
	len = shrink(script, len, fails_so, class);
	fails(script, len, true);
	printf("# %s\n", shared->fault);
	op_print(script, len, stdout);
	if (!opt.save)
		return;
	file = fopen(opt.save, "we");
	if (!file) {
		perror(opt.save);
		return;
	}
	fprintf(file, "# seed %llu: %s\n", (unsigned long long)seed, shared->fault);
	op_print(script, len, file);
	fclose(file);
	printf("saved as %s\n", opt.save);
}

static void run_seeds(int64_t until_ms)
{
	static uint8_t script[4096 * OP_BYTES];

	model_on_fault = leave;
	while (mor_clock_ms() < until_ms && (!opt.steps || shared->counts.steps < opt.steps)) {
		alarm(HANGS_AFTER_S);
		model_run(script, script_of(shared->seed, script));
		shared->counts.steps += model_counts.steps;
		shared->counts.calls += model_counts.calls;
		shared->counts.callbacks += model_counts.callbacks;
		model_counts = (struct model_counts){ 0 };
		shared->seed++;
	}
	_exit(0);
}

/* One process, until the time is up or something is found. */
static bool search_once(int64_t until_ms)
{
	pid_t pid;

	shared->fault[0] = '\0';
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_seeds(until_ms);
	return wait_for(pid);
}

/* Faults of the same kind are told once. */
static bool is_news(void)
{
	static char seen[64][64];
	static unsigned count;
	char class[64];

	classify(shared->fault, class, sizeof(class));
	for (unsigned i = 0; i < count; i++)
		if (strcmp(seen[i], class) == 0)
			return false;
	if (count < 64)
		memcpy(seen[count++], class, sizeof(class));
	return true;
}

static int search(void)
{
	int64_t begin = mor_clock_ms(), took,
		until = begin + (opt.steps ? INT32_MAX : (int64_t)opt.seconds * 1000);
	const struct model_counts *counts = &shared->counts;
	unsigned found = 0;

	shared->seed = opt.seed;
	while (search_once(until)) {
		found++;
		if (is_news())
			report(shared->seed);
		shared->seed++;
		if (!opt.all)
			break;
	}
	took = mor_clock_ms() - begin;
	printf("seeds %llu to %llu: %llu steps, %llu calls, %llu callbacks in %.1f s: %.0f steps/s; %u "
	       "faults\n",
	       (unsigned long long)opt.seed, (unsigned long long)shared->seed,
	       (unsigned long long)counts->steps, (unsigned long long)counts->calls,
	       (unsigned long long)counts->callbacks, (double)took / 1000,
	       (double)counts->steps * 1000 / (double)(took ? took : 1), found);
	return found > 0;
}

/* ---- scripts that were found ---- */

static bool play(const char *path, int number)
{
	static uint8_t script[4096 * OP_BYTES];
	char *text = NULL;
	size_t text_len = 0;
	unsigned line = 0;
	long len = mor_fd_read_file(path, 1 << 20, &text, &text_len) < 0 ?
			   -1 :
			   op_parse(text, script, sizeof(script), &line);
	bool failed = len < 0;

	if (failed)
		snprintf(shared->fault, sizeof(shared->fault), "line %u is no operation", line);
	else
		failed = fails(script, (size_t)len, false);
	mor_free(text);
	printf("%s %d - %s\n", failed ? "not ok" : "ok", number,
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (failed)
		printf("# %s\n", shared->fault);
	return failed;
}

static bool is_script(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".ops") == 0;
}

static int wanted(const struct dirent *entry)
{
	return is_script(entry->d_name);
}

static int play_folder(const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, wanted, alphasort), failed = 0;

	if (count < 0) {
		perror(dir);
		return 2;
	}
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		failed |= play(path, i + 1);
		free(entries[i]);
	}
	free(entries);
	return failed;
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: model [--seed N] [--seconds N | --steps N] [--save FILE]   run scripts made from "
		"seeds\n"
		"             [--all]                                             ... and go on after a "
		"finding\n"
		"             [--without WORD]                                    ... but no operation whose "
		"name has WORD in it\n"
		"       model [-v] FILE.ops | DIR                                  play scripts; -v tells all "
		"that happens\n"
		"       model --show SEED                                          the script of a seed\n"
		"       model --list                                               the operations\n");
	return status;
}

static int show(uint64_t seed)
{
	static uint8_t script[4096 * OP_BYTES];

	op_print(script, script_of(seed, script), stdout);
	return 0;
}

static int list(void)
{
	for (unsigned i = 0; i < op_kind_count; i++)
		printf("%-10s %s\n", op_kinds[i].name, op_kinds[i].doc);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },  { "seconds", required_argument, NULL, 't' },
		{ "steps", required_argument, NULL, 'n' }, { "save", required_argument, NULL, 'o' },
		{ "show", required_argument, NULL, 'S' },  { "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },        { "without", required_argument, NULL, 'w' },
		{ "all", no_argument, NULL, 'a' },         { 0 },
	};
	int c;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	while ((c = getopt_long(argc, argv, "v", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			opt.seed = strtoull(optarg, NULL, 10);
			break;
		case 't':
			opt.seconds = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'n':
			opt.steps = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			opt.save = optarg;
			break;
		case 'a':
			opt.all = true;
			break;
		case 'w':
			opt.without = optarg;
			break;
		case 'S':
			return show(strtoull(optarg, NULL, 10));
		case 'l':
			return list();
		case 'v':
			model_verbose = true;
			break;
		default:
			return usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind == argc)
		return search();
	if (optind + 1 < argc)
		return usage(2);
	if (is_script(argv[optind])) {
		printf("1..1\n");
		return play(argv[optind], 1);
	}
	return play_folder(argv[optind]);
}
