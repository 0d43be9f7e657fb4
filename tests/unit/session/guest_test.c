/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's side of a connection, without a plugin: what a client may ask, and when it is let go. */
#include "leak.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "session/inside.h"

struct kept {
	struct mor_session_start start;
	struct mor_session_keeper keeper;
	struct mor_session_guest *guest;
	int client;
};

static void begin(struct kept *k)
{
	int pair[2];

	*k = (struct kept){ .start.idle_ms = 60000 };
	k->keeper.start = &k->start;
	snprintf(k->keeper.seat.name, sizeof(k->keeper.seat.name), "web");
	mor_list_init(&k->keeper.guests);
	mor_session_notes_init(&k->keeper.notes);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	mor_session_guest_new_take(&k->keeper, pair[0]);
	k->client = pair[1];
	assert_false(mor_list_empty(&k->keeper.guests));
	k->guest = mor_container_of(k->keeper.guests.next, struct mor_session_guest, node);
}

static bool is_here(const struct kept *k)
{
	return !mor_list_empty(&k->keeper.guests);
}

static void end(struct kept *k)
{
	if (is_here(k))
		mor_session_guest_leave(k->guest);
	assert_false(is_here(k));
	mor_session_notes_fini(&k->keeper.notes);
	mor_fd_close(&k->client);
}

static void ask(struct kept *k, const char *json)
{
	char text[300];
	int len = snprintf(text, sizeof(text), "%zu\n%s", strlen(json), json);

	assert_int_equal(mor_fd_write_all(k->client, text, (size_t)len), 0);
	mor_session_guest_turn(k->guest, POLLIN);
}

/* What the client has got, with its framing. */
static void assert_got(struct kept *k, const char *wanted)
{
	char text[2000];
	ssize_t n = recv(k->client, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	assert_string_equal(text, wanted);
}

static void say(struct kept *k, const char *text)
{
	mor_session_guests_tell_note(&k->keeper,
				     mor_session_notes_asked(&k->keeper.notes, text, (mortise_json){ 0 }));
}

static void test_stop(void **state)
{
	struct kept k;

	(void)state;
	begin(&k);
	ask(&k, "{\"op\":\"stop\"}");
	assert_true(k.keeper.stopping);
	assert_true(is_here(&k)); /* the end of the connection is the answer */
	end(&k);
}

static void test_what_nobody_knows_ends_the_connection(void **state)
{
	static const char *const rows[] = { "{\"op\":\"dance\"}", "{}", "[]", "{\"op\":1}", "nonsense", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kept k;

		begin(&k);
		ask(&k, rows[i]);
		assert_false(is_here(&k));
		assert_false(k.keeper.stopping);
		end(&k);
	}
}

static void test_notes_so_far_and_the_end(void **state)
{
	struct kept k;
	char text[2000];
	ssize_t n;

	(void)state;
	begin(&k);
	say(&k, "one");
	ask(&k, "{\"op\":\"notes\"}");
	n = recv(k.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "\"method\":\"one\""));
	assert_non_null(strstr(text, "12\n{\"is\":\"end\"}"));
	assert_false(k.guest->used); /* who only looks does not keep a session alive */
	say(&k, "two");
	mor_session_guest_turn(k.guest, 0);
	assert_got(&k, "");
	end(&k);
	assert_int_equal(k.keeper.used_ms, 0);
}

static void test_notes_as_they_come(void **state)
{
	struct kept k;
	char text[2000];
	ssize_t n;

	(void)state;
	begin(&k);
	ask(&k, "{\"op\":\"notes\",\"follow\":true}");
	assert_got(&k, "");
	assert_int_equal(mor_session_guest_rest(k.guest), -1); /* it may wait as long as it takes */
	say(&k, "two");
	assert_int_equal(mor_session_guest_wants(k.guest), POLLIN | POLLOUT);
	mor_session_guest_turn(k.guest, POLLOUT);
	n = recv(k.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	assert_int_equal(mor_session_guest_wants(k.guest), POLLIN);
	end(&k);
	assert_true(k.keeper.used_ms > 0);
}

/* What a plugin knew is lost: every call says how it died, and nothing is started again. */
static void test_a_call_after_the_death(void **state)
{
	struct kept k;

	(void)state;
	begin(&k);
	mor_fail(&k.keeper.death, MORTISE_ECRASHED, "session web is over, its plugin has ended: exit 1");
	ask(&k, "{\"op\":\"call\",\"method\":\"m\"}");
	assert_got(&k,
		   "161\n{\"is\":\"reply\",\"plugin\":\"\",\"status\":-6,\"more\":false,\"error\":{\"code\":-6,\"os_errno\":0,\"rpc_code\":-32003,\"text\":\"session "
		   "web is over, its plugin has ended: exit 1\"}}");
	assert_int_equal(k.keeper.calls, 0);
	assert_true(is_here(&k));
	end(&k);
}

/* A call that cannot begin is answered, and the next thing can be asked. */
static void test_a_call_that_cannot_begin(void **state)
{
	struct kept k;
	char text[2000];
	ssize_t n;

	(void)state;
	begin(&k);
	ask(&k, "{\"op\":\"call\",\"method\":\"m\",\"params\":[1],\"wire\":true}");
	n = recv(k.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "\"is\":\"reply\""));
	assert_non_null(strstr(text, "\"error\":{"));
	assert_null(k.guest->call);
	assert_int_equal(k.keeper.taps, 1);
	ask(&k, "{\"op\":\"call\",\"method\":\"m\"}");
	assert_int_equal(k.keeper.taps, 0);
	assert_int_equal(k.keeper.calls, 2);
	end(&k);
}

