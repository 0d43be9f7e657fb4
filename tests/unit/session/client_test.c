/* SPDX-License-Identifier: Apache-2.0 */
/* What commands do with what a keeper says. The keeper is a thread that says what the test wants. */
#include "leak.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "said.h"
#include "session/inside.h"
#include "top.h"

/* ---- the keeper ---- */

struct keeper {
	struct mor_session_seat seat;
	const char *const *says; /* JSON each; then it closes the connection */
	char asked[500];
	pthread_t thread;
};

static void *keep(void *arg)
{
	struct keeper *keeper = arg;
	int fd = accept(keeper->seat.listener, NULL, NULL);
	struct mor_session_wire wire;
	struct mor_slice ask;

	mor_session_wire_open_take(&wire, fd);
	if (mor_session_wire_wait(&wire, 60000, &ask) == 0)
		snprintf(keeper->asked, sizeof(keeper->asked), "%.*s", (int)ask.len, ask.ptr);
	for (const char *const *says = keeper->says; *says; says++)
		mor_session_wire_put(&wire, mor_slice_of(*says));
	mor_session_wire_flush(&wire);
	mor_session_wire_close(&wire);
	return NULL;
}

static void begin(struct keeper *keeper, const char *name, const char *const *says)
{
	int dir = mor_session_dir_open(NULL), flags;

	*keeper = (struct keeper){ .says = says };
	assert_int_equal(mor_session_seat_take(&keeper->seat, dir, name, NULL), 0);
	flags = fcntl(keeper->seat.listener, F_GETFL);
	assert_int_equal(fcntl(keeper->seat.listener, F_SETFL, flags & ~O_NONBLOCK), 0);
	assert_int_equal(pthread_create(&keeper->thread, NULL, keep, keeper), 0);
}

static void end(struct keeper *keeper, const char *asked)
{
	assert_int_equal(pthread_join(keeper->thread, NULL), 0);
	mor_session_seat_leave(&keeper->seat);
	assert_string_equal(keeper->asked, asked);
}

#define SAYS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- call ---- */

struct answers {
	unsigned count, frames;
	char text[600];
};

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct answers *answers = arg;
	size_t len = strlen(answers->text);

	answers->count++;
	snprintf(answers->text + len, sizeof(answers->text) - len, "%d %s%.*s|%.*s|%.*s|%s\n", reply->status,
		 reply->more ? "more " : "", (int)reply->result.len,
		 reply->result.text ? reply->result.text : "", (int)reply->error_data.len,
		 reply->error_data.text ? reply->error_data.text : "", (int)reply->next.len,
		 reply->next.text ? reply->next.text : "", reply->error ? reply->error->text : "");
}

static void on_frame(const mortise_tap_frame *frame, void *arg)
{
	struct answers *answers = arg;
	size_t len = strlen(answers->text);

	snprintf(answers->text + len, sizeof(answers->text) - len, "%c %.*s\n",
		 frame->direction == MORTISE_TO_PLUGIN ? '>' : '<', (int)frame->body.len, frame->body.text);
}

static int call(struct said *said, struct answers *answers, mortise_tap_fn *frames, mortise_error *err)
{
	struct mor_session_call one = { .name = "web",
					.method = "m",
					.params = { "[1]", 3 },
					.timeout_ms = 500,
					.flags = 1,
					.on_frame = frames,
					.frame_arg = answers,
					.on_reply = on_reply,
					.arg = answers };
	int r;

	said_begin(said);
	r = mor_session_call(&said->console, &one, err);
	said_end(said);
	return r;
}

static void test_a_call_to_its_last_reply(void **state)
{
	struct said said = { 0 };
	struct answers answers = { 0 };
	struct keeper keeper;

	(void)state;
	begin(&keeper, "web",
	      SAYS("{\"is\":\"frame\",\"to_plugin\":true,\"body\":\"{}\"}",
		   "{\"is\":\"reply\",\"plugin\":\"p\",\"status\":0,\"more\":true,\"result\":[1]}",
		   "{\"is\":\"frame\",\"body\":\"x\"}", "{\"is\":\"a later version\"}",
		   "{\"is\":\"reply\",\"plugin\":\"p\",\"status\":0,\"result\":{ \"a\" : 1 },\"next\":2}",
		   "{\"is\":\"reply\",\"plugin\":\"p\",\"status\":0,\"result\":\"not read\"}"));
	assert_int_equal(call(&said, &answers, on_frame, NULL), 0);
	assert_string_equal(answers.text, "> {}\n0 more [1]|||\n< x\n0 {\"a\":1}||2|\n");
	end(&keeper, "{\"op\":\"call\",\"method\":\"m\",\"params\":[1],\"timeout_ms\":500,\"flags\":1,"
		     "\"wire\":true}");
	said_forget(&said);
}

