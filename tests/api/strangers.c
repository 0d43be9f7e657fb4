/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#include <glob.h>

#include <mortise/installed.h>
#include <mortise/jail.h>
#include <mortise/view.h>

#define REFUSED(is_refused) ((is_refused) ? MORTISE_ETHREAD : 0)

/* ---- any thread ---- */

static int status_text(const struct handles *h)
{
	(void)h;
	return mortise_status_text(MORTISE_ETHREAD) == NULL;
}

static int status_kind(const struct handles *h)
{
	(void)h;
	return mortise_status_kind(MORTISE_ETHREAD) == NULL;
}

static int status_name(const struct handles *h)
{
	(void)h;
	return mortise_status_name(MORTISE_ETHREAD) == NULL;
}

static int status_exit_code(const struct handles *h)
{
	(void)h;
	return mortise_status_exit_code(MORTISE_ETHREAD) != 2;
}

static int version(const struct handles *h)
{
	(void)h;
	return mortise_version() == NULL;
}

static int state_name(const struct handles *h)
{
	(void)h;
	return mortise_state_name(MORTISE_READY) == NULL;
}

static int event_name(const struct handles *h)
{
	(void)h;
	return mortise_event_name(MORTISE_EVENT_LOG) == NULL;
}

static int dialect_describe(const struct handles *h)
{
	char *text = NULL;
	int r = mortise_dialect_describe("plain", "text", &text, NULL);

	(void)h;
	mortise_free(text);
	return r;
}

static int free_memory(const struct handles *h)
{
	(void)h;
	mortise_free(NULL);
	return 0;
}

static int doctor(const struct handles *h)
{
	char *text = NULL;
	int r = mortise_doctor(&text, NULL);

	(void)h;
	mortise_free(text);
	return r;
}

static int host_new(const struct handles *h)
{
	mortise_host *own = NULL;
	int r = mortise_host_new(NULL, &own, NULL);

	(void)h;
	return r < 0 ? r : mortise_host_free(own) != NULL;
}

static int host_wakeup(const struct handles *h)
{
	return mortise_host_wakeup(h->host);
}

static int host_adopt(const struct handles *h)
{
	return mortise_host_adopt(h->host, NULL);
}

static int undo_new(const struct handles *h)
{
	mortise_undo *undo = NULL;

	(void)h;
	return mortise_undo_new(NULL, &undo, NULL) != MORTISE_EINVAL || undo;
}

static int undo_store(const struct handles *h)
{
	return mortise_undo_store(h->undo) == NULL;
}

static int undo_run(const struct handles *h)
{
	mortise_undo_result result = { .size = sizeof(result) };

	return mortise_undo_run(h->undo, &result, NULL);
}

static int undo_free(const struct handles *h)
{
	(void)h;
	return mortise_undo_free(NULL) != NULL;
}

/* ---- the host ---- */

static int host_free(const struct handles *h)
{
	return REFUSED(mortise_host_free(h->host) == h->host);
}

static int host_fd(const struct handles *h)
{
	return mortise_host_fd(h->host);
}

static int host_dispatch(const struct handles *h)
{
	return mortise_host_dispatch(h->host);
}

static int host_wait(const struct handles *h)
{
	return mortise_host_wait(h->host, 0);
}

static int host_next_plugin(const struct handles *h)
{
	return REFUSED(!mortise_host_next_plugin(h->host, NULL));
}

static int host_set_tap(const struct handles *h)
{
	return mortise_host_set_tap(h->host, NULL, NULL, NULL);
}

static int jail_run(const struct handles *h)
{
	static const char *const argv[] = { "/bin/true", NULL };
	mortise_jail_options opt = { .size = sizeof(opt), .argv = argv, .host = h->host };
	mortise_jail_result *result = NULL;
	int r = mortise_jail_run(&opt, &result, NULL);

	mortise_free(result);
	return r;
}

/* ---- plugins ---- */

static int plugin_new(const struct handles *h)
{
	static const char *const argv[] = { "/bin/true", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv };
	mortise_plugin *plugin = NULL;
	mortise_error err = { 0 };
	int r = mortise_plugin_new(h->host, &opt, &plugin, &err);

	return plugin || err.code != r ? 0 : r;
}

