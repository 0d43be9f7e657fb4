/* SPDX-License-Identifier: Apache-2.0 */
/* A pool on a machine that lacks something for a while: descriptors, processes. */
#include <errno.h>
#include <string.h>

#include "leak.h"
#include "pool_rig.h"

static void lack(int times, int os_errno)
{
	script_trouble.times = times;
	script_trouble.error =
		(mortise_error){ .code = MORTISE_ESYSTEM, .os_errno = os_errno, .text = "cannot make pipes" };
}

static void a_lack_that_passes_is_not_noticed(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got[2] = { 0 };

	(void)state;
	rig_open(&rig);
	lack(1, EMFILE);
	call(&rig, &got[0]);
	call(&rig, &got[1]);
	turn(&rig);
	assert_int_equal(state_of(&rig, 0), MORTISE_BACKOFF);
	assert_true(serve(&rig, 1) && serve(&rig, 1));
	expect(&got[0], MORTISE_OK);
	expect(&got[1], MORTISE_OK);
	pass(&rig, 200);
	assert_int_equal(state_of(&rig, 0), MORTISE_READY);
	rig_close(&rig);
}

static void a_lack_that_stays_is_told(void **state)
{
	struct rig rig = { .workers = 2 };
	struct got got = { 0 };

	(void)state;
	rig_open(&rig);
	lack(100, EAGAIN);
	call(&rig, &got);
	pass(&rig, 1000);
	expect(&got, MORTISE_ESYSTEM);
	assert_int_equal(got.error.os_errno, EAGAIN);
	script_trouble.times = 0;
	memset(&got, 0, sizeof(got));
	call(&rig, &got);
	pass(&rig, 1000);
	assert_true(serve(&rig, 0) || serve(&rig, 1));
	expect(&got, MORTISE_OK);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(a_lack_that_passes_is_not_noticed),
		MOR_TEST(a_lack_that_stays_is_told),
	};

	return mor_run_group("host/pool-lack", tests);
}
