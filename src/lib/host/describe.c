/* SPDX-License-Identifier: Apache-2.0 */
/* mortise_plugin_describe(): everything known about a plugin, as one JSON object. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "explain/explain.h"
#include "host/plugin.h"
#include "host/pool.h"
#include "host/settings.h"

static void pair_text(struct mor_writer *w, const char *name, const char *text)
{
	mor_w_pair(w, name, text && *text ? text : NULL);
}

/* The manifest on disk wins over what the plugin says about itself. */
static const struct mor_value *fact_of(const mortise_plugin *plugin, const char *name)
{
	const struct mor_value *value = mor_json_get(plugin->peer.manifest, name);

	return value ? value : mor_json_get(plugin->peer.hello, name);
}

static void write_interfaces(const mortise_plugin *plugin, struct mor_writer *w)
{
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;

	if (mor_dialect_interfaces(plugin->peer.dialect, mor_plugin_identity(plugin), &list) < 0)
		return;
	mor_w_pair_raw(w, "interfaces", mor_buf_view(&list));
}

static void write_identity(const mortise_plugin *plugin, struct mor_writer *w)
{
	const struct mor_manifest *m = plugin->guarded.manifest;

	mor_w_pair(w, "name", plugin->peer.name);
	pair_text(w, "version", m->version ? m->version : mor_json_text(fact_of(plugin, "version"), NULL));
	pair_text(w, "description",
		  m->description ? m->description : mor_json_text(fact_of(plugin, "description"), NULL));
	mor_w_pair(w, "dialect", plugin->peer.dialect->name);
	mor_w_pair(w, "transport", plugin->is.link_options.remote ? "grpc" : "stdio");
	mor_w_pair(w, "framing",
		   plugin->is.link_options.remote ? NULL : mor_framing_name(plugin->is.link_options.framing));
	mor_w_pair(w, "state", mortise_state_name(plugin->now.state));
	mor_w_key(w, "pid");
	if (plugin->life.pid)
		mor_w_int(w, plugin->life.pid);
	else
		mor_w_null(w);
	mor_w_pair_array(w, "command");
	for (char **arg = m->argv; *arg; arg++)
		mor_w_string(w, *arg);
	mor_w_end(w);
	mor_w_pair(w, "cwd", m->cwd);
	mor_w_pair(w, "manifest", m->file);
	mor_w_pair_value(w, "identity", plugin->peer.hello);
	write_interfaces(plugin, w);
	mor_w_pair_value(w, "actions", m->actions ? mor_doc_root(m->actions) : NULL);
	mor_w_pair_bool(w, "more_actions", m->more_actions);
	mor_w_pair_value(w, "capabilities", fact_of(plugin, "capabilities"));
}

static void write_health(const mortise_plugin *plugin, struct mor_writer *w)
{
	const struct mor_health_state *health = &plugin->now.health;

	mor_w_pair_object(w, "health");
	mor_w_pair_maybe(w, "healthy", health->healthy);
	pair_text(w, "status", health->status);
	pair_text(w, "reason", mor_kept_text(&health->reason));
	mor_w_key(w, "since_ms_ago");
	if (health->healthy < 0)
		mor_w_null(w);
	else
		mor_w_int(w, mor_loop_now_ms(plugin->host->loop) - health->since_ms);
	mor_w_end(w);
}

