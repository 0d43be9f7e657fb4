/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan: takes policy and command, returns a sealed memfd. Only the library uses it. */
#include "policy/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/processors.h"
#include "policy/cgroup.h"
#include "policy/protect.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int mor_plan_begin(struct mor_buf *plan)
{
	struct mor_plan_head head = { .magic = MOR_PLAN_MAGIC, .version = MOR_PLAN_VERSION };

	return mor_buf_append(plan, &head, sizeof(head));
}

/* The operation's head is written first. `close_op` corrects its size when the payload is there. */
static size_t open_op(struct mor_buf *plan, enum mor_plan_kind kind)
{
	struct mor_plan_op op = { .kind = kind };

	mor_buf_append(plan, &op, sizeof(op));
	return plan->len;
}

static int close_op(struct mor_buf *plan, size_t from)
{
	struct mor_plan_head *head;
	static const char zeros[8];
	uint32_t size = (uint32_t)(plan->len - from);

	mor_buf_append(plan, zeros, -plan->len & 7);
	if (mor_buf_failed(plan))
		return plan->status;
	memcpy(plan->data + from - sizeof(size), &size, sizeof(size));
	head = (struct mor_plan_head *)plan->data;
	head->count++;
	return 0;
}

int mor_plan_add(struct mor_buf *plan, enum mor_plan_kind kind, const void *payload, size_t size)
{
	size_t from = open_op(plan, kind);

	mor_buf_append(plan, payload, size);
	return close_op(plan, from);
}

int mor_plan_add_text(struct mor_buf *plan, enum mor_plan_kind kind, const char *text)
{
	return mor_plan_add(plan, kind, text, strlen(text) + 1);
}

int mor_plan_add_list(struct mor_buf *plan, enum mor_plan_kind kind, const char *const *texts)
{
	size_t from = open_op(plan, kind);

	for (; *texts; texts++)
		mor_buf_append(plan, *texts, strlen(*texts) + 1);
	return close_op(plan, from);
}

/* A payload of fixed size, and a text behind it. */
static int add_with_text(struct mor_buf *plan, enum mor_plan_kind kind, const void *payload, size_t size,
			 const char *text)
{
	size_t from = open_op(plan, kind);

	mor_buf_append(plan, payload, size);
	mor_buf_append(plan, text, strlen(text) + 1);
	return close_op(plan, from);
}

int mor_plan_add_path(struct mor_buf *plan, uint32_t access, uint32_t flags, const char *path)
{
	struct mor_op_path rule = { .access = access, .flags = flags };

	return add_with_text(plan, MOR_OP_PATH, &rule, sizeof(rule), path);
}

int mor_plan_add_protect(struct mor_buf *plan, enum mor_protect_why why, const char *text)
{
	struct mor_op_protect protect = { .why = why };

	return add_with_text(plan, MOR_OP_PROTECT, &protect, sizeof(protect), text);
}

int mor_plan_add_limit(struct mor_buf *plan, uint32_t resource, uint64_t value)
{
	struct mor_op_limit limit = { .resource = resource, .value = value };

	return mor_plan_add(plan, MOR_OP_LIMIT, &limit, sizeof(limit));
}

/* ---- from a policy ---- */

static bool runs_others(const struct mor_policy *policy)
{
	return policy->spawn || policy->learn;
}

/* To build is to run what was built. Sunscreen's specification names the places of programs: these are not. */
static bool runs_made(const struct mor_policy *policy)
{
	return runs_others(policy) && policy->source != MOR_POLICY_OF_SUNSCREEN_JSON;
}

/* The specification of these plugins has no list of protected names: to write one is no violation. */
static bool is_lenient(const struct mor_policy *policy)
{
	return policy->source == MOR_POLICY_OF_PLUGIN_TOML || policy->source == MOR_POLICY_OF_SUNSCREEN_JSON;
}

