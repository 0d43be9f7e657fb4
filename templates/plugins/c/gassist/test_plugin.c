#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <tenon/testing.h>

int main(void)
{
	static const char *const command[] = { "./plugin", NULL };
	tenon_test *test = tenon_test_spawn(command, "gassist");

	assert(tenon_test_call(test, "hello", "{\"name\":\"Ada\"}") == 0);
	assert(strcmp(tenon_test_streamed(test), "Hello, ") == 0);
	assert(strcmp(tenon_test_text(test), "Ada! How are you?") == 0 && tenon_test_asks(test));
	assert(tenon_test_say(test, "fine") == 0);
	assert(strcmp(tenon_test_text(test), "So you are fine.") == 0);
	assert(tenon_test_end(test) == 0);
	puts("passed");
	return 0;
}
