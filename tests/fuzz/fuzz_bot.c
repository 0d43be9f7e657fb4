/* SPDX-License-Identifier: Apache-2.0 */
/* A bot's file: it is read or refused with a text, what comes out is whole, and a second reading
 * gives the same. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>

#include "botfile/botfile.h"

static char dir[64], path[80];

static void clean_up(void)
{
	unlink(path);
	rmdir(dir);
}

static void put(const uint8_t *data, size_t size)
{
	int fd;

	if (!dir[0]) {
		fuzz_dir(dir);
		snprintf(path, sizeof(path), "%s/bot.toml", dir);
		atexit(clean_up);
	}
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void check_whole(const struct mor_botfile *bot)
{
	CHECK(bot->count > 0);
	for (size_t i = 0; i < bot->count; i++) {
		const struct mor_botfile_plugin *plugin = &bot->plugins[i];

		CHECK(plugin->name && plugin->argv && plugin->argv[0] && plugin->argv[0][0] && plugin->line);
		CHECK(i == 0 || bot->plugins[i - 1].priority <= plugin->priority);
		for (char **env = plugin->env; env && *env; env++)
			CHECK(strchr(*env, '='));
		for (char **set = plugin->set; set && *set; set++)
			CHECK(strchr(*set, '='));
	}
	for (char **warning = bot->warnings; warning && *warning; warning++)
		CHECK(**warning);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = 0;
	int first = 0;

	put(data, size);
	for (int round = 0; round < 2; round++) {
		struct mor_botfile *bot = NULL;
		mortise_error err = { 0 };
		int r = mor_botfile_load(path, &bot, &err);

		CHECK(r == 0 ? bot != NULL : !bot && err.text[0] && err.code == r);
		CHECK(round == 0 || (r == first && (!bot || bot->count == count)));
		first = r;
		count = bot ? bot->count : 0;
		if (bot)
			check_whole(bot);
		mor_botfile_free(bot);
	}
	return 0;
}