static int plugin_ref(const struct handles *h)
{
	return REFUSED(!mortise_plugin_ref(h->plugin) && !mortise_plugin_ref(h->orphan));
}

static int plugin_unref(const struct handles *h)
{
	return REFUSED(mortise_plugin_unref(h->plugin) == h->plugin &&
		       mortise_plugin_unref(h->orphan) == h->orphan);
}

static int plugin_start(const struct handles *h)
{
	mortise_plugin_start(h->orphan, NULL);
	return mortise_plugin_start(h->plugin, NULL);
}

static int plugin_stop(const struct handles *h)
{
	return mortise_plugin_stop(h->plugin, MORTISE_STOP_NOW, NULL);
}

static int plugin_stop_sync(const struct handles *h)
{
	return mortise_plugin_stop_sync(h->plugin, 0, NULL);
}

static int plugin_host(const struct handles *h)
{
	return REFUSED(!mortise_plugin_host(h->plugin));
}

static int plugin_arg(const struct handles *h)
{
	return REFUSED(!mortise_plugin_arg(h->plugin));
}

static int plugin_pause(const struct handles *h)
{
	return mortise_plugin_pause(h->plugin, 1, NULL);
}

static int plugin_name(const struct handles *h)
{
	return REFUSED(!*mortise_plugin_name(h->plugin));
}

static int plugin_dialect(const struct handles *h)
{
	return REFUSED(!*mortise_plugin_dialect(h->plugin));
}

static int plugin_state(const struct handles *h)
{
	return mortise_plugin_state(h->orphan) == MORTISE_ETHREAD ? mortise_plugin_state(h->plugin) : 0;
}

static int plugin_describe(const struct handles *h)
{
	char *text = NULL;
	int r = mortise_plugin_describe(h->plugin, &text, NULL);

	return text ? 0 : r;
}

static int plugin_set_view(const struct handles *h)
{
	return mortise_plugin_set_view(h->plugin, NULL, NULL, NULL, NULL);
}

/* ---- calls and requests ---- */

static int call_start(const struct handles *h)
{
	return mortise_call_start(h->plugin, "crash", json(NULL), NULL, NULL, NULL);
}

static int call_cancel(const struct handles *h)
{
	return mortise_call_cancel(h->call, NULL);
}

static int call_sync(const struct handles *h)
{
	return mortise_call_sync(h->plugin, "crash", json(NULL), NULL, NULL, NULL);
}

static int request_reply(const struct handles *h)
{
	return mortise_request_reply(h->request, json("\"of a stranger\""), NULL);
}

static int request_fail(const struct handles *h)
{
	return mortise_request_fail(h->request, -1, "of a stranger", json(NULL), NULL);
}

static int request_plugin(const struct handles *h)
{
	return REFUSED(!mortise_request_plugin(h->request));
}

/* ---- pools ---- */

static int pool_new(const struct handles *h)
{
	static const char *const argv[] = { "/bin/true", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv };
	mortise_pool *pool = NULL;
	int r = mortise_pool_new(h->host, &opt, NULL, &pool, NULL);

	return pool ? 0 : r;
}

static int installed_list(const struct handles *h)
{
	char *json = NULL;
	int r = mortise_installed_list(0, &json, NULL);

	(void)h;
	mortise_free(json);
	return r;
}

static int installed_find(const struct handles *h)
{
	char *directory = NULL;

	(void)h;
	return mortise_installed_find("nobody-at-all", &directory, NULL) == MORTISE_ENOTFOUND ? 0 : -1;
}

static int pool_free(const struct handles *h)
{
	return REFUSED(mortise_pool_free(h->pool) == h->pool);
}

static int pool_call(const struct handles *h)
{
	return mortise_pool_call(h->pool, "echo", json(NULL), NULL, NULL, NULL);
}

static int pool_stop(const struct handles *h)
{
	return mortise_pool_stop(h->pool, MORTISE_STOP_NOW, NULL);
}

static int pool_describe(const struct handles *h)
{
	char *text = NULL;

	return mortise_pool_describe(h->pool, &text, NULL);
}

