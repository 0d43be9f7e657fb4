#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tenon/tenon.h>

static int hello(tenon_call *call)
{
	const char *name = tenon_str(call, "name", "");
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "hello-%.200s.txt", name);
	for (char *c = path; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	file = chdir(tenon_workspace(call)) < 0 ? NULL : fopen(path, "w");
	if (!file)
		return tenon_fail_text(call, TENON_EFAILED, "%s: %s", path, strerror(errno));
	fprintf(file, "Hello, %s!\n", name);
	if (fclose(file) != 0)
		return tenon_fail_text(call, TENON_EFAILED, "%s: %s", path, strerror(errno));
	tenon_wrote(call, path);
	return tenon_reply_text(call, "greeted %s", name);
}

static const tenon_field hello_fields[] = {
	{ "name", TENON_FIELD_STRING, "who is greeted", .required = 1 },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "app:hello", hello, "Writes a greeting", .fields = hello_fields },
	{ 0 },
};

int main(void)
{
	return tenon_run(&(tenon_plugin){ "@NAME@", "0.1.0", "Greets in files", .dialect = "sunscreen-json",
					  .commands = commands });
}
