/* SPDX-License-Identifier: Apache-2.0 */
/* One run: which start it is, its log, the two lanes, and the report at the end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "chaos/chaos.h"

/* An empty file counts as 0. Any other content means the file belongs to somebody else, and it is left
 * unchanged. 0, or -1 with errno. */
static int read_count(int fd, uint64_t *ret)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	*ret = 0;
	if (n > 0 && !(text[n - 1] == '\n' && mor_parse_u64((struct mor_slice){ text, (size_t)n - 1 }, ret)))
		errno = EEXIST;
	else if (n >= 0)
		return 0;
	return -1;
}

/* The number of this start, from 1. All starts count in one shared file. */
static int count_start(const char *path, uint64_t *ret, mortise_error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), len, error = 0;
	char text[32];

	if (fd < 0 || flock(fd, LOCK_EX) < 0 || read_count(fd, ret) < 0) {
		error = errno;
	} else {
		len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)++*ret);
		if (pwrite(fd, text, (size_t)len, 0) < 0)
			error = errno;
	}
	mor_fd_close(&fd);
	if (error == EEXIST)
		return mor_fail(
			err, MORTISE_EINPUT,
			"--starts %s: the file holds something other than a number of starts: name a new file",
			path);
	return error ? mor_fail_errno(err, MORTISE_ESYSTEM, error, "--starts %s", path) : 0;
}

static int open_log(const char *path, uint64_t seed, uint64_t start, int *ret, mortise_error *err)
{
	char line[80];
	int len, r;

	*ret = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (*ret < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "--log %s", path);
	len = snprintf(line, sizeof(line), "# seed %llu start %llu\n", (unsigned long long)seed,
		       (unsigned long long)start);
	r = mor_fd_write_all(*ret, line, (size_t)len);
	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "--log %s", path) : 0;
}

int mor_chaos_begin(struct mor_chaos *chaos, uint64_t seed, const char *starts, const char *log,
		    mortise_error *err)
{
	uint64_t start = 0;
	int r = starts ? count_start(starts, &start, err) : 0;

	chaos->seed = mor_chaos_mix(seed ^ mor_chaos_mix(start));
	return r < 0 || !log ? r : open_log(log, seed, start, &chaos->log, err);
}

/* ---- the report ---- */

static void report_line(struct mor_console *console, const struct mor_chaos_lane lane[2])
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	size_t before;

	mor_buf_printf(&text, "chaos: %llu messages to the plugin, %llu from it; ",
		       (unsigned long long)lane[0].messages, (unsigned long long)lane[1].messages);
	before = text.len;
	for (int i = 0; i < MOR_CHAOS_FAULTS; i++)
		if (lane[0].faults[i] + lane[1].faults[i])
			mor_buf_printf(&text, "%s%s %llu", text.len > before ? ", " : "",
				       mor_chaos_fault_kinds[i].name,
				       (unsigned long long)lane[0].faults[i] + lane[1].faults[i]);
	if (text.len == before)
		mor_buf_text(&text, "no faults");
	mor_note_slice(console, mor_buf_view(&text));
}

static void report_json(struct mor_console *console, const struct mor_chaos_lane lane[2])
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };

	mor_w_object(&w);
	mor_w_pair_int(&w, "messages_to_plugin", (int64_t)lane[0].messages);
	mor_w_pair_int(&w, "messages_to_host", (int64_t)lane[1].messages);
	mor_w_pair_object(&w, "faults");
	for (int i = 0; i < MOR_CHAOS_FAULTS; i++)
		mor_w_pair_int(&w, mor_chaos_fault_kinds[i].name,
			       (int64_t)(lane[0].faults[i] + lane[1].faults[i]));
	mor_w_end(&w);
	mor_w_end(&w);
	mor_note_slice(console, mor_buf_view(&text));
}

/* ---- the run ---- */

int mor_chaos_run(struct mor_chaos *chaos, struct mor_relay_plugin *plugin, struct mor_console *console)
{
	struct mor_chaos_lane lane[2];
	int status;

	if (chaos->framing < 0)
		chaos->framing = plugin->framing;
	mor_chaos_lane_init(&lane[0], chaos, '>', STDIN_FILENO, plugin->in);
	mor_chaos_lane_init(&lane[1], chaos, '<', plugin->out, STDOUT_FILENO);
	lane[0].cutter.other = &lane[1].cutter;
	lane[1].cutter.other = &lane[0].cutter;
	status = mor_relay_carry(
		&(struct mor_relay){ .plugin = plugin, .lane = { &lane[0].relay, &lane[1].relay } });
	if (console->json)
		report_json(console, lane);
	else if (chaos->log < 0 || console->verbose)
		report_line(console, lane);
	mor_chaos_lane_fini(&lane[0]);
	mor_chaos_lane_fini(&lane[1]);
	mor_fd_close(&chaos->log);
	return status;
}
