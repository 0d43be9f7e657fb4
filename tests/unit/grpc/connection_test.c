/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: its end, GOAWAY, pings, lack of memory, and who frees it when. */
#include "leak.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "peer.h"

#define METHOD "/t.T/Do"

static struct {
	unsigned count;
	mortise_error err;
} done;

static void on_done(void *arg, struct mor_slice message, unsigned status, const mortise_error *err)
{
	assert_ptr_equal(arg, &done);
	assert_true((message.ptr != NULL) == (status == MOR_GRPC_OK));
	done.count++;
	if (err)
		done.err = *err;
}

static void test_closed(void **state)
{
	struct heard heard = { 0 };
	struct mor_grpc_call_options options = { .method = METHOD };
	struct mor_grpc_call *call;
	mortise_error err;

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	settle();
	answer(1, plain_fields);
	body_message(1, "last words");
	settle();
	close(rig.fd);
	rig.fd = -1;
	rig.stalled = true;
	settle();
	expect_messages(&heard, "last words|");
	expect_end(&heard, MOR_GRPC_UNAVAILABLE, MORTISE_ECLOSED, "closed its gRPC connection");
	expect_broken(MORTISE_ECLOSED, "closed its gRPC connection");
	assert_int_equal(mor_grpc_call(rig.grpc, &options, &call, &err), MORTISE_ECLOSED);
	tear_down();
}

/* The peer reads no more, but has not closed: the next frame of ours finds that out. */
static void test_deaf(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(0, true);
	settle();
	shutdown(rig.fd, SHUT_RD);
	rig.stalled = true;
	begin(&heard, METHOD, 0);
	settle();
	expect_end(&heard, MOR_GRPC_UNAVAILABLE, MORTISE_ECLOSED, "closed its gRPC connection");
	expect_broken(MORTISE_ECLOSED, "closed its gRPC connection");
	tear_down();
}

static void test_goaway(void **state)
{
	struct heard kept = { 0 }, refused = { 0 };
	struct mor_grpc_call_options options = { .method = METHOD };
	struct mor_grpc_call *call;
	mortise_error err;

	(void)state;
	set_up(0, true);
	begin(&kept, METHOD, 0);
	settle();
	mor_grpc_finish(kept.call);
	settle();
	nghttp2_submit_goaway(rig.server, NGHTTP2_FLAG_NONE, 1, NGHTTP2_ENHANCE_YOUR_CALM,
			      (const uint8_t *)"too_many_pings", 14);
	begin(&refused, METHOD, 0); /* crosses it */
	settle();
	expect_end(&refused, MOR_GRPC_UNAVAILABLE, MORTISE_ECLOSED,
		   "takes no more calls on this connection (GOAWAY, ENHANCE_YOUR_CALM: too_many_pings)");
	assert_int_equal(mor_grpc_call(rig.grpc, &options, &call, &err), MORTISE_ECLOSED);
	assert_int_equal(kept.ends, 0);
	assert_int_equal(rig.ends, 0);
	answer_well(1, "still");
	settle();
	expect_messages(&kept, "still|");
	expect_end(&kept, MOR_GRPC_OK, 0, "");
	expect_broken(MORTISE_ECLOSED, "too_many_pings");
	tear_down();
}

static void test_ping(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	set_up(1000, true);
	begin(&heard, METHOD, 0);
	settle();
	mor_loop_advance(rig.loop, 1000); /* the settings were heard: no ping */
	settle();
	assert_int_equal(rig.pings, 0);
	for (unsigned i = 1; i <= 2; i++) {
		mor_loop_advance(rig.loop, 1000);
		settle();
		assert_int_equal(rig.pings, i);
		mor_loop_advance(rig.loop, 1000); /* the answer was heard */
		settle();
	}
	rig.stalled = true;
	mor_loop_advance(rig.loop, 1000);
	assert_int_equal(rig.ends, 0);
	mor_loop_advance(rig.loop, 1000);
	expect_end(&heard, MOR_GRPC_UNAVAILABLE, MORTISE_ETIMEOUT, "did not answer a ping");
	expect_broken(MORTISE_ETIMEOUT, "did not answer a ping on its gRPC connection in 1 s");
	tear_down();
}

static void test_free_inside(void **state)
{
	struct heard heard = { .free_at_once = true }, other = { 0 };

	(void)state;
	set_up(0, true);
	begin(&heard, METHOD, 0);
	begin(&other, METHOD, 0);
	settle();
	answer(1, plain_fields);
	body_message(1, "a");
	body_message(1, "b");
	body_end(1, good_trailers);
	answer_well(3, "c");
	settle();
	assert_null(rig.grpc);
	assert_int_equal(heard.count + other.count, 1 + (other.count ? 1 : 0));
	assert_int_equal(heard.ends, 0);
	forget(&heard);
	forget(&other);
	tear_down();
}

/* From the n-th allocation on all of ours fail, for each n: the call still ends, and nothing is left behind. */
static void test_memory(void **state)
{
	unsigned good = 0;

	(void)state;
	for (long n = 0; good < 3; n++) {
		struct mor_grpc_unary unary = { METHOD, MOR_SLICE("hello"), 5000, on_done, &done };
		long before;
		int r;

		memset(&done, 0, sizeof(done));
		set_up(0, true);
		settle();
		before = mor_alloc_count();
		mor_alloc_fail_after(n);
		r = mor_grpc_unary(rig.grpc, &unary, NULL, NULL);
		rig.allocations = n - (mor_alloc_count() - before);
		mor_alloc_fail_after(-1);
		if (r == 0) {
			rig.short_of_memory = true;
			settle();
			if (rig.ends == 0)
				answer_well(1, "world");
			settle();
			assert_int_equal(done.count, 1);
			if (done.err.code && done.err.code != MORTISE_ENOMEM)
				fail_msg("%ld: %s", n, done.err.text);
			good += done.err.code == 0;
		} else {
			assert_int_equal(r, MORTISE_ENOMEM);
		}
		tear_down();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_closed), MOR_TEST(test_deaf),        MOR_TEST(test_goaway),
		MOR_TEST(test_ping),   MOR_TEST(test_free_inside), MOR_TEST(test_memory),
	};

	return mor_run_group("grpc/connection", tests);
}
