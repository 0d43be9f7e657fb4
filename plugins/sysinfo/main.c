/* SPDX-License-Identifier: Apache-2.0 */
/* sysinfo: live readings of this machine for an assistant, streamed, and a conversation about them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tenon/tenon.h>

#include "readings.h"

#define SENSORS  16
#define SLICE_MS 50  /* how soon a cancelled call is noticed */
#define CPU_MS   200 /* over how long the processors are measured for a single reading */

struct look { /* where readings come from, and the last one of the processors */
	const char *root;
	struct cpu_times cpu;
};

/* False: nobody wants it any more. */
static int wait_ms(tenon_call *call, double ms)
{
	for (; ms > 0 && !tenon_cancelled(call); ms -= SLICE_MS) {
		long nanoseconds = (long)(fmin(ms, SLICE_MS) * 1e6);

		nanosleep(&(struct timespec){ .tv_nsec = nanoseconds }, NULL);
	}
	return !tenon_cancelled(call);
}

/* ---- One reading each, as a line ---- */

static void show_cpu(tenon_call *call, struct look *look)
{
	struct cpu_times now;

	if (read_cpu(look->root, &now) < 0) {
		tenon_stream(call, "processors: not known\n");
		return;
	}
	tenon_stream(call, "processors: %.0f %% busy\n", cpu_percent(&look->cpu, &now));
	look->cpu = now;
}

static void show_memory(tenon_call *call, struct look *look)
{
	uint64_t used, total;

	if (read_memory(look->root, &used, &total) < 0)
		tenon_stream(call, "memory: not known\n");
	else
		tenon_stream(call, "memory: %llu of %llu MiB used\n", (unsigned long long)used,
			     (unsigned long long)total);
}

static void show_load(tenon_call *call, struct look *look)
{
	double load[3];

	if (read_load(look->root, load) < 0)
		tenon_stream(call, "load: not known\n");
	else
		tenon_stream(call, "load: %.2f in 1 min, %.2f in 5, %.2f in 15\n", load[0], load[1], load[2]);
}

static void show_temperatures(tenon_call *call, struct look *look)
{
	struct temperature sensors[SENSORS];
	size_t count = read_temperatures(look->root, sensors, SENSORS);

	if (count == 0)
		tenon_stream(call, "temperature: no sensor\n");
	for (size_t i = 0; i < count; i++)
		tenon_stream(call, "temperature: %.1f °C (%s)\n", sensors[i].celsius, sensors[i].name);
}

static const struct {
	const char *name;
	void (*show)(tenon_call *call, struct look *look);
} subjects[] = {
	{ "cpu", show_cpu },
	{ "memory", show_memory },
	{ "load", show_load },
	{ "temperature", show_temperatures },
};
#define CHOICES "all|cpu|memory|load|temperature"

/* How many subjects have this name; "all" is each of them. */
static int show_subjects(tenon_call *call, struct look *look, const char *name)
{
	int shown = 0;

	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		if (strcmp(name, "all") == 0 || strcmp(name, subjects[i].name) == 0) {
			subjects[i].show(call, look);
			shown++;
		}
	return shown;
}

static struct look begin_look(void)
{
	const char *root = getenv("SYSINFO_ROOT");
	struct look look = { .root = root ? root : "" };

	read_cpu(look.root, &look.cpu);
	return look;
}

/* ---- Commands ---- */

static int now(tenon_call *call)
{
	struct look look = begin_look();

	wait_ms(call, CPU_MS);
	show_subjects(call, &look, tenon_str(call, "what", "all"));
	return tenon_reply_text(call, "%s", "");
}

static int watch(tenon_call *call)
{
	struct look look = begin_look();
	double every = tenon_double(call, "every", 1), seconds = tenon_double(call, "seconds", 5), passed = 0;
	int count = 0;

	if (!(every >= 0.05 && every <= 3600))
		return tenon_fail(call, TENON_EPARAMS, "every: from 0.05 to 3600 seconds");
	if (!(seconds > 0 && seconds <= 86400))
		return tenon_fail(call, TENON_EPARAMS, "seconds: more than 0, at most 86400");
	while (passed < seconds && wait_ms(call, every * 1000)) {
		passed += every;
		show_subjects(call, &look, tenon_str(call, "what", "all"));
		count++;
	}
	return tenon_reply_text(call, "%d readings.", count);
}

/* A conversation is plain code: it asks until it is left. */
static int explore(tenon_call *call)
{
	struct look look = begin_look();
	const char *said =
		tenon_ask(call, "What shall I look at? cpu, memory, load, temperature, all; exit ends.");

	while (said && strcmp(said, "exit") != 0) {
		if (!show_subjects(call, &look, said))
			tenon_stream(call, "I know nothing about that.\n");
		said = tenon_ask(call, "What else?");
	}
	return tenon_reply_text(call, "Done.");
}

static const tenon_field now_fields[] = {
	{ "what", TENON_FIELD_STRING, "What to read", .fallback = "all", .choices = CHOICES },
	{ 0 },
};
static const tenon_field watch_fields[] = {
	{ "seconds", TENON_FIELD_NUMBER, "How long", .fallback = "5" },
	{ "every", TENON_FIELD_NUMBER, "Seconds between two readings", .fallback = "1" },
	{ "what", TENON_FIELD_STRING, "What to read", .fallback = "all", .choices = CHOICES },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "now", now, "One reading: processors, memory, load, temperatures.", .fields = now_fields },
	{ "watch", watch, "Streams readings for some seconds.", .fields = watch_fields },
	{ "explore", explore, "A conversation: ask for one reading after the other.", .fields = NULL },
	{ 0 },
};

int main(void)
{
	return tenon_run(&(tenon_plugin){
		.name = "sysinfo",
		.version = SYSINFO_VERSION,
		.description = "Live readings of this machine: processors, memory, load, temperatures.",
		.author = "Mortise contributors",
		.commands = commands,
	});
}