static int pool_worker(const struct handles *h)
{
	return REFUSED(!mortise_pool_worker(h->pool, 0));
}

/* clang-format off */
#define ROW(name, may) { "mortise_" #name, STRANGER_##may, name }
/* clang-format on */
const struct stranger strangers[] = {
	ROW(status_text, MAY),
	ROW(status_kind, MAY),
	ROW(status_name, MAY),
	ROW(status_exit_code, MAY),
	ROW(version, MAY),
	ROW(state_name, MAY),
	ROW(event_name, MAY),
	ROW(dialect_describe, MAY),
	{ "mortise_free", STRANGER_MAY, free_memory },
	ROW(undo_new, MAY),
	ROW(undo_store, MAY),
	ROW(undo_run, ADOPTS),
	ROW(undo_free, MAY),
	ROW(doctor, MAY),
	ROW(installed_list, MAY),
	ROW(installed_find, MAY),
	ROW(host_new, MAY),
	ROW(host_wakeup, ADOPTS),
	ROW(host_fd, MAY_NOT),
	ROW(host_dispatch, MAY_NOT),
	ROW(host_wait, MAY_NOT),
	ROW(host_next_plugin, MAY_NOT),
	ROW(host_set_tap, MAY_NOT),
	ROW(jail_run, MAY_NOT),
	ROW(plugin_new, MAY_NOT),
	ROW(plugin_ref, MAY_NOT),
	ROW(plugin_start, MAY_NOT),
	ROW(plugin_stop, MAY_NOT),
	ROW(plugin_stop_sync, MAY_NOT),
	ROW(plugin_host, MAY_NOT),
	ROW(plugin_arg, MAY_NOT),
	ROW(plugin_pause, MAY_NOT),
	ROW(plugin_name, MAY_NOT),
	ROW(plugin_dialect, MAY_NOT),
	ROW(plugin_state, MAY_NOT),
	ROW(plugin_describe, MAY_NOT),
	ROW(plugin_set_view, MAY_NOT),
	ROW(call_start, MAY_NOT),
	ROW(call_cancel, MAY_NOT),
	ROW(call_sync, MAY_NOT),
	ROW(request_reply, MAY_NOT),
	ROW(request_fail, MAY_NOT),
	ROW(request_plugin, MAY_NOT),
	ROW(pool_new, MAY_NOT),
	ROW(pool_call, MAY_NOT),
	ROW(pool_stop, MAY_NOT),
	ROW(pool_worker, MAY_NOT),
	ROW(pool_describe, MAY_NOT),
	ROW(pool_free, MAY_LEAVE),
	ROW(plugin_unref, MAY_LEAVE),
	ROW(host_free, MAY_LEAVE),
	ROW(host_adopt, ADOPTS),
};
const size_t stranger_count = sizeof(strangers) / sizeof(*strangers);

/* Counts what one header declares, and what of that is in the table. */
static void count_declared(const char *path, size_t *declared, size_t *known)
{
	FILE *header = fopen(path, "re");
	char line[512];

	assert_non_null(header);
	while (fgets(line, sizeof(line), header)) {
		char *end = strchr(line, '('), *name = end;
		size_t i = 0;

		if (strncmp(line, "MORTISE_API ", 12) != 0)
			continue;
		assert_non_null(end);
		*end = '\0';
		while (name > line && name[-1] != ' ' && name[-1] != '*')
			name--;
		while (i < stranger_count && strcmp(strangers[i].name, name) != 0)
			i++;
		if (i == stranger_count)
			print_error("%s is not in the table\n", name);
		++*declared;
		*known += i < stranger_count;
	}
	fclose(header);
}

void strangers_are_complete(void)
{
	size_t declared = 0, known = 0;
	glob_t headers;

	assert_int_equal(glob(MORTISE_HEADERS "/*.h", 0, NULL, &headers), 0);
	for (size_t i = 0; i < headers.gl_pathc; i++)
		count_declared(headers.gl_pathv[i], &declared, &known);
	globfree(&headers);
	assert_int_equal(known, stranger_count);
	assert_int_equal(declared, stranger_count);
}
