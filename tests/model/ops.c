/* SPDX-License-Identifier: Apache-2.0 */
/* The script: bytes, operations, text; and the interpreter. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct world world;
struct model_counts model_counts;
bool model_verbose;
void (*model_on_fault)(const char *text);

/* ---- telling ---- */

void model_fault(const char *format, ...)
{
	static char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (model_on_fault)
		model_on_fault(text);
	fprintf(stderr, "model: %s\n", text);
	abort();
}

void model_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- operations that are neither the embedder's nor a process's message ---- */

static void do_call(const struct op *op)
{
	call_start(&world.places[op->a % PLACES], op->b);
}

static void do_pool_call(const struct op *op)
{
	pool_call_start(&world.pools[op->a % POOLS], op->b);
}

static void do_burst(const struct op *op)
{
	for (unsigned i = 0; i < 1u + op->b % 24; i++) {
		if (op->a & 0x40)
			pool_call_start(&world.pools[op->a % POOLS], i % 4);
		else
			call_start(&world.places[op->a % PLACES], i % 4);
	}
}

static void do_cancel(const struct op *op)
{
	call_cancel_recent(op->a);
}

/* The next operation of the script waits for the next callback. */
static void do_react(const struct op *op)
{
	(void)op;
	if (world.at + OP_BYTES > world.script_len || world.reaction_count == REACTIONS)
		return;
	world.reactions[world.reaction_count++] = op_decode(world.script + world.at);
	world.at += OP_BYTES;
}

static void do_wait(const struct op *op)
{
	static const uint32_t times[] = { 0,   1,    2,    10,   49,    50,    99,    100,    101,
					  500, 1000, 2000, 5000, 10000, 30000, 61000, 300000, 600000 };

	if (!world.depth)
		run_loops(times[op->b % (sizeof(times) / sizeof(*times))]);
}

static void do_stderr(const struct op *op)
{
	struct proc *p = proc_at(op->a);

	if (!p)
		return;
	p->stderr_waits = true;
	proc_act(p);
}

static void do_shut(const struct op *op)
{
	struct proc *p = proc_at(op->a);

	if (!p)
		return;
	if (op->b & 1)
		p->breaks_stdin = true;
	else
		p->shuts_stdout = true;
	proc_act(p);
}

static void do_die(const struct op *op)
{
	struct proc *p = proc_at(op->a);

	if (!p)
		return;
	p->ends = true;
	p->end_kind = op->b % 5;
	proc_act(p);
}

static void do_slow(const struct op *op)
{
	struct proc *p = proc_at(op->a);

	if (!p)
		return;
	p->slow = op->b < 224;
	proc_take(p, op->b % 64);
}

static void do_drip(const struct op *op)
{
	struct proc *p = proc_at(op->a);

	if (!p)
		return;
	p->drip = op->b % 32;
	proc_act(p);
}

static void do_manners(const struct op *op)
{
	struct place *place = &world.places[op->a % PLACES];

	place->manners = op->b & ALL_MANNERS;
	if (place->proc && op->b & 0x40) {
		place->proc->manners = place->manners;
		if (place->proc->announced)
			mouth_answer_duties(place->proc);
	}
	if (place->proc)
		place->proc->lingers = op->b >> 7 ? 3 : 0;
}

static void do_lack(const struct op *op)
{
	struct place *place = &world.places[op->a % PLACES];

	place->lack = op->b % 7;
	place->lack_count = 1 + (op->b / 7) % 3;
}

static void do_abrupt(const struct op *op)
{
	(void)op;
	world.abrupt = true;
}

/* ---- the table: its order is the encoding, new ones go to the end ---- */

const struct op_kind op_kinds[] = {
	{ "host", 4, embed_host, "a host at A" },
	{ "plugin", 40, embed_plugin, "a plugin at A; B: dialect and settings" },
	{ "ref", 8, embed_ref, "one more reference to the plugin at A" },
	{ "unref", 15, embed_unref, "one less" },
	{ "start", 40, embed_start, "" },
	{ "stop", 25, embed_stop, "B: politely, its stdin, now" },
	{ "pause", 12, embed_pause, "B odd: its stdout is not read" },
	{ "call", 140, do_call, "the plugin at A; B: method, limits, flags" },
	{ "cancel", 25, do_cancel, "the A-th last call" },
	{ "pool", 15, embed_pool, "a pool at A; B as plugin" },
	{ "pool_call", 90, do_pool_call, "" },
	{ "pool_stop", 8, embed_pool_stop, "" },
	{ "pool_free", 8, embed_pool_free, "" },
	{ "reply", 40, embed_reply, "the A-th request of a plugin is answered" },
	{ "host_free", 4, embed_host_free, "" },
	{ "describe", 3, embed_describe, "" },
	{ "tap", 3, embed_tap, "B odd: on" },
	{ "view", 10, embed_view, "B even: none" },
	{ "burst", 15, do_burst, "many calls of A" },
	{ "react", 60, do_react, "the next operation waits for the next callback" },
	{ "wait", 130, do_wait, "B: how long" },
	{ "answer", 150, mouth_answer, "the process at A answers; B: which, how" },
	{ "ignore", 15, mouth_ignore, "it never will" },
	{ "note", 50, mouth_note, "" },
	{ "ask", 40, mouth_ask, "a request of its own, or a batch" },
	{ "noise", 20, mouth_noise, "" },
	{ "stray", 30, mouth_stray, "an answer that nobody waits for" },
	{ "stderr", 4, do_stderr, "" },
	{ "shut", 12, do_shut, "B odd: its stdin, else its stdout" },
	{ "die", 40, do_die, "" },
	{ "slow", 25, do_slow, "it reads B bytes and stops" },
	{ "drip", 10, do_drip, "its output arrives B bytes at a time" },
	{ "manners", 50, do_manners, "B: what it does by itself from now on" },
	{ "lack", 15, do_lack, "the next starts fail" },
	{ "abrupt", 1, do_abrupt, "the end of the script is no polite one" },
};
const unsigned op_kind_count = sizeof(op_kinds) / sizeof(*op_kinds);

