/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of a session fails, one after the other, and all later ones with it: the session ends,
 * without a crash and, under the sanitizer, without a leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "dialect.h"

#define CALL(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\",\"params\":" params "}\n"

static int answer(tenon_call *call)
{
	size_t len;

	tenon_stream(call, "%s", "piece");
	tenon_wrote(call, "a file");
	if (tenon_get(tenon_sent(call), "source") && !tenon_source(call, 0, &len))
		return -1;
	tenon_object(call, NULL);
	tenon_put_str(call, "text", tenon_str(call, "text", "?"));
	tenon_put_str(call, "id", tenon_id(call));
	tenon_end(call);
	return tenon_done(call);
}

static int ask(tenon_call *call)
{
	const char *said = tenon_ask(call, "What?");

	return said ? tenon_reply_text(call, "%s", said) : tenon_fail_text(call, 1, "%s", "none");
}

static const tenon_field fields[] = { { "text", .fallback = "x" }, { 0 } };
static const tenon_command commands[] = {
	{ "do", answer, "Does", .fields = fields },
	{ .name = "ask", .fn = ask },
	{ 0 },
};
static const tenon_plugin plugin = {
	.name = "starved",
	.commands = commands,
	.hooks = commands,
	.extract = answer,
	.handler = answer,
};

static const struct script {
	const struct tn_dialect *dialect;
	const char *input; /* lines; they become frames of the dialect */
} scripts[] = {
	{ &tn_plain, CALL(1, "do", "{\"text\":\"a\"}") CALL(2, "do", "[]") CALL(3, "x", "{}") "[1,2]\n{\n" },
	{ &tn_yams, CALL(1, "handshake.manifest", "{}") CALL(2, "plugin.init", "{\"config\":{\"a\":[1]}}")
			    CALL(3, "extractor.extract", "{\"source\":{\"type\":\"bytes\",\"data\":\"QQ==\"}}")
				    CALL(4, "plugin.health", "{}") CALL(5, "plugin.shutdown", "{}") },
	{ &tn_gassist,
	  CALL(1, "initialize", "{}") CALL(2, "execute", "{\"function\":\"do\",\"arguments\":{}}")
		  CALL(3, "execute", "{\"function\":\"ask\"}") CALL(4, "input", "{\"content\":\"b\"}")
			  CALL(5, "ping", "{\"timestamp\":1}") CALL(6, "shutdown", "{}") },
	{ &tn_ayiou, CALL(1, "metadata", "{}") CALL(2, "handle", "{\"text\":\"/do 'a b'\",\"user_id\":1}")
			     CALL(3, "handle", "{\"text\":\"/ask\",\"user_id\":1}")
				     CALL(4, "handle", "{\"text\":\"/ask\",\"user_id\":2}")
					     CALL(5, "handle", "{\"text\":\"yes\",\"user_id\":1}") },
	{ &tn_sunscreen, CALL(1, "commands", "{}")
				 CALL(2, "run", "{\"command\":\"do\",\"args\":[\"a\"],\"flags\":{\"b\":1}}") },
	{ &tn_sunscreen_json,
	  CALL(1, "sunscreen.command/run", "{\"command\":\"do\",\"args\":[\"--text\",\"a\"]}") },
};

/* The script as a file of frames. */
static int input_of(const struct script *script)
{
	struct mor_buf frames = MOR_BUF_INIT;
	int fd = memfd_create("script", MFD_CLOEXEC);

	for (const char *line = script->input; *line;) {
		size_t len = strcspn(line, "\n");

		assert_int_equal(mor_enframe(script->dialect->framing, (struct mor_slice){ line, len },
					     &frames),
				 0);
		line += len + 1;
	}
	assert_int_equal(mor_fd_write_all(fd, frames.data, frames.len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	mor_buf_fini(&frames);
	return fd;
}

/* True if all allocations of the session were granted. */
static bool run_starved(const struct script *script, long allocations)
{
	struct tn_session session;
	long before;

	assert_int_equal(tn_session_init(&session, &plugin, script->dialect), 0);
	session.in = input_of(script);
	session.out = memfd_create("answers", MFD_CLOEXEC);
	before = mor_alloc_count();
	mor_alloc_fail_after(allocations);
	tn_serve(&session);
	mor_alloc_fail_after(-1);
	tn_session_fini(&session);
	return mor_alloc_count() - before <= allocations;
}

static void test_starved(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		long count = 0;

		while (!run_starved(&scripts[i], count))
			count++;
		assert_true(count > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_starved) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
