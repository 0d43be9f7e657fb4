#include <tenon/tenon.h>

static int hello(tenon_call *call)
{
	const char *answer;

	tenon_stream(call, "Hello, ");
	answer = tenon_ask(call, "%s! How are you?", tenon_str(call, "name", ""));
	if (!answer)
		return -1; /* nobody answers any more */
	return tenon_reply_text(call, "So you are %s.", answer);
}

static const tenon_field hello_fields[] = {
	{ "name", TENON_FIELD_STRING, "To whom", .required = 1 },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "hello", hello, "Says hello and asks back", .fields = hello_fields },
	{ 0 },
};

int main(void)
{
	return tenon_run(&(tenon_plugin){ "@NAME@", "0.1.0", "Says hello", .dialect = "gassist",
					  .commands = commands });
}
