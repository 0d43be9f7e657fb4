/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that have come before. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>

#include "onebot/seen.h"

static struct mor_seen seen;

static bool before(const char *self_id, const char *group_id, const char *user_id, long message_id)
{
	char digits[24];
	struct mor_onebot_event event = { .self_id = (char *)self_id,
					  .group_id = (char *)group_id,
					  .user_id = (char *)user_id,
					  .message_id = digits };

	snprintf(digits, sizeof(digits), "%ld", message_id);
	return mor_seen_before(&seen, &event);
}

/* Who wrote which one where, to which account. */
static void test_what_counts(void **state)
{
	(void)state;
	mor_seen_init(&seen);
	assert_false(before("1", NULL, "2", 3));
	assert_true(before("1", NULL, "2", 3));
	assert_false(before("1", "2", "2", 3));
	assert_false(before("9", NULL, "2", 3));
	assert_false(before("1", NULL, "9", 3));
	assert_false(before("1", NULL, "2", -3));
	assert_false(before("1", NULL, "23", 3));
	assert_false(before("1", NULL, "2", 33)); /* not the same digits in another place */
	assert_false(before(NULL, NULL, NULL, 3));
	assert_true(before("1", "2", "2", 3));
}

static void test_without_an_id(void **state)
{
	struct mor_onebot_event event = { .user_id = (char *)"2" };

	(void)state;
	mor_seen_init(&seen);
	assert_false(mor_seen_before(&seen, &event));
	assert_false(mor_seen_before(&seen, &event));
}

/* The last MOR_SEEN are known, older ones are not; whatever the order and however often the ring goes round. */
static void test_the_last_ones(void **state)
{
	(void)state;
	mor_seen_init(&seen);
	for (long id = 0; id < 5 * MOR_SEEN; id++) {
		assert_false(before("1", NULL, "2", id));
		assert_true(before("1", NULL, "2", id));
		assert_true(before("1", NULL, "2", id < MOR_SEEN ? id / 2 : id - MOR_SEEN + 1));
	}
	for (long id = 4 * MOR_SEEN; id < 5 * MOR_SEEN; id++)
		assert_true(before("1", NULL, "2", id));
	assert_false(before("1", NULL, "2", 4 * MOR_SEEN - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_what_counts), MOR_TEST(test_without_an_id),
					    MOR_TEST(test_the_last_ones) };

	return mor_run_group("onebot/seen", tests);
}
