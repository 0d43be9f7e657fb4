/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc-host DESCRIPTIONS PLUGIN ROUNDS CALLS: unary calls of the plugin with mortise_call_sync(), one after the
 * other, as an embedder would make them. Prints the nanoseconds of one call, for each round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/mortise.h>

#include "bench.h"

#define METHOD "sunscreen.plugin.v1.Plugin/RunCommand"

static const char params[] = "{\"kind\":\"app\",\"name\":\"echo\",\"args\":[\"hello\"]}";

static int call_often(mortise_plugin *plugin, long calls, mortise_error *err)
{
	int r = 0;

	for (long i = 0; i < calls && r == 0; i++) {
		char *result = NULL;

		r = mortise_call_sync(plugin, METHOD, (mortise_json){ params, sizeof(params) - 1 }, NULL,
				      &result, err);
		if (r == 0 && !strstr(result, "hello"))
			r = -1;
		mortise_free(result);
	}
	return r;
}

static int measure(mortise_plugin *plugin, long rounds, long calls, mortise_error *err)
{
	int r = 0;

	for (long round = 0; round < rounds && r == 0; round++) {
		int64_t begin = bench_now();

		r = call_often(plugin, calls, err);
		printf("%lld\n", (long long)((bench_now() - begin) / calls));
	}
	return r;
}

int main(int argc, char **argv)
{
	const char *command[] = { argc == 5 ? argv[2] : NULL, NULL }, *set[2] = { 0 };
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = command, .dialect = "go-plugin", .set = set
	};
	mortise_plugin *plugin = NULL;
	mortise_host *host = NULL;
	mortise_error err = { 0 };
	char described[4096];
	int r;

	if (argc != 5) {
		fprintf(stderr, "usage: grpc-host DESCRIPTIONS PLUGIN ROUNDS CALLS\n");
		return 2;
	}
	snprintf(described, sizeof(described), "grpc.proto=%s", argv[1]);
	set[0] = described;
	r = mortise_host_new(NULL, &host, &err);
	if (r == 0)
		r = mortise_plugin_new(host, &opt, &plugin, &err);
	if (r == 0)
		r = measure(plugin, strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), &err);
	if (r < 0)
		fprintf(stderr, "grpc-host: %s\n", err.code ? err.text : "not what was sent");
	mortise_plugin_unref(plugin);
	mortise_host_free(host);
	return r < 0;
}
