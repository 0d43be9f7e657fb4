#include <tenon/tenon.h>

static int hello(tenon_call *call)
{
	return tenon_reply_text(call, "Hello, %s!", tenon_str(call, "name", "world"));
}

static const tenon_field hello_fields[] = {
	{ "name", TENON_FIELD_STRING, "who is greeted", .fallback = "world" },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "hello", hello, "Greets somebody", .fields = hello_fields },
	{ 0 },
};

int main(void)
{
	return tenon_run(&(tenon_plugin){ "@NAME@", "0.1.0", "Greets people in a chat", .dialect = "ayiou",
					  .commands = commands });
}
