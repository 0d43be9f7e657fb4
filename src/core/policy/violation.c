/* SPDX-License-Identifier: Apache-2.0 */
/* A violation in words: what the plugin tried, on which object, and which permission is missing. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "policy/policy.h"

#define LONG_PATH 150
#define OUTSIDE   "outside what it may write"
#define GITS_OWN  "no write to a protected path: it is git's own"
#define ITS_FILE  "[sandbox] in its mortise.toml"
/* What those permissions may not be written in beside a manifest: see check_source() in
 * src/lib/guard/sandbox.c. */
#define YOUR_LIST "that list: a setting, or mortise/plugins/NAME.toml in your own configuration"
#define TOOLS_RUN "no write to a protected path: tools run it by themselves"

/* A permission under the name that the user knows: why it is missing, and what to type to allow it. In cure,
 * %s is the path; NULL: nothing allows it. */
struct words {
	const char *why, *cure;
};
#define OF(source) (1u << MOR_POLICY_OF_##source)
static const struct {
	const char *rule;
	unsigned sources; /* OF(), of those that say the same */
	const char *why, *cure;
} named[] = {
	{ MOR_RULE_READ, OF(SETTINGS), "not in sandbox.read", "add \"%s\" to read under " ITS_FILE },
	{ MOR_RULE_READ, OF(LINE), "not in sandbox.read", "add \"%s\" to --set sandbox.read" },
	{ MOR_RULE_READ, OF(OPTIONS), "not in sandbox.read", "add \"%s\" to the setting sandbox.read" },
	{ MOR_RULE_READ, OF(PLUGIN_TOML), "not in declared_paths",
	  "add \"%s\" to declared_paths in its plugin.toml" },
	{ MOR_RULE_READ, OF(SUNSCREEN_JSON), "not granted by capabilities.filesystem",
	  "run it with the setting sandbox.read=%s" },
	{ MOR_RULE_READ, OF(COMMAND), "no --read names it", "add --read %s" },
	{ MOR_RULE_READ, OF(PAIRS), "not in read", "add read=%s to its policy" },
	{ MOR_RULE_WORKSPACE_WRITE, OF(SETTINGS), "sandbox.workspace_write is not granted",
	  "set workspace_write = true under " ITS_FILE },
	{ MOR_RULE_WORKSPACE_WRITE, OF(LINE), "sandbox.workspace_write is not granted",
	  "add --set sandbox.workspace_write=true" },
	{ MOR_RULE_WORKSPACE_WRITE, OF(OPTIONS), "sandbox.workspace_write is not granted",
	  "add the setting sandbox.workspace_write=true" },
	{ MOR_RULE_WORKSPACE_WRITE, OF(PLUGIN_TOML), "workspace_write is not granted",
	  "set workspace_write = true under [permissions] in its plugin.toml" },
	{ MOR_RULE_WORKSPACE_WRITE, OF(SUNSCREEN_JSON), "not granted by capabilities.filesystem",
	  "add \"workspace\" to capabilities.filesystem in its sunscreen-plugin.json" },
	{ MOR_RULE_WORKSPACE_WRITE, OF(COMMAND), "the workspace may only be read", "add --write" },
	{ MOR_RULE_WORKSPACE_WRITE, OF(PAIRS), "the workspace may only be read",
	  "add workspace_write=true to its policy" },
	{ MOR_RULE_WRITE, OF(SETTINGS) | OF(LINE) | OF(OPTIONS) | OF(PLUGIN_TOML) | OF(SUNSCREEN_JSON), OUTSIDE,
	  NULL },
	{ MOR_RULE_WRITE, OF(COMMAND), OUTSIDE, "name the directory with --workspace and add --write" },
	{ MOR_RULE_WRITE, OF(PAIRS), OUTSIDE,
	  "name the directory as workspace in its policy, with workspace_write=true" },
	{ MOR_RULE_NETWORK, OF(SETTINGS), "sandbox.network is not granted",
	  "set network = true under " ITS_FILE },
	{ MOR_RULE_NETWORK, OF(LINE), "sandbox.network is not granted", "add --set sandbox.network=true" },
	{ MOR_RULE_NETWORK, OF(OPTIONS), "sandbox.network is not granted",
	  "add the setting sandbox.network=true" },
	{ MOR_RULE_NETWORK, OF(PLUGIN_TOML), "network is not granted",
	  "set network = true under [permissions] in its plugin.toml, and agree when mortise run asks" },
	{ MOR_RULE_NETWORK, OF(SUNSCREEN_JSON), "capabilities.network is not granted",
	  "set it to true in its sunscreen-plugin.json, and agree when mortise run asks" },
	{ MOR_RULE_NETWORK, OF(COMMAND), "it has no network", "add --network" },
	{ MOR_RULE_NETWORK, OF(PAIRS), "it has no network", "add network=true to its policy" },
	{ MOR_RULE_PLACE, OF(SETTINGS), "not in sandbox.network", "add \"%s\" to network under " ITS_FILE },
	{ MOR_RULE_PLACE, OF(LINE), "not in sandbox.network", "add --network=%s" },
	{ MOR_RULE_PLACE, OF(OPTIONS), "not in sandbox.network", "add \"%s\" to the setting sandbox.network" },
	{ MOR_RULE_PLACE, OF(PLUGIN_TOML) | OF(SUNSCREEN_JSON), "not in sandbox.network",
	  "add it to " YOUR_LIST },
	{ MOR_RULE_PLACE, OF(COMMAND), "not in the list of --network", "add --network=%s" },
	{ MOR_RULE_PLACE, OF(PAIRS), "not in network", "add network=%s to its policy" },
	{ MOR_RULE_GIT, OF(SETTINGS), GITS_OWN,
	  "set git = true under " ITS_FILE ", which is enough for commits" },
	{ MOR_RULE_GIT, OF(LINE), GITS_OWN, "add --set sandbox.git=true, which is enough for commits" },
	{ MOR_RULE_GIT, OF(OPTIONS), GITS_OWN,
	  "add the setting sandbox.git=true, which is enough for commits" },
	{ MOR_RULE_GIT, OF(PLUGIN_TOML) | OF(SUNSCREEN_JSON), GITS_OWN, NULL },
	{ MOR_RULE_GIT, OF(COMMAND), GITS_OWN, "add --git, which is enough for commits" },
	{ MOR_RULE_GIT, OF(PAIRS), GITS_OWN, "add git=true to its policy, which is enough for commits" },
	{ MOR_RULE_TOOL, OF(SETTINGS), TOOLS_RUN, "add its name to unprotect under " ITS_FILE },
	{ MOR_RULE_TOOL, OF(LINE), TOOLS_RUN, "name it with --set sandbox.unprotect=NAME" },
	{ MOR_RULE_TOOL, OF(OPTIONS), TOOLS_RUN, "name it with the setting sandbox.unprotect=NAME" },
	{ MOR_RULE_TOOL, OF(PLUGIN_TOML) | OF(SUNSCREEN_JSON), TOOLS_RUN, NULL },
	{ MOR_RULE_TOOL, OF(COMMAND), TOOLS_RUN, "name it with --unprotect" },
	{ MOR_RULE_TOOL, OF(PAIRS), TOOLS_RUN, "add unprotect=NAME to its policy" },
	{ MOR_RULE_SPAWN, OF(SETTINGS), "sandbox.spawn is not granted", "set spawn = true under " ITS_FILE },
	{ MOR_RULE_SPAWN, OF(LINE), "sandbox.spawn is not granted", "add --set sandbox.spawn=true" },
	{ MOR_RULE_SPAWN, OF(OPTIONS), "sandbox.spawn is not granted", "add the setting sandbox.spawn=true" },
	{ MOR_RULE_SPAWN, OF(PLUGIN_TOML), "plugins with a plugin.toml may not start programs", NULL },
	{ MOR_RULE_SPAWN, OF(SUNSCREEN_JSON), "it may not start this one", NULL },
	{ MOR_RULE_SPAWN, OF(COMMAND), "it may not start programs", "add --spawn" },
	{ MOR_RULE_SPAWN, OF(PAIRS), "it may not start programs", "add spawn=true to its policy" },
};