static void add_level(struct mor_buf *plan, const struct mor_policy *policy, const struct mor_limits *limits)
{
	struct mor_op_level level = { .level = MOR_LEVEL_GUARDED };

	if (policy) {
		level.level = policy->level;
		level.flags =
			(policy->network.all ? MOR_JAIL_NETWORK : 0u) |
			(policy->network.count ? MOR_JAIL_PLACES : 0u) | (policy->spawn ? MOR_JAIL_SPAWN : 0u) |
			(policy->pidns ? MOR_JAIL_PIDNS : 0u) | (policy->view ? MOR_JAIL_VIEW : 0u) |
			(policy->quiet_tmp ? MOR_JAIL_QUIET_TMP : 0u) |
			(runs_made(policy) ? MOR_JAIL_RUN_MADE : 0u) |
			(policy->on_denial == MOR_ON_DENIAL_DENY ? MOR_JAIL_DENY : 0u) |
			(policy->git ? MOR_JAIL_COMMITS : 0u) | (is_lenient(policy) ? MOR_JAIL_LENIENT : 0u) |
			(policy->learn ? MOR_JAIL_LEARN : 0u);
		level.landlock_abi_cap = policy->landlock_abi_cap;
		level.processes = limits->processes;
		level.threads = limits->threads;
		level.scratch_bytes = limits->scratch_bytes;
	}
	mor_plan_add(plan, MOR_OP_LEVEL, &level, sizeof(level));
}

static void add_limits(struct mor_buf *plan, const struct mor_limits *limits, bool confined)
{
	const struct {
		uint32_t resource;
		uint64_t value;
	} rows[] = {
		/* Not RLIMIT_AS: Node reserves much more address space than it uses. */
		{ RLIMIT_DATA, limits->memory_bytes },
		{ RLIMIT_FSIZE, limits->file_bytes },
		{ RLIMIT_CPU, limits->cpu_s },
		{ RLIMIT_NOFILE, limits->open_files },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].value)
			mor_plan_add_limit(plan, rows[i].resource, rows[i].value);
	}
	/* The kernel would write a core file outside every rule. With 0 it still starts the program that a core
	 * pattern may name, as root and with what the plugin had in memory; with 1 it does neither. */
	if (confined)
		mor_plan_add_limit(plan, RLIMIT_CORE, 1);
	if (limits->wall_ms)
		mor_plan_add(plan, MOR_OP_WALL, &limits->wall_ms, sizeof(limits->wall_ms));
}

/* Only for limits that somebody has set: the broker counts threads anyway, and a group costs 0.1 ms. */
static void add_groups(struct mor_buf *plan, const struct mor_policy *policy, const struct mor_limits *limits)
{
	unsigned wanted = mor_cgroup_wanted(policy);
	struct mor_cgroups groups;

	if (!wanted)
		return;
	mor_cgroup_find_own(&groups);
	for (size_t i = 0; i < groups.count; i++) {
		const struct mor_cgroup_place *place = &groups.places[i];
		unsigned here = wanted & place->controllers;
		struct mor_op_group group = { .version = place->version, .controllers = here };

		if (!here)
			continue;
		wanted &= ~here; /* both versions may count time: once is enough */
		if (here & MOR_CGROUP_MEMORY)
			group.memory = limits->memory_bytes;
		if (here & MOR_CGROUP_PIDS)
			group.threads = limits->threads;
		if (here & MOR_CGROUP_CPU)
			group.cpu_s = limits->cpu_s;
		group.processors = mor_processors();
		add_with_text(plan, MOR_OP_GROUP, &group, sizeof(group), place->path);
	}
}

