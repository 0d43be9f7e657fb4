/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <tenon/tenon.h>
#include <unistd.h>

static int note(tenon_call *call)
{
	const char *path = tenon_str(call, "file", "NOTES.md");
	int fd = chdir(tenon_workspace(call)) < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (fd < 0 || dprintf(fd, "- %s\n", tenon_str(call, "text", "")) < 0 || close(fd) < 0)
		return tenon_fail_text(call, 7, "%s cannot be written", path);
	tenon_wrote(call, path);
	return tenon_reply_text(call, "noted in %s", path);
}

int main(void)
{
	static const tenon_field fields[] = { { "text", .required = 1 }, { .name = "file" }, { 0 } };
	static const tenon_command commands[] = { { "note", note, "Notes a line", .fields = fields }, { 0 } };

	return tenon_run(&(tenon_plugin){ "notes", "1.0.0", .dialect = "sunscreen", .commands = commands });
}