/* Everything that passes, to those who asked for it: the text need not be JSON. */
static void test_frames(void **state)
{
	mortise_tap_frame frame = { .direction = MORTISE_TO_PLUGIN, .body = { "a\"\xff", 3 } };
	struct kept k;

	(void)state;
	begin(&k);
	mor_session_guests_tell_frame(&k.keeper, &frame);
	mor_session_guest_turn(k.guest, 0);
	assert_got(&k, "");
	k.guest->shows_wire = true;
	k.keeper.taps = 1;
	mor_session_guests_tell_frame(&k.keeper, &frame);
	mor_session_guest_turn(k.guest, 0);
	assert_got(&k, "47\n{\"is\":\"frame\",\"to_plugin\":true,\"body\":\"a\\\"\xef\xbf\xbd\"}");
	end(&k);
	assert_int_equal(k.keeper.taps, 0);
}

/* One that neither reads nor asks is let go, also if the session itself never ends. */
static void test_idle_guests(void **state)
{
	struct kept k;

	(void)state;
	begin(&k);
	assert_in_range(mor_session_guest_rest(k.guest), 1, 60000);
	k.start.idle_ms = 0;
	assert_in_range(mor_session_guest_rest(k.guest), 60001, MOR_SESSION_IDLE_MS);
	k.guest->moved_ms = mor_clock_ms() - MOR_SESSION_IDLE_MS - 1;
	assert_int_equal(mor_session_guest_rest(k.guest), 0);
	k.guest->follows = true;
	assert_int_equal(mor_session_guest_rest(k.guest), -1);
	mor_session_wire_put(&k.guest->wire, MOR_SLICE("{}"));
	assert_int_equal(mor_session_guest_rest(k.guest), 0); /* it follows, but does not read */
	mor_session_guest_turn(k.guest, 0);
	assert_true(is_here(&k)); /* it has just taken something */
	k.guest->follows = false;
	k.guest->moved_ms = mor_clock_ms() - MOR_SESSION_IDLE_MS - 1;
	mor_session_guest_turn(k.guest, 0);
	assert_false(is_here(&k));
	end(&k);
}

static void test_a_client_that_leaves(void **state)
{
	struct kept k;

	(void)state;
	begin(&k);
	mor_fd_close(&k.client);
	mor_session_guest_turn(k.guest, POLLIN | POLLHUP);
	assert_false(is_here(&k));
	end(&k);
}

static void test_no_memory_for_a_guest(void **state)
{
	struct mor_session_keeper keeper = { 0 };
	int pair[2];
	char byte;

	(void)state;
	mor_list_init(&keeper.guests);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	mor_alloc_fail_after(0);
	mor_session_guest_new_take(&keeper, pair[0]);
	mor_alloc_fail_after(-1);
	assert_true(mor_list_empty(&keeper.guests));
	assert_int_equal(read(pair[1], &byte, 1), 0); /* it is closed, not lost */
	mor_fd_close(&pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_stop),
		MOR_TEST(test_what_nobody_knows_ends_the_connection),
		MOR_TEST(test_notes_so_far_and_the_end),
		MOR_TEST(test_notes_as_they_come),
		MOR_TEST(test_a_call_after_the_death),
		MOR_TEST(test_a_call_that_cannot_begin),
		MOR_TEST(test_frames),
		MOR_TEST(test_idle_guests),
		MOR_TEST(test_a_client_that_leaves),
		MOR_TEST(test_no_memory_for_a_guest),
	};

	return mor_run_group("session/guest", tests);
}
