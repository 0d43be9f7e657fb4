/* SPDX-License-Identifier: Apache-2.0 */
/* The played plugin of a Kythe driver: an analyzer that asks, and in most scenes asks for something wrong. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "check/host_own.h"

#define ANSWER_MS 10000 /* a driver answers at once, except analyze */
#define GRACE_MS  9500  /* the specification's ten seconds, less what a busy machine may need */

#define ASK(id, method, params) \
	"> {\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}\n"
#define TELL(method, params) "> {\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}\n"
#define HELLO(protocol) \
	ASK("1", "init", "{\"protocol\":\"" protocol "\",\"outputEncoding\":\"json\"}") "answer\n"
#define INIT        HELLO("kythe1")
#define ANALYZE(id) ASK(id, "analyze", "{\"types\":[\"/\"]}")
#define RECORD      ANALYZE("2") "answer\nlook\n"
#define WORK        INIT RECORD
#define VNAME(id)   ASK(id, "vname", "{\"path\":\"check.txt\",\"signature\":\"s\"}")
#define DONE        TELL("done", "{\"message\":\"success\"}")
#define REST        DONE ANALYZE("9") "rest\n"
#define NAMES       VNAME("3") "answer\n" VNAME("\"four\"") "answer\n"
#define TALK        NAMES TELL("log", "{\"message\":\"played\"}") REST

/* `> JSON` sends, `answer` waits for one message, `rest` works off what is left until stdin ends, `closed`
 * waits for the end of stdin. `look` reads the inputs and appends to the output. What comes is noted. */
static const struct {
	const char *scene, *script;
} scripts[] = {
	{ "good", WORK TALK },
	{ "split", WORK TALK },
	{ "stderr", "stderr\n" WORK TALK },
	{ "linger", WORK TALK "linger\n" },
	{ "joined", WORK "hold\n" VNAME("3") VNAME("4") VNAME("5") "flush\nanswer\nanswer\nanswer\n" REST },
	{ "unicode", WORK ASK("3", "vname",
			      "{\"path\":\"\xc3\xa9\xe4\xb8\xad.txt\",\"signature\":\"s\"}") "answer\n" REST },
	{ "batch", WORK "> [{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"vname\",\"params\":{\"path\":\"a\"}},"
			"{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"message\":\"played\"}},"
			"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"vname\",\"params\":{\"path\":\"b\"}}]\n"
			"answer\n" REST },
	{ "empty", WORK "> []\nanswer\n" REST },
	{ "unknown", WORK ASK("3", "mortise.check", "{}") "answer\n" REST },
	{ "params", WORK ASK("3", "vname", "{\"path\":7}") "answer\n" REST },
	{ "text", WORK "> {\"jsonrpc\":\nanswer\n" REST },
	{ "early", ANALYZE("2") "answer\nclosed\n" },
	{ "version", HELLO("kythe0") "closed\n" },
	{ "double", WORK ANALYZE("3") "answer\nclosed\n" },
	{ "corrupt", WORK "raw x5\nclosed\n" },
	{ "crash", WORK "crash\n" },
	{ "again", INIT "leave\n" RECORD TALK },
};

/* Requests of a driver are noted, and a row judges them; here they are no answer. */
static bool is_request(struct mor_slice body)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	return mor_doc_parse(body, 0, 0, &doc, NULL) == 0 && mor_json_get(mor_doc_root(doc), "method");
}

static bool next_answer(struct mor_check_player *p, struct mor_buf *body, int ms)
{
	do {
		while (!mor_check_play_next(p, body))
			if (!mor_check_play_read(p, ms))
				return false;
	} while (is_request(mor_buf_view(body)));
	return true;
}

/* ---- work ---- */

static void read_input(struct mor_check_player *p, const char *dir, const char *name)
{
	MOR_CLEAN_TEXT char *path = *name == '/' ? mor_strdup(name) : mor_text_format("%s/%s", dir, name);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		mor_check_play_note(p, MOR_CHECK_MARK_INPUT, mor_slice_of(name));
	mor_fd_close(&fd);
}