static void test_a_call_that_fails(void **state)
{
	struct said said = { 0 };
	struct answers answers = { 0 };
	struct keeper keeper;

	(void)state;
	begin(&keeper, "web",
	      SAYS("{\"is\":\"frame\",\"body\":\"x\"}",
		   "{\"is\":\"reply\",\"status\":-3,\"data\":[7],\"error\":{\"code\":-3,\"text\":\"no "
		   "reply\"}}"));
	assert_int_equal(call(&said, &answers, NULL, NULL), 0);
	assert_string_equal(answers.text, "-3 |[7]||no reply\n");
	end(&keeper, "{\"op\":\"call\",\"method\":\"m\",\"params\":[1],\"timeout_ms\":500,\"flags\":1,"
		     "\"wire\":false}");
	said_forget(&said);
}

static void test_a_keeper_that_ends_or_says_nonsense(void **state)
{
	static const struct {
		const char *says;
		int status;
		const char *text;
	} rows[] = {
		{ NULL, MORTISE_ECLOSED, "session web: its keeper ended while we waited" },
		{ "{\"is\":\"reply\",\"more\":true}", MORTISE_ECLOSED,
		  "session web: its keeper ended while we waited" },
		{ "nonsense", MORTISE_EPROTO, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct said said = { 0 };
		struct answers answers = { 0 };
		mortise_error err = { 0 };
		struct keeper keeper;

		begin(&keeper, "web", SAYS(rows[i].says));
		assert_int_equal(call(&said, &answers, NULL, &err), rows[i].status);
		if (rows[i].text)
			assert_string_equal(err.text, rows[i].text);
		end(&keeper, "{\"op\":\"call\",\"method\":\"m\",\"params\":[1],\"timeout_ms\":500,\"flags\":1,"
			     "\"wire\":false}");
		said_forget(&said);
	}
}

static void test_no_such_session(void **state)
{
	struct said said = { 0 };
	struct answers answers = { 0 };
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(call(&said, &answers, NULL, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_session_stop(&said.console, "web", &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_session_notes(&said.console, "../web", false, &err), MORTISE_EINVAL);
	assert_int_equal(mor_session_clear_dead(&said.console, "web", &err), 0);
	assert_int_equal(answers.count, 0);
	said_forget(&said);
}

/* ---- before a start ---- */

static void test_a_session_that_runs_is_not_replaced(void **state)
{
	struct said said = { 0 };
	mortise_error err = { 0 };
	struct keeper keeper;

	(void)state;
	begin(&keeper, "web", SAYS("{\"is\":\"info\",\"state\":\"ready\"}"));
	assert_int_equal(mor_session_clear_dead(&said.console, "web", &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "session web runs already: 'mortise session stop web' ends it");
	end(&keeper, "{\"op\":\"info\",\"follow\":false}");
}

/* ---- list ---- */

static void test_names_in_order(void **state)
{
	struct mor_text_list names = { 0 };
	struct mor_session_seat seats[3];
	static const char *const given[] = { "b", "a.sock", "c" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mor_session_seat_take(&seats[i], mor_session_dir_open(NULL), given[i], NULL),
				 0);
	fclose(fopen(at("run/mortise/.sock"), "w"));
	fclose(fopen(at("run/mortise/a b.sock"), "w"));
	fclose(fopen(at("run/mortise/other"), "w"));
	assert_int_equal(mor_session_names(&names, NULL), 0);
	assert_int_equal(names.count, 3);
	assert_string_equal(names.item[0], "a.sock");
	assert_string_equal(names.item[1], "b");
	assert_string_equal(names.item[2], "c");
	mor_text_list_free_texts(&names);
	for (size_t i = 0; i < 3; i++)
		mor_session_seat_leave(&seats[i]);
}

static void list(struct said *said, int wanted)
{
	int r;

	said_begin(said);
	r = mor_session_list(&said->console, NULL);
	said_end(said);
	assert_int_equal(r, wanted);
}

static const char dead_row[] =
	"{\"is\":\"info\",\"name\":\"web\",\"plugin\":\"p\\u001b[2J\",\"dialect\":\"yams\",\"state\":\"dead\",\"why\":\"it\\u001b[2J "
	"died\",\"calls\":12,\"unused_ms\":61500,\"idle_ms\":60000}";

static void test_a_row_for_people(void **state)
{
	struct said said = { 0 };
	struct keeper keeper;

	(void)state;
	begin(&keeper, "web", SAYS(dead_row));
	list(&said, 0);
	assert_string_equal(
		said.out,
		"web              p\\x1b[2J             yams       dead         12 calls, ends in 0 ms if not "
		"used\n  it\\x1b[2J died\n");
	end(&keeper, "{\"op\":\"info\",\"follow\":false}");
	begin(&keeper, "web",
	      SAYS("{\"is\":\"info\",\"name\":\"web\",\"plugin\":\"p\",\"dialect\":\"yams\",\"state\":\"ready\"}"));
	list(&said, 0);
	assert_string_equal(said.out, "web              p                    yams       ready         0 calls, "
				      "stays\n");
	end(&keeper, "{\"op\":\"info\",\"follow\":false}");
	said_forget(&said);
}

static void test_a_row_as_json(void **state)
{
	struct said said = { .console.json = true };
	struct keeper keeper;

	(void)state;
	begin(&keeper, "web", SAYS("{\"is\":\"info\",\"name\":\"web\"}"));
	list(&said, 0);
	assert_string_equal(said.out, "[{\"is\":\"info\",\"name\":\"web\"}]\n");
	end(&keeper, "{\"op\":\"info\",\"follow\":false}");
	said_forget(&said);
}

/* What is left of a keeper that was killed goes away when somebody looks. */
static void test_what_is_left_is_removed(void **state)
{
	struct said said = { 0 };
	struct mor_session_seat seat;
	struct stat st;

	(void)state;
	assert_int_equal(mor_session_seat_take(&seat, mor_session_dir_open(NULL), "web", NULL), 0);
	mor_fd_close(&seat.listener);
	mor_fd_close(&seat.lock);
	mor_fd_close(&seat.dir);
	list(&said, 0);
	assert_string_equal(said.out, "");
	assert_string_equal(said.err, "no sessions; 'mortise session start NAME PLUGIN' starts one\n");
	assert_true(stat(at("run/mortise/web.sock"), &st) < 0);
	assert_true(stat(at("run/mortise/web.lock"), &st) < 0);
	said.console.json = true;
	list(&said, 0);
	assert_string_equal(said.out, "[]\n");
	said_forget(&said);
}

/* ---- stop, notes ---- */

static void test_stop_waits_for_the_end(void **state)
{
	struct said said = { 0 };
	struct keeper keeper;

	(void)state;
	begin(&keeper, "web", SAYS("{\"is\":\"event\"}"));
	assert_int_equal(mor_session_stop(&said.console, "web", NULL), 0);
	end(&keeper, "{\"op\":\"stop\",\"follow\":false}");
	begin(&keeper, "web", SAYS(NULL));
	assert_int_equal(mor_session_stop_all(&said.console, NULL), 0);
	end(&keeper, "{\"op\":\"stop\",\"follow\":false}");
	assert_int_equal(mor_session_stop_all(&said.console, NULL), 0);
}

static const char note[] =
	"{\"is\":\"note\",\"time_ms\":1600000000000,\"kind\":\"note\",\"method\":\"a\\u001b[2J\",\"params\":[1,\"\\u009b\"]}";
static const char line[] =
	"{\"is\":\"note\",\"time_ms\":1600000000000,\"kind\":\"stderr\",\"text\":\"a\\tline\"}";

static void test_notes(void **state)
{
	struct said said = { 0 };
	struct keeper keeper;
	int r;

	(void)state;
	begin(&keeper, "web", SAYS(note, line, "{\"is\":\"end\"}"));
	said_begin(&said);
	r = mor_session_notes(&said.console, "web", false, NULL);
	said_end(&said);
	assert_int_equal(r, 0);
	assert_string_equal(said.out,
			    "12:26:40 note a\\x1b[2J [1,\"\\xc2\\x9b\"]\n12:26:40 stderr a\\x09line\n");
	end(&keeper, "{\"op\":\"notes\",\"follow\":false}");
	said.console.json = true;
	begin(&keeper, "web", SAYS(line)); /* who follows does not mind the end */
	said_begin(&said);
	r = mor_session_notes(&said.console, "web", true, NULL);
	said_end(&said);
	assert_int_equal(r, 0);
	assert_string_equal(
		said.out,
		"{\"is\":\"note\",\"time_ms\":1600000000000,\"kind\":\"stderr\",\"text\":\"a\\tline\"}\n");
	end(&keeper, "{\"op\":\"notes\",\"follow\":true}");
	said_forget(&said);
}

static int make_place(void **state)
{
	if (top_make("session") < 0 || mkdir(at("run"), 0700) < 0)
		return -1;
	setenv("XDG_RUNTIME_DIR", at("run"), 1);
	setenv("TZ", "UTC", 1);
	tzset();
	return leak_setup(state);
}

static int drop_place(void **state)
{
	return top_drop(state) | leak_teardown(state);
}

#define IN_PLACE(fn) cmocka_unit_test_setup_teardown(fn, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(test_a_call_to_its_last_reply),
		IN_PLACE(test_a_call_that_fails),
		IN_PLACE(test_a_keeper_that_ends_or_says_nonsense),
		IN_PLACE(test_no_such_session),
		IN_PLACE(test_a_session_that_runs_is_not_replaced),
		IN_PLACE(test_names_in_order),
		IN_PLACE(test_a_row_for_people),
		IN_PLACE(test_a_row_as_json),
		IN_PLACE(test_what_is_left_is_removed),
		IN_PLACE(test_stop_waits_for_the_end),
		IN_PLACE(test_notes),
	};

	return mor_run_group("session/client", tests);
}
