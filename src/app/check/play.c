/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin that a host starts under `mortise check --host`: it answers as a good plugin, or misbehaves as its
 * scene says, and writes down everything that the host sends (host_own.h). The file is read when the host has
 * ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "check/host_own.h"

#define PLAY_FRAME_BYTES ((size_t)256 << 20)
#define SPLIT_MS         1000 /* a host that has not read half a message by then gets the other half */
#define SPLIT_TICK_MS    10
#define SCENE_BYTES      8192
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
	{ "sunscreen", "commands",
	  "{\"scaffold\":{\"played\":\"Is played\"},\"hook\":{\"played_hook\":\"Is played\"}}" },
	{ "sunscreen", "run", "{\"files_written\":[],\"summary\":\"played\"}" },
	{ "sunscreen", "hook", "{\"files_written\":[],\"summary\":\"played\"}" },
	{ "sunscreen-json", "sunscreen.command/run", "{\"message\":\"played\"}" },
	{ "sunscreen-json", "sunscreen.hook/run", "{\"message\":\"played\"}" },
};

static volatile sig_atomic_t terminated;

static void on_term(int number)
{
	(void)number;
	terminated = 1;
}

bool mor_check_play_terminated(void)
{
	return terminated;
}

bool mor_check_plays(const struct mor_check_player *p, const char *scene)
{
	return strcmp(p->scene, scene) == 0;
}

void mor_check_play_note(struct mor_check_player *p, enum mor_check_mark mark, struct mor_slice text)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_buf_byte(&line, (char)mark);
	mor_buf_byte(&line, ' ');
	if (mark == MOR_CHECK_MARK_MESSAGE)
		mor_json_one_line(text, &line);
	else
		mor_buf_slice(&line, text);
	mor_buf_byte(&line, '\n');
	if (p->record >= 0)
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

static void note_mark(struct mor_check_player *p, enum mor_check_mark mark)
{
	mor_check_play_note(p, mark, MOR_SLICE(""));
}

void mor_check_play_send(struct mor_check_player *p, struct mor_slice body)
{
	MOR_CLEAN(mor_buf) struct mor_buf frame = MOR_BUF_INIT;
	size_t first;

	if (mor_check_plays(p, "bare"))
		mor_buf_slice(&frame, body);
	else
		mor_enframe(p->dialect->link.framing, body, &frame);
	first = mor_check_plays(p, "split") ? frame.len / 2 : frame.len;
	if (mor_fd_write_all(STDOUT_FILENO, frame.data, first) == 0 && first < frame.len) {
		await_reader();
		mor_fd_write_all(STDOUT_FILENO, frame.data + first, frame.len - first);
	}
}

/* ---- scenes ---- */

static const char *answer_to(const struct mor_check_player *p, const char *method)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (strcmp(answers[i].dialect, p->dialect->name) == 0 && strcmp(answers[i].method, method) == 0)
			return answers[i].result;
	return strcmp(p->dialect->name, "plain") == 0 ? "{\"played\":true}" : NULL;
}

void mor_check_play_stderr(void)
{
	for (int i = 0; i < 4096; i++)
		mor_fd_write_all(STDERR_FILENO, "a line that nobody needs to read now\n", 37);
}

/* What a tolerant host must bear; the answer itself still comes. */
static void misbehave(struct mor_check_player *p)
{
	if (mor_check_plays(p, "noise"))
		mor_fd_write_all(STDOUT_FILENO, "loading the model\n", 18);
	else if (mor_check_plays(p, "stray"))
		mor_check_play_send(p,
				    mor_slice_of(
					    "{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":\"nobody asked\"}"));
	else if (mor_check_plays(p, "note"))
		mor_check_play_send(p,
				    mor_slice_of(
					    "{\"jsonrpc\":\"2.0\",\"method\":\"mortise.check\",\"params\":{}}"));
	else if (mor_check_plays(p, "stderr"))
		mor_check_play_stderr();
}

