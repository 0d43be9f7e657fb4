/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose services are not known here, as HashiCorp's go-plugin has them: a descriptor set or reflection
 * says what they are, and its stdout and stderr come over gRPC, too. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "link/remote.h"

#define SET_LIMIT  ((size_t)32 << 20)
#define LINE_LIMIT 4096 /* a longer one is handed on in pieces */

int mor_remote_describe(struct mor_remote *s, mortise_error *err)
{
	const struct mor_remote_options *opt = s->opt->remote;
	MOR_CLEAN_TEXT char *bytes = NULL, *path = NULL;
	size_t len = 0;
	int r;

	s->described = s->addon->described_new();
	if (!s->described)
		return mor_fail_memory(err);
	if (!opt->proto)
		return 0;
	path = opt->dir ? mor_path_join(opt->dir, opt->proto) : mor_strdup(opt->proto);
	if (!path)
		return mor_fail_memory(err);
	if (mor_fd_read_file(path, SET_LIMIT, &bytes, &len) < 0)
		return mor_fail_errno(err, MORTISE_EMANIFEST, errno, "%s", path);
	r = s->addon->described_load(s->described, (struct mor_slice){ bytes, len }, err);
	if (r < 0 && err)
		mor_fail_prefix(err, path);
	return r;
}

/* ---- reflection ---- */

/* Puts the next question, or opens the plugin if no question is left. */
static void ask_next(struct mor_remote *s)
{
	MOR_CLEAN(mor_buf) struct mor_buf question = MOR_BUF_INIT;
	mortise_error err = { 0 };
	int r = s->addon->described_ask(s->described, &question, &err);

	if (r > 0)
		r = s->addon->send(s->reflection, mor_buf_view(&question));
	else if (r == 0)
		s->addon->finish(s->reflection);
	if (r < 0) {
		if (!err.code)
			mor_fail(&err, r, "%s", mortise_status_text(r));
		mor_remote_refuse(s, &err);
	}
}

static void on_description(void *arg, struct mor_slice message)
{
	struct mor_remote *s = arg;
	mortise_error err = { 0 };

	if (s->phase != MOR_REMOTE_HELLO)
		return;
	if (s->addon->described_hear(s->described, message, &err) < 0)
		mor_remote_refuse(s, &err);
	else
		ask_next(s);
}

static void begin_reflection(struct mor_remote *s);

/* A plugin without reflection can be used: its calls say what is missing. */
static void on_reflected(void *arg, unsigned status, const mortise_error *err)
{
	struct mor_remote *s = arg;
	mortise_error why;

	s->reflection = NULL;
	if (s->phase != MOR_REMOTE_HELLO ||
	    (err && (err->code == MORTISE_ECLOSED || err->code == MORTISE_ESYSTEM)))
		return;
	if (err && status == MOR_GRPC_UNIMPLEMENTED && !s->alpha) {
		s->alpha = true;
		begin_reflection(s);
	} else if (err && status != MOR_GRPC_UNIMPLEMENTED) {
		why = *err;
		mor_fail_prefix(&why, MOR_DESCRIBED_REFLECTION);
		mor_remote_refuse(s, &why);
	} else {
		mor_remote_open(s);
	}
}

static void begin_reflection(struct mor_remote *s)
{
	struct mor_grpc_call_options options = { .method = s->alpha ? MOR_DESCRIBED_REFLECTION_ALPHA :
								      MOR_DESCRIBED_REFLECTION,
						 .on_message = on_description,
						 .on_end = on_reflected,
						 .arg = s };
	mortise_error err = { 0 };

	if (s->addon->call(s->connection, &options, &s->reflection, &err) == 0)
		ask_next(s);
	else if (err.code != MORTISE_ECLOSED)
		mor_remote_refuse(s, &err);
}

void mor_remote_reflect(struct mor_remote *s)
{
	if (s->opt->remote->proto)
		mor_remote_open(s);
	else
		begin_reflection(s);
}

/* ---- stdout and stderr ---- */

static void on_stdio(void *arg, struct mor_slice message)
{
	struct mor_remote *s = arg;
	struct mor_buf *line = &s->said_err;
	struct mor_slice bytes;
	bool is_stderr;

	if (!s->addon->described_stdio(message, &is_stderr, &bytes) || s->dead)
		return;
	if (!is_stderr) {
		s->link.events->on_noise(s->link.arg, bytes, bytes.len);
		return;
	}
	while (bytes.len && !s->dead) {
		const char *end = memchr(bytes.ptr, '\n', bytes.len);
		size_t room = LINE_LIMIT - line->len, len = end ? (size_t)(end - bytes.ptr) : bytes.len;
		bool whole = end && len <= room;

		len = len < room ? len : room;
		mor_buf_append(line, bytes.ptr, len);
		if (whole || line->len == LINE_LIMIT) {
			s->link.events->on_stderr(s->link.arg, mor_buf_view(line));
			mor_buf_reset(line, LINE_LIMIT);
		}
		len += whole;
		bytes = (struct mor_slice){ bytes.ptr + len, bytes.len - len };
	}
}

/* Older ones do not have it, and that is no failure. */
static void on_stdio_end(void *arg, unsigned status, const mortise_error *err)
{
	(void)status;
	(void)err;
	mor_remote_end_stdio(arg);
}

void mor_remote_end_stdio(struct mor_remote *s)
{
	if (s->said_err.len && !s->dead)
		s->link.events->on_stderr(s->link.arg, mor_buf_view(&s->said_err));
	mor_buf_reset(&s->said_err, 0);
}

void mor_remote_follow_stdio(struct mor_remote *s)
{
	struct mor_grpc_call_options options = {
		.method = MOR_DESCRIBED_STDIO, .on_message = on_stdio, .on_end = on_stdio_end, .arg = s
	};
	struct mor_grpc_call *call;

	/* Without it the plugin still works. */
	if (s->addon->call(s->connection, &options, &call, NULL) < 0)
		return;
	if (s->addon->send(call, (struct mor_slice){ "", 0 }) < 0)
		s->addon->cancel(call);
	else
		s->addon->finish(call);
}