static void write_configuration(const mortise_plugin *plugin, struct mor_writer *w)
{
	mor_w_pair_raw(w, "config", plugin->peer.config.ptr ? plugin->peer.config : MOR_SLICE("null"));
	mor_w_pair_value(w, "config_applied", mor_json_get(plugin->peer.init, "config_applied"));
	mor_w_pair_value(w, "init", plugin->peer.init);
	mor_w_pair_object(w, "timeouts");
	for (const struct mor_method *row = plugin->peer.dialect->methods; row && row->name; row++) {
		if (row->from == MOR_FROM_HOST && mor_dialect_is_first(plugin->peer.dialect, row) &&
		    mor_plugin_timeout(plugin, row, row->name))
			mor_w_pair_int(w, row->name, mor_plugin_timeout(plugin, row, row->name));
	}
	for (size_t i = 0; i < plugin->is.timeout_count; i++) {
		const struct mor_method *row = mor_dialect_method(plugin->peer.dialect, MOR_FROM_HOST,
								  mor_slice_of(plugin->is.timeouts[i].method));

		if (!row || (strcmp(row->name, "*") == 0 && strcmp(plugin->is.timeouts[i].method, "*") != 0))
			mor_w_pair_int(w, plugin->is.timeouts[i].method, plugin->is.timeouts[i].ms);
	}
	mor_w_end(w);
}

static void write_counters(const mortise_plugin *plugin, struct mor_writer *w)
{
	const struct mor_counters *c = &plugin->now.counters;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "calls", c->calls },
		{ "answered", c->answered },
		{ "failed", c->failed },
		{ "timeouts", c->timeouts },
		{ "restarts", c->restarts },
		{ "noise_bytes", c->noise_bytes },
		{ "stderr_bytes", c->stderr_bytes },
		{ "dropped", c->dropped },
		{ "bytes_in", c->bytes_in },
		{ "bytes_out", c->bytes_out },
		{ "cpu_ms", c->cpu_us / 1000 },
	};

	mor_w_pair_object(w, "counters");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		mor_w_pair_int(w, rows[i].name, (int64_t)rows[i].value);
	mor_w_end(w);
}

/* The permissions at the level in force: a rule that is not enforced is null. */
static void permissions(const mortise_plugin *plugin, const char *level, struct mor_writer *w)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_policy shown = plugin->guarded.policy; /* its texts are borrowed */

	for (int i = MOR_LEVEL_GUARDED; i <= MOR_LEVEL_T1; i++)
		if (strcmp(level, mor_level_name((enum mor_level)i)) == 0)
			shown.level = (enum mor_level)i;
	if (strcmp(level, "direct") == 0)
		shown.level = MOR_LEVEL_GUARDED;
	if (mor_policy_json(&shown, &json) == 0)
		mor_w_pair_raw(w, "policy", mor_buf_view(&json));
}

/* While it runs: what is in force. Before that: what was asked for. */
static void write_confinement(const mortise_plugin *plugin, struct mor_writer *w)
{
	static const struct {
		const char *level, *text;
	} texts[] = {
		{ "guarded",
		  "guarded, not confined: it may do whatever this user may, but gains no privileges; all its "
		  "processes are killed with it" },
		{ "t0",
		  "confined by Landlock and seccomp: it can use files, network, processes and the kernel only "
		  "as its permissions allow" },
		{ "t1",
		  "confined by Landlock and seccomp, in its own namespaces: it sees only what its permissions "
		  "allow" },
		{ "auto", "confined when it runs, in its own namespaces if the kernel allows them" },
		{ "direct",
		  "not confined: it may do whatever this user may; its process group is killed with it" },
	};
	const struct mor_link *link = plugin->life.link;
	const char *level = link && link->level ? link->level : mor_level_name(plugin->guarded.policy.level);

	mor_w_pair_object(w, "confinement");
	mor_w_pair(w, "level", level);
	pair_text(w, "rung", link ? link->rung : NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(texts[i].level, level) == 0)
			mor_w_pair(w, "text", texts[i].text);
	}
	permissions(plugin, level, w);
	mor_w_end(w);
}

static void write_plugin(const mortise_plugin *plugin, struct mor_writer *w)
{
	mor_w_object(w);
	write_identity(plugin, w);
	write_health(plugin, w);
	write_configuration(plugin, w);
	mor_w_pair_int(w, "max_in_flight", plugin->is.max_in_flight);
	write_confinement(plugin, w);
	write_counters(plugin, w);
	mor_w_pair_array(w, "warnings");
	MOR_LIST_EACH(node, after, &plugin->guarded.manifest->warnings)
		mor_w_string(w, mor_container_of(node, struct mor_warning, node)->text);
	mor_w_end(w);
	pair_text(w, "last_error", mor_kept_text(&plugin->now.last_error));
	mor_w_pair(w, "last_stderr", mor_heard_of(plugin)->last_stderr);
	mor_w_end(w);
}

