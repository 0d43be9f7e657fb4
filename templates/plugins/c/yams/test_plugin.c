#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <tenon/testing.h>

int main(void)
{
	static const char *const command[] = { "./plugin", NULL };
	tenon_test *test = tenon_test_spawn(command, "yams");

	/* Base64 of "Shopping\nmilk\n" */
	assert(tenon_test_call(test, "extract",
			       "{\"source\":{\"type\":\"bytes\",\"data\":\"U2hvcHBpbmcKbWlsawo=\"}}") == 0);
	assert(strcmp(tenon_test_text(test), "milk\n") == 0);
	assert(strcmp(tenon_as_str(tenon_at(tenon_test_result(test), "/metadata/title"), ""), "Shopping") == 0);
	assert(tenon_test_call(test, "extract", "{\"source\":{\"type\":\"path\",\"path\":\"example.note\"}}") == 0);
	assert(strstr(tenon_test_text(test), "bread"));
	assert(tenon_test_end(test) == 0);
	puts("passed");
	return 0;
}