struct op op_decode(const uint8_t bytes[OP_BYTES])
{
	return (struct op){ (uint8_t)((bytes[0] & 0x7f) % op_kind_count), bytes[1], bytes[2],
			    bytes[0] & OP_SAME_TURN };
}

void op_encode(const struct op *op, uint8_t bytes[OP_BYTES])
{
	bytes[0] = (uint8_t)(op->code | (op->same_turn ? OP_SAME_TURN : 0));
	bytes[1] = op->a;
	bytes[2] = op->b;
}

/* ---- as text ---- */

void op_print(const uint8_t *bytes, size_t len, FILE *out)
{
	for (size_t at = 0; at + OP_BYTES <= len; at += OP_BYTES) {
		struct op op = op_decode(bytes + at);

		fprintf(out, "%s %u %u%s\n", op_kinds[op.code].name, op.a, op.b, op.same_turn ? " &" : "");
	}
}

static bool parse_line(char *line, struct op *op)
{
	char name[32], and[4] = "";
	unsigned a = 0, b = 0;

	if (sscanf(line, "%31s %u %u %3s", name, &a, &b, and) < 3 || a > 255 || b > 255 ||
	    (*and&&strcmp(and, "&") != 0))
		return false;
	for (unsigned i = 0; i < op_kind_count; i++) {
		if (strcmp(op_kinds[i].name, name) == 0) {
			*op = (struct op){ (uint8_t)i, (uint8_t)a, (uint8_t)b, *and};
			return true;
		}
	}
	return false;
}

long op_parse(const char *text, uint8_t *bytes, size_t room, unsigned *ret_line)
{
	unsigned number = 0;
	size_t len = 0;

	while (*text) {
		size_t line_len = strcspn(text, "\n");
		char line[128] = "";
		struct op op;

		number++;
		if (ret_line)
			*ret_line = number;
		memcpy(line, text, line_len < sizeof(line) - 1 ? line_len : sizeof(line) - 1);
		text += line_len + (text[line_len] == '\n');
		if (line[0] == '#' || line[strspn(line, " \t\r")] == '\0')
			continue;
		if (len + OP_BYTES > room || !parse_line(line, &op))
			return -1;
		op_encode(&op, bytes + len);
		len += OP_BYTES;
	}
	return (long)len;
}

/* ---- the interpreter ---- */

void op_run(const struct op *op)
{
	SAY("%s %u %u%s", op_kinds[op->code].name, op->a, op->b, op->same_turn ? " &" : "");
	world.steps++;
	op_kinds[op->code].run(op);
}

static void step(void)
{
	struct op op = op_decode(world.script + world.at);

	world.at += OP_BYTES;
	op_run(&op);
	for (unsigned i = 0; i < PLACES; i++)
		if (world.places[i].proc)
			proc_tick(world.places[i].proc);
	if (op.same_turn)
		return;
	run_loops(0);
	check_rest();
}

static void empty_world(const uint8_t *script, size_t len)
{
	size_t calls = offsetof(struct world, calls), after = offsetof(struct world, call_count);

	/* Not the calls: half a megabyte, of which little is ever used. */
	memset(&world, 0, calls);
	memset((char *)&world + after, 0, sizeof(world) - after);
	world.script = script;
	world.script_len = len;
	for (unsigned i = 0; i < PLACES; i++)
		world.places[i].manners = GREETS | PONGS | SAYS_BYE | HEEDS_EOF | HEEDS_TERM;
}

static long blocks_before;

void model_begin(const uint8_t *script, size_t len)
{
	blocks_before = live.blocks;
	live.peak = live.bytes = 0;
	empty_world(script, len);
}

void model_end(void)
{
	if (!world.abrupt) {
		run_loops(0);
		check_drain();
	}
	world.reaction_count = 0;
	embed_free_all();
	check_empty();
	if (live.blocks != blocks_before)
		model_fault("%ld blocks of memory are left", live.blocks - blocks_before);
	model_counts.steps += world.steps;
	model_counts.calls += world.call_count;
	model_counts.callbacks += world.callbacks;
}

void model_run(const uint8_t *script, size_t len)
{
	model_begin(script, len);
	while (world.at + OP_BYTES <= len)
		step();
	model_end();
}