static int hand_out(struct mor_buf *out, char **ret_json, mortise_error *err)
{
	char *json = mor_buf_failed(out) ? NULL : mor_buf_detach(out);

	if (!json) {
		mor_buf_fini(out);
		return mor_fail_memory(err);
	}
	*ret_json = json;
	return 0;
}

int mortise_plugin_describe(mortise_plugin *plugin, char **ret_json, mortise_error *err)
{
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };
	int r = mor_plugin_check(plugin, err);

	if (r == 0 && !ret_json)
		r = mor_fail(err, MORTISE_EINVAL, "a place for the description must be given");
	if (r < 0)
		return r;
	write_plugin(plugin, &w);
	return hand_out(&out, ret_json, err);
}

int mortise_pool_describe(mortise_pool *pool, char **ret_json, mortise_error *err)
{
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };
	int r = pool && ret_json ? mor_host_check_thread(pool->host, err) :
				   mor_fail(err, MORTISE_EINVAL, "a pool and a place must be given");

	if (r < 0)
		return r;
	if (pool->freed)
		return mor_fail(err, MORTISE_ECLOSED, "the pool was released");
	mor_w_object(&w);
	mor_w_pair_int(&w, "waiting", pool->queued);
	mor_w_pair_int(&w, "waiting_bytes", (int64_t)pool->queued_bytes);
	mor_w_pair_int(&w, "max_queue", pool->max_queue);
	mor_w_pair_int(&w, "retries", pool->retries);
	mor_w_pair_array(&w, "workers");
	for (uint32_t i = 0; i < pool->count; i++)
		write_plugin(pool->workers[i], &w);
	mor_w_end(&w);
	mor_w_end(&w);
	return hand_out(&out, ret_json, err);
}

static int list_dialects(bool json, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	if (json)
		mor_w_array(&w);
	for (const struct mor_dialect *const *dialect = mor_dialects(); *dialect; dialect++) {
		if (!json) {
			mor_buf_printf(out, "%-14s %s\n", (*dialect)->name, (*dialect)->title);
			continue;
		}
		mor_w_object(&w);
		mor_w_pair(&w, "name", (*dialect)->name);
		mor_w_pair(&w, "title", (*dialect)->title);
		mor_w_end(&w);
	}
	if (json)
		mor_w_end(&w);
	return out->status;
}

int mortise_dialect_describe(const char *name, const char *format, char **ret_text, mortise_error *err)
{
	static const struct {
		const char *format;
		int (*of_one)(const struct mor_dialect *dialect, struct mor_buf *out);
		bool list, json;
	} formats[] = { { "text", mor_explain_text, .list = true },
			{ "command", mor_explain_command, .list = true },
			{ "json", mor_explain_json, .list = true, .json = true },
			{ "openrpc", mor_explain_openrpc, false, false } };
	const struct mor_dialect *dialect = name ? mor_dialect_find(name) : NULL;
	struct mor_buf out = MOR_BUF_INIT;

	if (!format || !ret_text)
		return mor_fail(err, MORTISE_EINVAL, "a format and a place for the text must be given");
	if (name && !dialect)
		return mor_fail(err, MORTISE_ENOTFOUND, "no dialect is called \"%.60s\"", name);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(format, formats[i].format) == 0 && (name || formats[i].list)) {
			if ((name ? formats[i].of_one(dialect, &out) : list_dialects(formats[i].json, &out)) ==
			    0)
				return hand_out(&out, ret_text, err);
			mor_buf_fini(&out);
			return mor_fail_memory(err);
		}
	return mor_fail(err, MORTISE_EINVAL, "a dialect has no format \"%.60s\"", format);
}
