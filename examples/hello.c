/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest embedder: one plugin, one call, wait for the answer.
 *
 *	cc hello.c -o hello $(pkg-config --cflags --libs mortise)
 *	./hello ./echo-plugin.py
 *
 * prints:
 *	{"text":"hello, world"}
 */
#include <stdio.h>

#include <mortise/mortise.h>

int main(int argc, char **argv)
{
	mortise_plugin_options opt = { .size = sizeof(opt), .path = argc > 1 ? argv[1] : "./echo-plugin.py" };
	mortise_json params = mortise_json_text("{\"name\":\"world\"}");
	mortise_host *host = NULL;
	mortise_plugin *plugin = NULL;
	mortise_error err = { 0 };
	char *result = NULL;

	if (mortise_host_new(NULL, &host, &err) < 0 || mortise_plugin_new(host, &opt, &plugin, &err) < 0 ||
	    mortise_call_sync(plugin, "greet", params, NULL, &result, &err) < 0)
		fprintf(stderr, "hello: %s\n", err.text);
	else
		puts(result);
	mortise_free(result);
	if (plugin)
		mortise_plugin_stop_sync(plugin, 1000, NULL);
	mortise_plugin_unref(plugin);
	mortise_host_free(host);
	return err.code != 0;
}
