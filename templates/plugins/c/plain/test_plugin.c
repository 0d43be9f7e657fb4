#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <tenon/testing.h>

int main(void)
{
	static const char *const command[] = { "./plugin", NULL };
	tenon_test *test = tenon_test_spawn(command, "plain");

	assert(tenon_test_call(test, "greet", "{\"name\":\"Ada\"}") == 0);
	assert(strcmp(tenon_test_text(test), "Hello, Ada!") == 0);
	assert(tenon_test_call(test, "greet", "{}") == 1);
	assert(strcmp(tenon_test_error(test), "name: is missing") == 0);
	assert(tenon_test_end(test) == 0);
	puts("passed");
	return 0;
}
