/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin of test_tenon.py, in C. demo.py and demo.mjs do the same. */
#include <poll.h>
#include <stdio.h>
#include <tenon/grpc.h>

static int cancelled;

static const char *workspace(const tenon_call *call)
{
	const char *root = tenon_workspace(call);

	return root ? root : "";
}

static int demo_index(tenon_call *call)
{
	tenon_progress(call, 0.5, "half of it");
	tenon_log(call, "warning", "a line");
	tenon_stream(call, "piece ");
	tenon_wrote(call, "a.rs");
	return tenon_reply_text(call, "indexed %s of %s in %s", tenon_str(call, "name", ""),
				tenon_str(call, "program", ""), workspace(call));
}

static int demo_wait(tenon_call *call)
{
	tenon_progress(call, -1, "waits");
	while (!tenon_cancelled(call))
		poll(NULL, 0, 2);
	cancelled++;
	return tenon_reply_text(call, "was cancelled");
}

static int demo_count(tenon_call *call)
{
	return tenon_reply_text(call, "%d", cancelled);
}

static int demo_fail(tenon_call *call)
{
	return tenon_fail_data(call, 4, "it exists already", "{\"next_step\":\"pass --force\"}");
}

static int demo_built(tenon_call *call)
{
	return tenon_reply_text(call, "built %s in %s", tenon_str(call, "idl", ""), workspace(call));
}

static void demo_stop(const tenon_plugin *plugin)
{
	(void)plugin;
	fprintf(stderr, "stopped\n");
}

static const tenon_field index_fields[] = {
	{ "name", .required = 1 },
	{ "program", .fallback = "app" },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "index", demo_index, "Indexes a name.", .fields = index_fields },
	{ .name = "app:wait", .fn = demo_wait, .doc = "Waits until it is cancelled." },
	{ .name = "app:count", .fn = demo_count, .doc = "How often `wait` was cancelled." },
	{ .name = "fail", .fn = demo_fail, .doc = "Fails." },
	{ 0 },
};
static const tenon_field built_fields[] = { { .name = "idl" }, { 0 } };
static const tenon_command hooks[] = { { .name = "after_build", .fn = demo_built, .fields = built_fields },
				       { 0 } };

int main(void)
{
	return tenon_grpc_run(&(tenon_plugin){ .name = "demo",
					       .version = "1.0.0",
					       .description = "Shows what Tenon does over gRPC",
					       .dialect = "sunscreen",
					       .commands = commands,
					       .hooks = hooks,
					       .on_stop = demo_stop });
}