static bool try_file(const struct mor_check_player *p, const char *name, int flags)
{
	MOR_CLEAN_TEXT char *path = NULL;
	const char *slash = strrchr(p->record_path, '/');
	int fd;

	path = mor_text_format("%.*s/%s", (int)(slash - p->record_path), p->record_path, name);
	fd = path ? open(path, flags | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool try_network(void)
{
	struct sockaddr_in discard = { .sin_family = AF_INET,
				       .sin_port = htons(9),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool allowed = fd >= 0 && (connect(fd, (struct sockaddr *)&discard, sizeof(discard)) == 0 ||
				   errno == ECONNREFUSED);

	mor_fd_close(&fd);
	return allowed;
}

static bool try_spawn(void)
{
	char *const argv[] = { (char *)"true", NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0)
		return false;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return true;
}

/* What a sandbox must not allow. True: it was refused. */
static bool is_refused(const struct mor_check_player *p)
{
	if (mor_check_plays(p, "write"))
		return !try_file(p, "attempt", O_WRONLY | O_CREAT);
	if (mor_check_plays(p, "read"))
		return !try_file(p, "../outside", O_RDONLY);
	if (mor_check_plays(p, "network"))
		return !try_network();
	if (mor_check_plays(p, "spawn"))
		return !try_spawn();
	return mor_check_plays(p, "refuse");
}

/* ---- answers ---- */

static void write_answer(struct mor_check_player *p, const struct mor_value *id, const char *member,
			 const char *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };

	mor_w_object(&w);
	mor_w_pair(&w, "jsonrpc", "2.0");
	mor_w_key(&w, "id");
	if (mor_check_plays(p, "id"))
		mor_w_slice(&w, MOR_SLICE("another"));
	else
		mor_w_value(&w, id);
	mor_w_pair_raw(&w, member, mor_slice_of(value));
	mor_w_end(&w);
	mor_check_play_send(p, mor_buf_view(&text));
}

static void answer(struct mor_check_player *p, const struct mor_value *message)
{
	const struct mor_value *id = mor_json_get(message, "id");
	const char *method = mor_json_text(mor_json_get(message, "method"), ""), *result = answer_to(p, method);
	const struct mor_method *row = mor_dialect_method(p->dialect, MOR_FROM_HOST, mor_slice_of(method));
	bool call = !row || row->role == MOR_ROLE_CALL;

	if (!id)
		return;
	misbehave(p);
	if (mor_check_plays(p, "crash") && call)
		_exit(3);
	if (call && is_refused(p))
		write_answer(p, id, "error",
			     "{\"code\":4,\"message\":\"refused\",\"data\":{\"next_step\":\"none\"}}");
	else if (result)
		write_answer(p, id, "result", result);
	else
		write_answer(p, id, "error", "{\"code\":-32601,\"message\":\"Method not found\"}");
}

/* Is there more, before this is answered? Pings may come beside a call. */
static void look_ahead(struct mor_check_player *p)
{
	struct pollfd more = { .fd = STDIN_FILENO, .events = POLLIN };

	if (!mor_check_plays(p, "slow"))
		return;
	if (p->in.len || (poll(&more, 1, TOGETHER_MS) > 0 && (more.revents & POLLIN)))
		note_mark(p, MOR_CHECK_MARK_EAGER);
}

static void take_frame(struct mor_check_player *p, struct mor_slice body)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (mor_doc_parse(body, 0, 0, &doc, NULL) < 0)
		return;
	if (p->dialect->life.shape == MOR_SHAPE_ONE_CALL) {
		if (!p->only)
			p->only = mor_take(&doc);
		return;
	}
	look_ahead(p);
	answer(p, mor_doc_root(doc));
}

/* ---- input ---- */

bool mor_check_play_next(struct mor_check_player *p, struct mor_buf *ret_body)
{
	struct mor_item item = { 0 };
	enum mor_item_kind kind;

	while ((kind = mor_deframe(&p->deframer, p->in.data, p->in.len, p->over, &item)) != MOR_ITEM_MORE) {
		ret_body->len = 0;
		mor_buf_slice(ret_body, item.body);
		mor_buf_consume(&p->in, item.used);
		if (kind == MOR_ITEM_FRAME) {
			mor_check_play_note(p, MOR_CHECK_MARK_MESSAGE, mor_buf_view(ret_body));
			return true;
		}
		note_mark(p, MOR_CHECK_MARK_NOISE);
		if (kind == MOR_ITEM_CORRUPT)
			return false;
		item = (struct mor_item){ 0 };
	}
	return false;
}

/* SIGTERM may come between the test and the wait, so each wait is short. */
static bool await_input(int ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	for (int waited = 0; !terminated && (ms < 0 || waited < ms); waited += 100)
		if (poll(&input, 1, 100) > 0)
			return true;
	return false;
}

bool mor_check_play_read(struct mor_check_player *p, int ms)
{
	ssize_t n;

	if (p->over || (!await_input(ms) && !terminated))
		return false;
	n = !terminated && mor_buf_reserve(&p->in, 65536) == 0 ?
		    read(STDIN_FILENO, p->in.data + p->in.len, 65536) :
		    0;
	if (n > 0) {
		p->in.len += (size_t)n;
		return true;
	}
	p->over = true;
	note_mark(p, terminated ? MOR_CHECK_MARK_TERM : MOR_CHECK_MARK_END);
	return false;
}

/* ---- the whole life ---- */

/* What a host of bare plugins may give, and what a shell between us may add. */
static bool is_known_name(const char *name, size_t len)
{
	return mor_text_in(
		(struct mor_slice){ name, len },
		"PATH|NO_COLOR|SUNSCREEN_WORKSPACE_ROOT|SUNSCREEN_PLUGIN_SCRATCH|HOME|TMPDIR|PWD|OLDPWD|SHLVL|_");
}

static void note_environment(struct mor_check_player *p)
{
	for (char **e = environ; p->dialect->life.env == MOR_ENVIRON_BARE && *e; e++) {
		size_t len = strcspn(*e, "=");

		if (!is_known_name(*e, len))
			mor_check_play_note(p, MOR_CHECK_MARK_ENV, (struct mor_slice){ *e, len });
	}
}

static int play_server(struct mor_check_player *p)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	while (mor_check_play_read(p, -1))
		while (mor_check_play_next(p, &body))
			take_frame(p, mor_buf_view(&body));
	if (p->only && !terminated) {
		poll(NULL, 0, mor_check_plays(p, "slow") ? TOGETHER_MS : 0);
		answer(p, mor_doc_root(p->only));
	}
	mor_doc_free(p->only);
	return mor_check_plays(p, "status") ? 3 : 0;
}

