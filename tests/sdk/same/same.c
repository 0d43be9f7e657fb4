/* SPDX-License-Identifier: Apache-2.0 */
/* One plugin, written with three SDKs: test_manifests.py compares what --manifest prints. */
#include <tenon/tenon.h>

static int greet(tenon_call *call)
{
	return tenon_reply_text(call, "Hello");
}

int main(void)
{
	static const tenon_command commands[] = { { "greet", greet, "Says hello", NULL, NULL }, { 0 } };

	return tenon_run(&(tenon_plugin){ "the-same", "1.2.0", .description = "Is \"the same\"",
					  .author = "Ada", .commands = commands, .extract = greet,
					  .formats = "text/x-a text/x-b", .extensions = ".a .b" });
}
