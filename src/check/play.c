/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin that a host starts under `mortise check --host`: it answers as a good plugin, or misbehaves as its
 * scene says, and writes down everything that the host sends. One line for each: `> message`, `! noise`,
 * `.` (end of stdin), `T` (SIGTERM). The file is read when the host has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "check/host_own.h"

#define PLAY_FRAME_BYTES ((size_t)256 << 20)
#define SPLIT_MS         1000 /* a host that has not read half a message by then gets the other half */
#define SPLIT_TICK_MS    10
#define TOGETHER_MS      300 /* a host that may have one request under way sends no second one in this time */

static const struct {
	const char *dialect, *method, *result;
} answers[] = {
	{ "yams", "handshake.manifest",
	  "{\"name\":\"played\",\"version\":\"1.0.0\",\"interfaces\":[\"content_extractor_v1\"],\"capabilities\":{\"content_extraction\":{\"formats\":[\"text/plain\"],\"extensions\":[\".txt\"]}}}" },
	{ "yams", "plugin.init", "{\"status\":\"initialized\"}" },
	{ "yams", "plugin.health", "{\"status\":\"ok\"}" },
	{ "yams", "plugin.shutdown", "null" },
	{ "yams", "extractor.supports", "{\"supported\":true,\"confidence\":1.0}" },
	{ "yams", "extractor.extract", "{\"success\":true,\"content\":\"played\\n\"}" },
	{ "ayiou", "metadata",
	  "{\"name\":\"played\",\"description\":\"d\",\"version\":\"1.0.0\",\"author\":null,\"commands\":[]}" },
	{ "ayiou", "lifecycle", "{\"ok\":true}" },
	{ "ayiou", "matches", "{\"matches\":true}" },
	{ "ayiou", "handle", "{\"handled\":true,\"block\":false,\"reply\":\"played\",\"actions\":[]}" },
	{ "gassist", "initialize", "{\"name\":\"played\",\"version\":\"1.0.0\",\"capabilities\":[]}" },
	{ "gassist", "ping", "{\"timestamp\":1}" },
	{ "gassist", "execute", "{\"success\":true,\"data\":\"played\",\"keep_session\":false}" },
	{ "gassist", "input", "{\"acknowledged\":true}" },
};

struct player {
	const struct mor_dialect *dialect;
	const char *scene;
	int record;
	struct mor_deframer deframer;
	struct mor_buf in;
	unsigned answered;
};

static volatile sig_atomic_t terminated;

static void on_term(int number)
{
	(void)number;
	terminated = 1;
}

static void note_line(struct player *p, char mark, struct mor_slice text)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_buf_byte(&line, mark);
	mor_buf_byte(&line, ' ');
	if (mark == '>')
		mor_json_one_line(text, &line);
	mor_buf_byte(&line, '\n');
	mor_fd_write_all(p->record, line.data, line.len);
}

/* Until the host has read the first half, and must wait for the second. */
static void await_reader(void)
{
	int ms = 0;

	do
		poll(NULL, 0, SPLIT_TICK_MS);
	while ((ms += SPLIT_TICK_MS) < SPLIT_MS && mor_fd_unread(STDOUT_FILENO) > 0);
}

static void send_text(struct player *p, struct mor_slice body)
{
	MOR_CLEAN(mor_buf) struct mor_buf frame = MOR_BUF_INIT;
	size_t first;

	mor_enframe(p->dialect->link.framing, body, &frame);
	first = strcmp(p->scene, "split") == 0 ? frame.len / 2 : frame.len;
	if (mor_fd_write_all(STDOUT_FILENO, frame.data, first) == 0 && first < frame.len) {
		await_reader();
		mor_fd_write_all(STDOUT_FILENO, frame.data + first, frame.len - first);
	}
}

static const char *answer_to(const struct player *p, const char *method)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (strcmp(answers[i].dialect, p->dialect->name) == 0 && strcmp(answers[i].method, method) == 0)
			return answers[i].result;
	return strcmp(p->dialect->name, "plain") == 0 ? "{\"played\":true}" : NULL;
}

