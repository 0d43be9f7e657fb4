/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table. Denied is what an honest program may try and can do without; the errno is the one that such
 * programs expect of this call. What no honest program tries kills in both modes. Two rows kill in neither:
 * sanitizers and debuggers trace, and ping opens a raw socket, and each has another way if that fails.
 */
#include "policy/forbidden.h"

#include <errno.h>

#define ALWAYS 0, 0 /* killed in both modes */

/* clang-format off */
const struct mor_forbidden_row mor_forbidden_rows[MOR_FORBIDDEN_COUNT] = {
	[MOR_FORBID_READ] = { "read", MOR_RULE_READ,
		"open or list a file or directory outside what it may read", EACCES, 0 },
	[MOR_FORBID_WORKSPACE_WRITE] = { "workspace_write", MOR_RULE_WORKSPACE_WRITE,
		"change something in a workspace that it may only read", EACCES, 0 },
	[MOR_FORBID_WRITE] = { "write", MOR_RULE_WRITE,
		"make, change, move or remove something outside what it may write", EACCES, 0 },
	[MOR_FORBID_RULE_ROOT] = { "rule_root", "no write to the root of a rule",
		"move or remove the directory that it may write", EACCES, 0 },
	[MOR_FORBID_PROTECTED] = { "protected", "no write to a protected path",
		"write a protected path of the workspace", EACCES, 0 },
	[MOR_FORBID_POLICY] = { "own_policy", "no write to a protected path: its permissions come from it",
		"write a file that its permissions come from", EACCES, 0 },
	[MOR_FORBID_CODE] = { "own_code", "no write to a protected path: it is its own code",
		"write a file that its command names", EACCES, 0 },
	[MOR_FORBID_GIT] = { "git", MOR_RULE_GIT, "write what a commit writes, without `git`", EACCES, 0 },
	[MOR_FORBID_GIT_RUNS] = { "git_runs", "no write to a protected path: git runs or obeys it",
		"write what git runs or obeys", EACCES, 0 },
	[MOR_FORBID_TOOL] = { "tool_file", MOR_RULE_TOOL,
		"write what tools run or obey by themselves", EACCES, 0 },
	[MOR_FORBID_BELOW] = { "protected_below", "no write to a protected path: it lies below",
		"move or replace a directory that something protected lies in", EACCES, 0 },
	[MOR_FORBID_DEVICE] = { "device", "no device may be made", "`mknod` of a device", EPERM, 0 },
	[MOR_FORBID_SPAWN] = { "spawn", MOR_RULE_SPAWN,
		"`fork`, `vfork`, `clone`, `execve` without `spawn`; `execveat`", EACCES, 0 },
	[MOR_FORBID_PROGRAM] = { "program", "not among the programs it may run",
		"`execve` of a program that `spawn` does not cover", EACCES, 0 },
	[MOR_FORBID_NETWORK] = { "network", MOR_RULE_NETWORK,
		"without `network`: sockets of the internet families, `connect`, `bind`, `listen`, `sendto`; "
		"a look-up of a name", EACCES, 0 },
	[MOR_FORBID_PLACE] = { "place", MOR_RULE_PLACE,
		"`connect` to a place that is not in the list of `network`", EACCES, 0 },
	[MOR_FORBID_FAMILY] = { "family", "no sockets of this family",
		"`socket` of another family (packet, vsock, netlink, alg and so on)", EAFNOSUPPORT, 0 },
	[MOR_FORBID_UNIX] = { "unix_socket", "no sockets of other programs",
		"`connect` to a unix socket", EACCES, 0 },
	[MOR_FORBID_NAME] = { "unix_name", "no names for other programs to find",
		"`bind` of a unix socket, with `network`, or of another than the one to listen on", EACCES, 0 },
	[MOR_FORBID_IPC] = { "ipc", "shared memory and queues are out of bounds",
		"System V shared memory, semaphores and queues; POSIX queues", EACCES, 0 },
	[MOR_FORBID_IDENTITY] = { "identity", "it stays who it is",
		"`setuid`, `setgid`, `setgroups`, `capset` and their like", EPERM, 0 },
	[MOR_FORBID_LIMITS] = { "limits", "limits of other processes are out of bounds",
		"`prlimit` of another process", EPERM, 0 },
	[MOR_FORBID_PROBE] = { "probe", "signals only to itself",
		"`kill` with signal 0, to see whether a process outside exists", ESRCH, 0 },
	[MOR_FORBID_TERMINAL] = { "terminal", "it may not type into a terminal",
		"`ioctl` TIOCSTI, TIOCLINUX", EPERM, 0 },
	[MOR_FORBID_NAMESPACE] = { "namespace", "mounts and namespaces are out of bounds",
		"`unshare`, `chroot`, `clone` with a new namespace", EPERM, 0 },
	[MOR_FORBID_HANDLE] = { "handle", "files have names here, no numbers",
		"`name_to_handle_at`", EOPNOTSUPP, 0 },
	[MOR_FORBID_SYSTEM] = { "system", "the machine's settings are out of bounds",
		"`syslog`, `sethostname`, setting the clock, `perf_event_open`, `userfaultfd`, "
		"`fanotify_init`, `modify_ldt`, `vhangup`", EPERM, 0 },
	[MOR_FORBID_TRACE] = { "trace", "no process of the jail is traced",
		"`ptrace`, `process_vm_readv`, `kcmp`, `pidfd_open` and their like on a process of the jail",
		EPERM, EPERM },
	[MOR_FORBID_RAW] = { "raw_socket", "no raw sockets",
		"`socket` with SOCK_RAW of the internet families", EPERM, EPERM },
	[MOR_FORBID_SIGNAL] = { "signal", "signals only to itself",
		"a signal to a process outside the jail", ALWAYS },
	[MOR_FORBID_INSPECT] = { "inspect", "other processes are out of bounds",
		"`ptrace`, `process_vm_readv`, `kcmp`, `pidfd_open` and their like on a process outside the "
		"jail", ALWAYS },
	[MOR_FORBID_MOUNT] = { "mount", "mounts and namespaces are out of bounds",
		"`mount`, `umount2`, `pivot_root`, `fsopen`, `open_tree` and their like; `setns`; "
		"`open_by_handle_at`", ALWAYS },
	[MOR_FORBID_KERNEL] = { "kernel", "the kernel's own affairs are out of bounds",
		"`bpf`, kernel modules, `kexec_load`, `reboot`, `swapon`, `acct`, `quotactl`, `iopl`, `ioperm`",
		ALWAYS },
	[MOR_FORBID_KEYS] = { "keys", "the keyring is out of bounds",
		"`add_key`, `request_key`, `keyctl`", ALWAYS },
	[MOR_FORBID_HIDING] = { "hiding", "its memory is closed to the guardian",
		"to hide memory or file tree from the guardian", ALWAYS },
	[MOR_FORBID_FOREIGN] = { "foreign", "only the machine's own system calls",
		"system calls of another architecture (`int 0x80`, x32)", ALWAYS },
};
/* clang-format on */
