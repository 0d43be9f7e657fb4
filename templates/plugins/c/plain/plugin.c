#include <tenon/tenon.h>

static int greet(tenon_call *call)
{
	return tenon_reply_text(call, "%s, %s!", tenon_str(call, "greeting", ""), tenon_str(call, "name", ""));
}

static const tenon_field greet_fields[] = {
	{ "name", TENON_FIELD_STRING, "who is greeted", .required = 1 },
	{ "greeting", TENON_FIELD_STRING, "how", .fallback = "Hello" },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "greet", greet, "Greets somebody", .fields = greet_fields },
	{ 0 },
};

int main(void)
{
	return tenon_run(&(tenon_plugin){ "@NAME@", "0.1.0", "Greets people", .dialect = "plain",
					  .commands = commands });
}