/* Reads SCENE, which lies beside this program; it is ours alone, so nobody else can have put it there. */
static char *read_scene(void)
{
	char self[PATH_MAX] = "", *slash, *text = NULL;
	size_t len;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - sizeof(MOR_CHECK_SCENE));

	slash = n > 0 ? strrchr(self, '/') : NULL;
	if (!slash)
		return NULL;
	memcpy(slash + 1, MOR_CHECK_SCENE, sizeof(MOR_CHECK_SCENE));
	return mor_fd_read_file(self, SCENE_BYTES, &text, &len) < 0 ? NULL : text;
}

bool mor_check_play(int *ret_status)
{
	MOR_CLEAN_TEXT char *text = read_scene();
	char *slash = text ? strchr(text, '/') : NULL, *end = slash ? strchr(slash, '\n') : NULL;
	struct mor_check_player p = { .scene = slash ? slash + 1 : "", .record = -1 };
	struct sigaction action = { .sa_handler = on_term };

	if (!text)
		return false;
	*ret_status = 2;
	if (!end)
		return true;
	*slash = *end = '\0';
	snprintf(p.record_path, sizeof(p.record_path), "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
	p.dialect = mor_dialect_find(text);
	if (!p.dialect)
		return true;
	if (!mor_check_plays(&p, "write"))
		p.record = open(p.record_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	sigaction(SIGTERM, &action, NULL);
	mor_deframer_init(&p.deframer, p.dialect->link.framing, PLAY_FRAME_BYTES, 0);
	note_mark(&p, MOR_CHECK_MARK_START);
	note_environment(&p);
	*ret_status = 0;
	if (p.dialect->serve)
		mor_check_play_kythe(&p);
	else
		*ret_status = play_server(&p);
	mor_buf_fini(&p.in);
	mor_fd_close(&p.record);
	return true;
}
