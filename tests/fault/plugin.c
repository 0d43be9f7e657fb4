/* SPDX-License-Identifier: Apache-2.0 */
/* See fault.h. The plugin: everything as it should be, but for one fault in one phase, once. */
#include "plugin.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "wire/envelope.h"

#define LIFE_SECONDS 1800 /* nobody here outlives a test that forgot it */

const struct tongue *tongue;
char id[64] = "0";
const char call_result[] = "(that of the call)";
const char *mark;
static const struct fault *fault;
static enum phase when;
static int next_id = 1; /* kythe: of what it asks */

/* ---- when ---- */

/* The fault, if it is due now. True: there is nothing more to say. */
static bool due(enum phase now, const char *result)
{
	static const char told[] = "fault: now\n";
	int fd;

	if (!fault->commit || now != when)
		return false;
	fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return false; /* it has been */
	flock(fd, LOCK_SH);   /* kept, by children too: who can lock it alone knows that all are gone */
	(void)!write(STDERR_FILENO, told, sizeof(told) - 1);
	fault->commit(result);
	return fault->answers;
}

static void ask(const char *method, const char *params)
{
	snprintf(id, sizeof(id), "%d", next_id++);
	send_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}", id, method, params);
}

/* An analyzer: init, analyze, done, analyze... */
static void take_answer(const struct mor_message *message)
{
	static bool working;

	if (message->kind == MOR_MSG_ERROR && message->id_int == next_id - 1)
		_exit(1); /* refused: there is nothing to do */
	if (message->kind != MOR_MSG_RESULT || message->id_int != next_id - 1)
		return;
	if (next_id == 2) {
		due(AT_IDLE, NULL);
	} else if (!working) {
		working = true;
		if (!due(AT_CALL, "{}"))
			send_text("{\"jsonrpc\":\"2.0\",\"method\":\"done\",\"params\":{}}");
		working = false;
	}
	ask("analyze", "{\"types\":[\"/\"]}");
}

static bool is_bye(const struct mor_message *message)
{
	if (mor_slice_is(message->method, "lifecycle"))
		return memmem(message->params.ptr, message->params.len, "shutdown", 8) != NULL;
	return mor_slice_is(message->method, "plugin.shutdown") || mor_slice_is(message->method, "shutdown");
}

static void take_request(const struct mor_message *message)
{
	static bool greeted;
	const char *result = call_result;
	bool call = mor_slice_is(message->method, tongue->method),
	     found = call || tongue_fixed(tongue, message->method, &result);
	enum phase phase = call ? AT_CALL : is_bye(message) ? AT_STOP : AT_START;

	snprintf(id, sizeof(id), "%.*s", (int)message->id.len, message->id.ptr ? message->id.ptr : "0");
	if ((phase != AT_START || !greeted) && due(phase, found && result ? result : "null"))
		return;
	greeted = true;
	if (found && !result)
		_exit(0);
	if (message->kind == MOR_MSG_REQUEST && found)
		answer(id, result);
	else if (message->kind == MOR_MSG_REQUEST)
		send_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no such "
			    "method\"}}",
			    id);
	if (call && !tongue->one_shot)
		due(AT_IDLE, NULL);
	else if (call)
		due(AT_STOP, NULL);
}

static void take_message(const struct mor_message *message)
{
	if (tongue->asks)
		take_answer(message);
	else if (message->kind == MOR_MSG_REQUEST || message->kind == MOR_MSG_NOTE)
		take_request(message);
}

static void serve(void)
{
	MOR_CLEAN(mor_buf) struct mor_buf in = MOR_BUF_INIT;
	struct mor_deframer deframer;
	ssize_t n;

	mor_deframer_init(&deframer, tongue->framing, 0, 0);
	do {
		if (mor_buf_reserve(&in, 65536) < 0)
			return;
		n = read(STDIN_FILENO, in.data + in.len, 65536);
		in.len += n > 0 ? (size_t)n : 0;
		tongue_take(&deframer, &in, false, take_message);
	} while (n > 0);
	due(AT_STOP, NULL);
}

static bool understand(int argc, char **argv)
{
	for (size_t i = 0; argc == 5 && i < fault_count; i++)
		if (strcmp(faults[i].name, argv[2]) == 0)
			fault = &faults[i];
	for (int i = 0; fault && i < PHASES; i++)
		if (strcmp(phase_names[i], argv[3]) == 0)
			when = (enum phase)i;
	tongue = fault ? tongue_find(argv[1]) : NULL;
	mark = tongue ? argv[4] : NULL;
	return mark;
}

int main(int argc, char **argv)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	alarm(LIFE_SECONDS);
	if (!understand(argc, argv))
		return 2;
	if (tongue->asks || !tongue->greets)
		due(AT_START, NULL);
	if (tongue->asks)
		ask("init", "{\"protocol\":\"kythe1\"}");
	serve();
	return 0;
}
