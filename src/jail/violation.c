/* A violation in words: what it tried, on what, and which permission would have been needed. */
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "jail/plan.h"
#include "jail/policy.h"

/* Permissions are called by the name that whoever gave them knows. */
static const struct {
	const char *rule, *words[MOR_POLICY_SOURCES];
} named[] = {
	{ MOR_RULE_READ,
	  { [MOR_FROM_SETTINGS] = "not in sandbox.read", [MOR_FROM_PLUGIN_TOML] = "not in declared_paths",
	    [MOR_FROM_SUNSCREEN_JSON] = "not allowed by capabilities.filesystem",
	    [MOR_FROM_COMMAND] = "not allowed by --read" } },
	{ MOR_RULE_WORKSPACE_WRITE,
	  { [MOR_FROM_SETTINGS] = "sandbox.workspace_write is not granted",
	    [MOR_FROM_PLUGIN_TOML] = "workspace_write is not granted",
	    [MOR_FROM_SUNSCREEN_JSON] = "not allowed by capabilities.filesystem",
	    [MOR_FROM_COMMAND] = "not allowed without --write" } },
	{ MOR_RULE_NETWORK,
	  { [MOR_FROM_SETTINGS] = "sandbox.network is not granted", [MOR_FROM_PLUGIN_TOML] = "network is not granted",
	    [MOR_FROM_SUNSCREEN_JSON] = "capabilities.network is not granted",
	    [MOR_FROM_COMMAND] = "not allowed without --network" } },
	{ MOR_RULE_SPAWN,
	  { [MOR_FROM_SETTINGS] = "sandbox.spawn is not granted",
	    [MOR_FROM_PLUGIN_TOML] = "plugins with a plugin.toml may not start programs",
	    [MOR_FROM_SUNSCREEN_JSON] = "it may not start this one", [MOR_FROM_COMMAND] = "not allowed without --spawn" } },
};

const char *mor_violation_rule(enum mor_policy_source source, const char *rule)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (strcmp(rule, named[i].rule) == 0)
			return named[i].words[source];
	return rule;
}

static const struct {
	const char *syscalls, *did;
} deeds[] = {
	{ "creat|truncate|mkdir|mkdirat|mknod|mknodat|symlink|symlinkat|link|linkat", "write" },
	{ "chmod|fchmod|fchmodat|fchmodat2", "change the mode of" },
	{ "utime|utimes|futimesat|utimensat", "change the times of" },
	{ "unlink|unlinkat|rmdir", "remove" },
	{ "rename|renameat|renameat2", "rename" },
	{ "execve|execveat", "run" },
	{ "fork|vfork|clone|clone3", "start a process" },
	{ "socket|socketpair|bind|listen|sendto|sendmsg", "use the network" },
	{ "kill|tgkill|tkill|rt_sigqueueinfo|rt_tgsigqueueinfo", "signal" },
	{ "prlimit64", "change the limits of" },
	{ "ptrace|process_vm_readv|process_vm_writev|pidfd_open|pidfd_getfd|pidfd_send_signal|kcmp", "look into another process" },
	{ "mount|umount2|pivot_root|chroot|unshare|setns|open_tree|open_tree_attr|move_mount|fsopen|fsconfig|fsmount|fspick|"
	  "mount_setattr",
	  "change mounts or namespaces" },
	{ "name_to_handle_at|open_by_handle_at", "open a file by its number" },
	{ "setuid|setgid|setreuid|setregid|setresuid|setresgid|setfsuid|setfsgid|setgroups", "change its user or group" },
	{ "capset", "change its privileges" },
	{ "shmget|shmat|shmdt|shmctl|msgget|msgsnd|msgrcv|msgctl|semget|semop|semtimedop|semctl|mq_open|mq_unlink",
	  "share memory or messages with other processes" },
	{ "add_key|request_key|keyctl", "use the kernel's keyring" },
	{ "ioctl", "type into a terminal" },
	{ MOR_SYSCALL_FOREIGN, "make a system call of another machine's kind" },
};

/* openat serves reading and writing: the rule says which. A socket has a name only where it is another program's. */
static const char *deed(const struct mor_violation *v)
{
	if (mor_text_in(mor_slice_of(v->syscall), "open|openat|openat2"))
		return strstr(v->rule, "write") ? "write" : "read";
	if (strcmp(v->syscall, "connect") == 0)
		return *v->path ? "connect to" : "use the network";
	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++)
		if (mor_text_in(mor_slice_of(v->syscall), deeds[i].syscalls))
			return deeds[i].did;
	return NULL;
}

int mor_violation_text(const struct mor_violation *v, struct mor_buf *out)
{
	const char *did = deed(v), *rule = mor_violation_rule(v->source, v->rule);
	char shown[600];

	mor_buf_printf(out, "%s tried to ", v->plugin);
	if (did)
		mor_buf_text(out, did);
	else
		mor_buf_printf(out, "call %s()", v->syscall);
	/* A plugin chooses this name: it must not steer a terminal. */
	if (*v->path)
		mor_buf_printf(out, " %s", mor_printable(mor_slice_of(v->path), shown, sizeof(shown)));
	if (*rule)
		mor_buf_printf(out, ": %s", rule);
	return out->status;
}

int mor_violation_json(const struct mor_violation *v, struct mor_buf *out)
{
	const struct {
		const char *name, *text;
	} members[] = { { "plugin", v->plugin }, { "syscall", v->syscall }, { "path", v->path },
			{ "rule", mor_violation_rule(v->source, v->rule) } };

	mor_buf_text(out, "{\"event\":\"sandbox_violation\"");
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		mor_buf_printf(out, ",\"%s\":", members[i].name);
		if (*members[i].text)
			mor_buf_json_string(out, mor_slice_of(members[i].text));
		else
			mor_buf_text(out, "null");
	}
	mor_buf_text(out, "}");
	return out->status;
}