static struct words find_words(enum mor_policy_source source, const char *rule)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (named[i].sources & 1u << source && strcmp(rule, named[i].rule) == 0)
			return (struct words){ named[i].why, named[i].cure };
	return (struct words){ rule, NULL };
}

const char *mor_violation_rule(enum mor_policy_source source, const char *rule)
{
	return find_words(source, rule).why;
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
	{ "ptrace|process_vm_readv|process_vm_writev|pidfd_open|pidfd_getfd|pidfd_send_signal|kcmp",
	  "look into another process" },
	{ "mount|umount2|pivot_root|chroot|unshare|setns|open_tree|open_tree_attr|move_mount|fsopen|fsconfig|fsmount|fspick|mount_setattr",
	  "change mounts or namespaces" },
	{ "name_to_handle_at|open_by_handle_at", "open a file by its handle" },
	{ "setuid|setgid|setreuid|setregid|setresuid|setresgid|setfsuid|setfsgid|setgroups",
	  "change its user or group" },
	{ "capset", "change its privileges" },
	{ "shmget|shmat|shmdt|shmctl|msgget|msgsnd|msgrcv|msgctl|semget|semop|semtimedop|semctl|mq_open|mq_unlink",
	  "share memory or messages with other processes" },
	{ "add_key|request_key|keyctl", "use the kernel's keyring" },
	{ "ioctl", "type into a terminal" },
	{ MOR_SYSCALL_FOREIGN, "make a system call of another architecture" },
};

