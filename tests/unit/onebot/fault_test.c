/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once: the answer is MORTISE_ENOMEM or right, and nothing is left behind. */
#include "leak.h"

#include "base/alloc.h"
#include "onebot/onebot.h"

static int read_and_write(const char *line)
{
	struct mor_onebot_event event;
	struct mor_buf out = MOR_BUF_INIT;
	mortise_error err;
	int r = mor_onebot_read(mor_slice_of(line), &event, &err);

	if (r == 0 && event.kind == MOR_ONEBOT_MESSAGE)
		r = mor_onebot_handle(&event, &out);
	if (r == 0 && event.kind == MOR_ONEBOT_MESSAGE)
		r = mor_onebot_send(mor_onebot_origin(&event), MOR_ONEBOT_TEXT, mor_buf_view(&event.text),
				    "echo", &out);
	mor_buf_fini(&out);
	mor_onebot_event_fini(&event);
	return r;
}

static void test_allocations(void **state)
{
	static const char *const lines[] = {
		"{\"post_type\":\"message\",\"message_type\":\"group\",\"user_id\":1,\"group_id\":2,\"self_id\":3,\"message\":[{\"type\":\"text\",\"data\":{\"text\":\"some "
		"text that is long enough to need more than one block of "
		"memory\"}},{\"type\":\"image\",\"data\":{\"file\":\"x\",\"n\":1}}]}",
		"{\"text\":\"x\"}",
		"{\"post_type\":\"meta_event\",\"meta_event_type\":\"lifecycle\",\"sub_type\":\"connect\",\"self_id\":1}",
		"{\"status\":\"failed\",\"retcode\":1,\"echo\":\"e\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int r = MORTISE_ENOMEM;

		for (long n = 0; r == MORTISE_ENOMEM; n++) {
			assert_true(n < 1000);
			mor_alloc_fail_after(n);
			r = read_and_write(lines[i]);
			mor_alloc_fail_after(-1);
			assert_true(r == 0 || r == MORTISE_ENOMEM);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_allocations) };

	return mor_run_group("onebot/fault", tests);
}