/* What a tolerant host must bear; the answer itself still comes. */
static void misbehave(struct player *p)
{
	if (strcmp(p->scene, "noise") == 0)
		mor_fd_write_all(STDOUT_FILENO, "loading the model\n", 18);
	else if (strcmp(p->scene, "stray") == 0)
		send_text(p, mor_slice_of("{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":\"nobody asked\"}"));
	else if (strcmp(p->scene, "note") == 0)
		send_text(p, mor_slice_of("{\"jsonrpc\":\"2.0\",\"method\":\"mortise.check\",\"params\":{}}"));
	else if (strcmp(p->scene, "stderr") == 0)
		for (int i = 0; i < 4096; i++)
			mor_fd_write_all(STDERR_FILENO, "a line that nobody needs to read now\n", 37);
}

static void answer(struct player *p, const struct mor_value *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const struct mor_value *id = mor_json_get(message, "id");
	const char *method = mor_json_text(mor_json_get(message, "method"), ""), *result = answer_to(p, method);
	const struct mor_method *row = mor_dialect_method(p->dialect, MOR_FROM_HOST, mor_slice_of(method));
	struct mor_writer w = { .out = &text };

	if (!id)
		return;
	misbehave(p);
	if (strcmp(p->scene, "crash") == 0 && (!row || row->role == MOR_ROLE_CALL))
		_exit(3);
	mor_w_object(&w);
	mor_w_pair(&w, "jsonrpc", "2.0");
	mor_w_key(&w, "id");
	mor_w_value(&w, id);
	if (result)
		mor_w_pair_raw(&w, "result", mor_slice_of(result));
	else
		mor_w_pair_raw(&w, "error", mor_slice_of("{\"code\":-32601,\"message\":\"Method not found\"}"));
	mor_w_end(&w);
	send_text(p, mor_buf_view(&text));
	p->answered++;
}

/* Is there more, before this is answered? Pings may come beside a call. */
static void look_ahead(struct player *p)
{
	struct pollfd more = { .fd = STDIN_FILENO, .events = POLLIN };

	if (p->in.len == 0 && strcmp(p->scene, "slow") == 0 && poll(&more, 1, TOGETHER_MS) > 0 &&
	    (more.revents & POLLIN))
		note_line(p, '+', (struct mor_slice){ 0 });
}

static void take_frame(struct player *p, struct mor_slice body)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	note_line(p, '>', body);
	if (mor_doc_parse(body, 0, 0, &doc, NULL) < 0)
		return;
	look_ahead(p);
	answer(p, mor_doc_root(doc));
}

static void take_input(struct player *p, bool at_eof)
{
	struct mor_item item = { 0 };
	enum mor_item_kind kind;

	while ((kind = mor_deframe(&p->deframer, p->in.data, p->in.len, at_eof, &item)) != MOR_ITEM_MORE) {
		MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

		mor_buf_slice(&body, item.body);
		mor_buf_consume(&p->in, item.used);
		if (kind == MOR_ITEM_FRAME)
			take_frame(p, mor_buf_view(&body));
		else
			note_line(p, '!', (struct mor_slice){ 0 });
		if (kind == MOR_ITEM_CORRUPT)
			return;
		item = (struct mor_item){ 0 };
	}
}

/* False: SIGTERM has come. It may come between the test and the wait, so the wait is short. */
static bool await_input(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!terminated)
		if (poll(&input, 1, 100) > 0)
			return true;
	return false;
}

int mor_check_play(const char *scene, const char *record)
{
	const char *slash = strchr(scene, '/');
	MOR_CLEAN_TEXT char *dialect = slash ? mor_strndup(scene, (size_t)(slash - scene)) : NULL;
	struct player p = { .dialect = dialect ? mor_dialect_find(dialect) : NULL,
			    .scene = slash ? slash + 1 : "",
			    .record = record ? open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) :
					       -1 };
	struct sigaction action = { .sa_handler = on_term };
	ssize_t n = 1;

	if (!p.dialect || p.record < 0)
		return 2;
	sigaction(SIGTERM, &action, NULL);
	mor_deframer_init(&p.deframer, p.dialect->link.framing, PLAY_FRAME_BYTES, 0);
	while (n > 0 && await_input() && mor_buf_reserve(&p.in, 65536) == 0) {
		n = read(STDIN_FILENO, p.in.data + p.in.len, 65536);
		if (n > 0) {
			p.in.len += (size_t)n;
			take_input(&p, false);
		}
	}
	note_line(&p, terminated ? 'T' : '.', (struct mor_slice){ 0 });
	mor_buf_fini(&p.in);
	mor_fd_close(&p.record);
	return 0;
}