static void add_paths(struct mor_buf *plan, const struct mor_policy *policy)
{
	if (policy->plugin_dir)
		mor_plan_add_path(plan, MOR_MAY_READ | (runs_others(policy) ? MOR_MAY_EXECUTE : 0u), 0,
				  policy->plugin_dir);
	if (policy->workspace)
		mor_plan_add_path(plan,
				  MOR_MAY_READ | (policy->workspace_write ? MOR_MAY_WRITE : 0u) |
					  (runs_made(policy) ? MOR_MAY_EXECUTE : 0u),
				  MOR_OP_PATH_WORKSPACE, policy->workspace);
	for (char **path = policy->read_paths; path && *path; path++)
		mor_plan_add_path(plan, MOR_MAY_READ | (runs_others(policy) ? MOR_MAY_EXECUTE : 0u), 0, *path);
	mor_plan_add_text(plan, MOR_OP_SCRATCH, policy->scratch ? policy->scratch : "");
	if (policy->undo)
		mor_plan_add_text(plan, MOR_OP_UNDO, policy->undo);
}

static void add_policy(struct mor_buf *plan, const struct mor_policy *policy)
{
	const struct mor_network *network = &policy->network;
	struct mor_limits limits = mor_policy_limits(policy);
	bool confined = mor_policy_confined(policy);

	add_level(plan, policy, &limits);
	add_limits(plan, &limits, confined);
	add_groups(plan, policy, &limits);
	if (policy->grace.term_ms || policy->grace.kill_ms)
		mor_plan_add(plan, MOR_OP_GRACE, &policy->grace, sizeof(policy->grace));
	if (!confined)
		return;
	add_paths(plan, policy);
	mor_protected_write(plan, policy);
	if (!network->count)
		return;
	mor_plan_add(plan, MOR_OP_NETWORK, network->places, network->count * sizeof(*network->places));
	mor_plan_add_text(plan, MOR_OP_HOSTS, network->hosts);
}

static void add_file(struct mor_buf *plan, const struct mor_plan_file *file)
{
	struct mor_op_file op = { .identity = file->identity,
				  .flags = (file->executable ? MOR_OP_FILE_EXECUTABLE : 0u) |
					   (file->target ? MOR_OP_FILE_LINK : 0u) };
	size_t from = open_op(plan, MOR_OP_FILE);

	mor_buf_append(plan, &op, sizeof(op));
	mor_buf_append(plan, file->path, strlen(file->path) + 1);
	if (file->target)
		mor_buf_append(plan, file->target, strlen(file->target) + 1);
	close_op(plan, from);
}

int mor_plan_make(struct mor_buf *plan, const struct mor_plan_command *command, const struct mor_policy *policy)
{
	int32_t host = command->host;

	mor_plan_begin(plan);
	if (policy)
		add_policy(plan, policy);
	else
		add_level(plan, NULL, NULL);
	mor_plan_add(plan, MOR_OP_HOST, &host, sizeof(host));
	mor_plan_add_list(plan, MOR_OP_ARGV, command->argv);
	mor_plan_add_list(plan, MOR_OP_ENV, command->env);
	if (command->cwd)
		mor_plan_add_text(plan, MOR_OP_CWD, command->cwd);
	if (command->checked)
		mor_plan_add_text(plan, MOR_OP_CHECKED, command->checked->directory);
	for (size_t i = 0; command->checked && i < command->checked->count; i++)
		add_file(plan, &command->checked->files[i]);
	if (command->listen && policy && mor_policy_confined(policy)) {
		mor_plan_add_path(plan, MOR_MAY_READ | MOR_MAY_WRITE, 0, command->listen);
		mor_plan_add_text(plan, MOR_OP_LISTEN, command->listen);
	}
	return plan->status;
}

/* ---- the memfd ---- */

static int new_memfd(void)
{
	int fd = memfd_create("mortise-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	/* This flag is unknown before Linux 6.3. Newer machines may require it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("mortise-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static int fill_file(int fd, const struct mor_buf *plan)
{
	int r = mor_fd_write_all(fd, plan->data, plan->len);

	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

int mor_plan_memfd(const struct mor_buf *plan)
{
	int fd = new_memfd(), r;

	if (fd < 0)
		return fd;
	if ((r = fill_file(fd, plan)) < 0) {
		mor_fd_close(&fd);
		return r;
	}
	return fd;
}