/* One entry: the driver may not accept an output without any. */
static void append_entry(struct mor_check_player *p, const char *output)
{
	static const char entry[] =
		"{\"source\":{\"path\":\"check.txt\",\"corpus\":\"c\"},\"fact_name\":\"/played\",\"fact_value\":\"eA==\"}";
	char record[sizeof(entry) + 1] = { (char)(sizeof(entry) - 1) }; /* a varint of one byte */
	int fd = *output ? open(output, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

	memcpy(record + 1, entry, sizeof(entry));
	if (fd < 0 || mor_fd_write_all(fd, record, sizeof(entry)) < 0)
		mor_check_play_note(p, MOR_CHECK_MARK_OUTPUT, mor_slice_of(output));
	mor_fd_close(&fd);
}

/* False: it is no record. */
static bool look_at_record(struct mor_check_player *p, struct mor_slice reply)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *result;
	struct mor_json_iter it;
	const char *dir;

	if (mor_doc_parse(reply, 0, 0, &doc, NULL) < 0)
		return false;
	result = mor_json_get(mor_doc_root(doc), "result");
	if (!mor_json_get(result, "inputs") && !mor_json_get(result, "output"))
		return false;
	dir = mor_json_text(mor_json_get(result, "workingDir"), ".");
	it = mor_json_iter(mor_json_get(result, "inputs"));
	while (mor_json_next(&it))
		read_input(p, dir, mor_json_text(it.value, ""));
	append_entry(p, mor_json_text(mor_json_get(result, "output"), ""));
	return true;
}

static void send_line(struct mor_check_player *p, const char *line)
{
	mor_check_play_send(p, (struct mor_slice){ line + 2, strcspn(line + 2, "\n") });
}

/* Further records are done as the first. */
static void work_off(struct mor_check_player *p, struct mor_buf *body)
{
	while (next_answer(p, body, -1)) {
		if (!look_at_record(p, mor_buf_view(body)))
			continue;
		send_line(p, DONE);
		send_line(p, ANALYZE("9"));
	}
}

/* Still alive at the end of its grace period? */
static void linger(struct mor_check_player *p)
{
	int64_t end = mor_clock_ms() + GRACE_MS;

	while (mor_clock_ms() < end)
		if (mor_check_play_terminated()) {
			mor_check_play_note(p, MOR_CHECK_MARK_TERM, MOR_SLICE(""));
			return;
		} else {
			poll(NULL, 0, 100);
		}
	mor_check_play_note(p, MOR_CHECK_MARK_SPARED, MOR_SLICE(""));
}

/* ---- scripts ---- */

/* The second process of this scene does the work: a file beside the record tells that there was a first. */
static bool leaves(const struct mor_check_player *p)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s.again", p->record_path);
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* All the frames of a script up to `flush`, in one write. */
static const char *send_joined(struct mor_check_player *p, const char *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf frames = MOR_BUF_INIT;

	while ((line = strchr(line, '\n') + 1) && *line == '>')
		mor_enframe(p->dialect->link.framing, (struct mor_slice){ line + 2, strcspn(line + 2, "\n") },
			    &frames);
	mor_fd_write_all(STDOUT_FILENO, frames.data, frames.len);
	return line;
}

static void await_end(struct mor_check_player *p, struct mor_buf *body)
{
	while (next_answer(p, body, ANSWER_MS))
		continue;
	if (!p->over)
		mor_check_play_note(p, MOR_CHECK_MARK_WAITED, MOR_SLICE("the end of stdin"));
}

/* False: the process is over. */
static bool run_step(struct mor_check_player *p, const char *line, struct mor_buf *body)
{
	struct mor_slice step = { line, strcspn(line, "\n") };

	if (*line == '>')
		send_line(p, line);
	else if (mor_slice_is(step, "answer"))
		return next_answer(p, body, -1);
	else if (mor_slice_is(step, "look"))
		(void)look_at_record(p, mor_buf_view(body));
	else if (mor_slice_is(step, "rest"))
		work_off(p, body);
	else if (mor_slice_is(step, "closed"))
		await_end(p, body);
	else if (mor_slice_is(step, "raw x5"))
		mor_fd_write_all(STDOUT_FILENO, "x5\n{}", 5);
	else if (mor_slice_is(step, "stderr"))
		mor_check_play_stderr();
	else if (mor_slice_is(step, "linger"))
		linger(p);
	else if (mor_slice_is(step, "crash"))
		_exit(3);
	return true;
}

void mor_check_play_kythe(struct mor_check_player *p)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	const char *line = "";

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (mor_check_plays(p, scripts[i].scene))
			line = scripts[i].script;
	while (*line) {
		if (strncmp(line, "hold", 4) == 0)
			line = send_joined(p, line);
		else if ((strncmp(line, "leave", 5) == 0 && leaves(p)) || !run_step(p, line, &body))
			return;
		line = strchr(line, '\n') + 1;
	}
}
