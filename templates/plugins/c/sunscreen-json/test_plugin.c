#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon/testing.h>

int main(void)
{
	char *program = realpath("plugin", NULL), workspace[] = "/tmp/workspace-XXXXXX";
	const char *command[] = { program, NULL };
	tenon_test *test;

	assert(mkdtemp(workspace) && chdir(workspace) == 0); /* a test's workspace is the current directory */
	test = tenon_test_spawn(command, "sunscreen-json");
	assert(tenon_test_call(test, "app:hello", "[\"Ada\"]") == 0);
	assert(strcmp(tenon_test_text(test), "greeted Ada") == 0);
	assert(unlink("hello-ada.txt") == 0);
	assert(tenon_test_end(test) == 0);
	test = tenon_test_spawn(command, "sunscreen-json");
	assert(tenon_test_call(test, "app:hello", "[]") == 1);
	assert(strcmp(tenon_test_error(test), "name: is missing") == 0);
	assert(tenon_test_end(test) == 0);
	assert(chdir("/") == 0 && rmdir(workspace) == 0);
	free(program);
	puts("passed");
	return 0;
}
