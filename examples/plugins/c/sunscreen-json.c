/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <tenon/tenon.h>

static int list(tenon_call *call)
{
	DIR *dir = opendir(tenon_workspace(call));

	if (!dir)
		return tenon_fail(call, 5, "there is no workspace");
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] != '.' || tenon_bool(call, "all", 0))
			tenon_stream(call, "%s\n", entry->d_name);
	closedir(dir);
	return tenon_reply_text(call, "%s", "");
}

int main(void)
{
	static const tenon_field fields[] = { { "all", .type = TENON_FIELD_BOOLEAN }, { 0 } };
	static const tenon_command commands[] = { { "list", list, "Lists the workspace", .fields = fields },
						  { 0 } };

	return tenon_run(&(tenon_plugin){ "ls", "1.0.0", .dialect = "sunscreen-json", .commands = commands });
}
