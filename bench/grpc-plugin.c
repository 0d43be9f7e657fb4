/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin of bench/grpc: one command that answers with its argument, over gRPC. */
#include <tenon/grpc.h>

static int echo(tenon_call *call)
{
	return tenon_reply_text(call, "%s", tenon_str(call, "text", ""));
}

int main(void)
{
	static const tenon_field fields[] = { { "text", .required = 1 }, { 0 } };
	static const tenon_command commands[] = { { "app:echo", echo, "Answers", .fields = fields }, { 0 } };

	return tenon_grpc_run(&(tenon_plugin){ "echo", "1.0.0", .dialect = "sunscreen", .commands = commands });
}