/* openat is used for reading and writing: the rule says which. A socket has a name only if it belongs to
 * another program. */
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

/* A program chooses its paths: they must not contain control sequences for a terminal, look like words of ours
 * ("x; to allow it, add --network"), or be more than a word for the shell that the advice is typed into. */
static void add_path(struct mor_buf *out, const char *path, bool quoted)
{
	char shown[600];

	if (quoted)
		mor_buf_text(out, mor_excerpt(mor_slice_of(path), shown, sizeof(shown)));
	else
		mor_buf_shell_word(out, mor_printable(mor_slice_of(path), shown, sizeof(shown)));
}

/* A path that only a look-up of names uses is not what the plugin really wanted. */
void mor_violation_deed(const struct mor_violation *v, struct mor_buf *out)
{
	const char *did = deed(v);
	bool look_up = *v->path && strcmp(v->rule, MOR_RULE_NETWORK) == 0;

	if (look_up)
		mor_buf_text(out, "look up a name on the network (by");
	else if (did)
		mor_buf_text(out, did);
	else
		mor_buf_printf(out, "call %s()", v->syscall);
	if (!*v->path)
		return;
	mor_buf_byte(out, ' ');
	if (*v->path == '/')
		add_path(out, v->path, false);
	else /* not a file: "process 7", an address */
		mor_buf_text(out, v->path);
	if (look_up)
		mor_buf_byte(out, ')');
}

/* The sentence goes into a mortise_error, so a long path is in it only once. */
void mor_violation_cure(const struct mor_violation *v, struct mor_buf *out)
{
	const char *cure = find_words(v->source, v->rule).cure, *place = cure ? strstr(cure, "%s") : NULL;
	char shown[600];
	bool is_long;

	if (!place) {
		mor_buf_text(out, cure ? cure : "");
		return;
	}
	is_long = strlen(mor_printable(mor_slice_of(v->path), shown, sizeof(shown))) > LONG_PATH;
	mor_buf_append(out, cure, (size_t)(place - cure));
	add_path(out, is_long ? "PATH" : v->path, place[2] == '"');
	mor_buf_text(out, place + 2);
}

int mor_violation_text(const struct mor_violation *v, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf cure = MOR_BUF_INIT;
	struct words words = find_words(v->source, v->rule);

	mor_buf_printf(out, "%s tried to ", v->plugin);
	mor_violation_deed(v, out);
	if (*words.why)
		mor_buf_printf(out, ": %s", words.why);
	mor_violation_cure(v, &cure);
	if (cure.len)
		mor_buf_printf(out, "; to allow it, %.*s", (int)cure.len, cure.data);
	return cure.status ? cure.status : out->status;
}

static struct mor_buf *comma(struct mor_buf *out)
{
	mor_buf_byte(out, ',');
	return out;
}

static void json_member(struct mor_buf *out, const char *name, const char *text)
{
	mor_buf_printf(out, "\"%s\":", name);
	if (text && *text)
		mor_buf_json_string(out, mor_slice_of(text));
	else
		mor_buf_text(out, "null");
}

void mor_violation_members(const struct mor_violation *v, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf cure = MOR_BUF_INIT;

	mor_violation_cure(v, &cure);
	mor_buf_byte(&cure, '\0');
	json_member(out, "syscall", v->syscall);
	json_member(comma(out), "path", v->path);
	json_member(comma(out), "rule", mor_violation_rule(v->source, v->rule));
	json_member(comma(out), "kind", v->row ? v->row->name : NULL);
	json_member(comma(out), "allow", cure.data);
}

int mor_violation_json(const struct mor_violation *v, struct mor_buf *out)
{
	mor_buf_text(out, "{\"event\":\"sandbox_violation\"");
	json_member(comma(out), "plugin", v->plugin);
	comma(out);
	mor_violation_members(v, out);
	json_member(comma(out), "action", v->denied ? "denied" : "killed");
	mor_buf_byte(out, '}');
	return out->status;
}
