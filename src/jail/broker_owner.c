/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of files and of the process itself. Nobody changes them here; but a call that would leave everything
 * as it is succeeds, as it would outside: tar, cp -a and programs that drop privileges make such calls. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "jail/broker.h"

#define KEEP ((uint32_t)-1)

/* ---- files ---- */

/* The kernel would need no right for it, nor change anything. Elsewhere it fails as it always did. */
static bool changes_nothing(struct mor_syscall *call, const struct mor_found *found, uint32_t uid, uint32_t gid)
{
	enum mor_write_kind kind = S_ISDIR(found->st.st_mode) ? MOR_WRITE_INSIDE : MOR_WRITE_CONTENT;

	return (uid == KEEP || uid == found->st.st_uid) && (gid == KEEP || gid == found->st.st_gid) &&
	       mor_paths_write(call->broker->paths, found->where, kind).kind == MOR_RULING_PERFORM;
}

/* address 0: the descriptor itself. */
static int change_owner(struct mor_syscall *call, int dirfd, uint64_t address, int first_id, int flags)
{
	uint32_t uid = (uint32_t)mor_syscall_arg(call, first_id),
		 gid = (uint32_t)mor_syscall_arg(call, first_id + 1);
	char path[PATH_MAX] = "";
	struct mor_found found;
	int status = address ? mor_syscall_text(call, address, path) : 0;

	if (status < 0)
		return status;
	status = !address || (!*path && flags & AT_EMPTY_PATH) ?
			 mor_find_fd(call, dirfd, &found) :
			 mor_find(call, dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? MOR_FIND_NOFOLLOW : 0, 0,
				  &found);
	if (status < 0)
		return mor_broker_decided(status) && status != MOR_BROKER_SENT ? -EPERM : status;
	status = changes_nothing(call, &found, uid, gid) ? 0 : -EPERM;
	mor_found_fini(&found);
	return status;
}

int mor_on_chown(struct mor_syscall *call)
{
	bool link = strcmp(call->name, "lchown") == 0;

	return !mor_syscall_arg(call, 0) ? -EFAULT :
					   change_owner(call, AT_FDCWD, mor_syscall_arg(call, 0), 1,
							link ? AT_SYMLINK_NOFOLLOW : 0);
}

int mor_on_fchown(struct mor_syscall *call)
{
	return change_owner(call, (int)mor_syscall_arg(call, 0), 0, 1, 0);
}

int mor_on_fchownat(struct mor_syscall *call)
{
	int flags = (int)mor_syscall_arg(call, 4);

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	return !mor_syscall_arg(call, 1) ?
		       -EFAULT :
		       change_owner(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1), 2, flags);
}

/* ---- the process ---- */

static const struct {
	const char *name;
	int ids;
	bool group, returns_id;
} setters[] = {
	{ "setuid", 1, false, false },  { "setgid", 1, true, false },     { "setreuid", 2, false, false },
	{ "setregid", 2, true, false }, { "setresuid", 3, false, false }, { "setresgid", 3, true, false },
	{ "setfsuid", 1, false, true }, { "setfsgid", 1, true, true },
};

/* Real, effective and saved id are one from the start, and nobody can change them since. */
static bool is_own(bool group, uint32_t id)
{
	uid_t uid[3];
	gid_t gid[3];

	if (group)
		return getresgid(&gid[0], &gid[1], &gid[2]) == 0 && gid[0] == gid[1] && gid[1] == gid[2] &&
		       id == gid[1];
	return getresuid(&uid[0], &uid[1], &uid[2]) == 0 && uid[0] == uid[1] && uid[1] == uid[2] &&
	       id == uid[1];
}

/* The plugin has no capabilities, and asks for none. */
static bool keeps_capabilities(struct mor_syscall *call)
{
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[2], none[2] = { { 0 } };

	return mor_syscall_read(call, mor_syscall_arg(call, 0), &head, sizeof(head)) == 0 &&
	       head.version == _LINUX_CAPABILITY_VERSION_3 && mor_syscall_arg(call, 1) &&
	       mor_syscall_read(call, mor_syscall_arg(call, 1), data, sizeof(data)) == 0 &&
	       memcmp(data, none, sizeof(data)) == 0;
}

int mor_on_identity(struct mor_syscall *call)
{
	if (strcmp(call->name, "capset") == 0)
		return keeps_capabilities(call) ? 0 : mor_syscall_refuse(call, MOR_N_IDENTITY);
	for (size_t i = 0; i < sizeof(setters) / sizeof(*setters); i++) {
		if (strcmp(call->name, setters[i].name) != 0)
			continue;
		for (int n = 0; n < setters[i].ids; n++) {
			uint32_t id = (uint32_t)mor_syscall_arg(call, n);

			if (!is_own(setters[i].group, id) && (id != KEEP || setters[i].ids == 1))
				return mor_syscall_refuse(call, MOR_N_IDENTITY);
		}
		return setters[i].returns_id ? (int)(setters[i].group ? getegid() : geteuid()) : 0;
	}
	return mor_syscall_refuse(call, MOR_N_IDENTITY);
}
