/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: answers what the filter asks. It never lets the kernel go on with a call whose argument is a pointer (a
 * second thread could change what is behind it): it resolves the name itself, judges the handle that came out, acts on
 * that handle, and hands the result over. It has a thread of its own, which sleeps in the kernel's queue of questions and
 * nowhere else: to poll first would cost a tenth of every answer. Nothing it does blocks on the plugin.
 *
 * The one exception is execve, which nobody can do for another: the first is the launcher's own, later ones (spawn)
 * stand under the plugin's Landlock domain.
 */
#ifndef MOR_JAIL_BROKER_H
#define MOR_JAIL_BROKER_H

#include <linux/seccomp.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "jail/paths.h"
#include "policy/plan.h"
#include "undo/undo.h"

struct mor_broker {
	struct mor_paths *paths;
	struct mor_undo *undo; /* NULL: what is written is not to be undone                          */
	int listener;
	int proc;     /* O_PATH: the /proc in which we see the plugin's pids                         */
	int own_fds;  /* O_PATH: /proc/self/fd of ours, to open anew what a handle points to         */
	int root;     /* O_PATH: the plugin's root where it is not ours, else -1                     */
	int mem;      /* the plugin's memory, while there can be one only (no spawn); MOR_MEM_UNOPENED, -errno */
	int told;     /* eventfd: readable when the thread has ended, see mor_broker_end()           */
	pid_t self;   /* ours: what /proc/self must never mean                                       */
	pid_t main;   /* the plugin, as we see it; 0 before its execve                               */
	pid_t inside; /* the same, as it sees itself (another number in a PID namespace)             */
	bool apart;   /* the plugin has a tree and pids of its own: root is opened after its execve  */
	bool spawn;
	bool steady;  /* no view comes and goes: what a rule's directory is stays so                 */
	pid_t session;      /* everybody in it is in the jail, but for us ...                        */
	pid_t init;         /* ... and, if there is one, for the init                                */
	unsigned processes; /* with spawn: how many there may be                                     */
	unsigned budget;    /* so many may be started before we count again                          */
	bool locked;  /* we stand under L1, or open in the plugin's tree: to open first and judge then cannot reach outside */
	dev_t plain;  /* a device known to hold no /proc                                             */
	uint64_t asked, absent; /* statistics */
	pthread_t thread;
	bool running;
	pthread_mutex_t gate;        /* held by us until the first question may be judged; then while one is, unless steady */
	struct mor_record violation; /* violated: what ended the thread                              */
};

enum { MOR_MEM_UNOPENED = -5000 }; /* no -errno: what was tried in vain is not tried again */
/* clang-format off */
#define MOR_BROKER_INIT { \
	.listener = -1, .proc = -1, .own_fds = -1, .root = -1, .mem = MOR_MEM_UNOPENED, .told = -1 \
}
/* clang-format on */
/* paths must outlive the broker, which sees the plugin's session in the caller's if that leads one. 0 or -errno. */
int mor_broker_init(struct mor_broker *broker, struct mor_paths *paths, const struct mor_op_level *level);
/* Takes the listener, and makes the thread, which judges nothing before mor_broker_begin(). 0 or -errno. Whoever changes
 * paths after that must hold broker->gate. */
int mor_broker_adopt(struct mor_broker *broker, int listener);
void mor_broker_begin(struct mor_broker *broker);
/* broker->told is readable. 1: a violation, in *violation, and the question stays unanswered; 0: nobody is left to ask. */
int mor_broker_ended(struct mor_broker *broker, struct mor_record *violation);
/* Waits for the thread, which ends when the last one who could ask has; not for longer than a moment. false: it still runs. */
bool mor_broker_fini(struct mor_broker *broker);

/* ---- between the broker's files ---- */

/* What a handler returns besides a value >= 0 or a -errno: below every errno. */
enum mor_broker_result {
	MOR_BROKER_SENT = -5000, /* the caller has its answer, or is gone                         */
	MOR_BROKER_CONTINUE,     /* the kernel goes on with the call                              */
	MOR_BROKER_VIOLATION,    /* rule and about of the call say of what                        */
	MOR_BROKER_UNDECIDED,    /* of a short way only, never an answer: the long way must decide */
};
static inline bool mor_broker_decided(int result)
{
	return result <= MOR_BROKER_VIOLATION;
}

struct mor_syscall {
	struct mor_broker *broker;
	const struct seccomp_notif *asked;
	const char *name; /* of the system call           */
	pid_t tid, tgid;  /* the caller, as we see it      */
	pid_t own;        /* tgid as its own /proc has it  */
	bool doubtful;    /* a violation must be the caller's own: what we read may be a stranger's by now */
	const char *rule; /* MOR_BROKER_VIOLATION: why ...   */
	char about[PATH_MAX]; /* ... and on what              */
};

static inline uint64_t mor_syscall_arg(const struct mor_syscall *call, int n)
{
	return call->asked->data.args[n];
}
/* Whether the caller still waits: until then what was read from its memory may be a stranger's. */
bool mor_syscall_alive(const struct mor_syscall *call);
/* Copies out of the caller. 0, -EFAULT, or MOR_BROKER_VIOLATION when its memory is closed to us. */
int mor_syscall_read(struct mor_syscall *call, uint64_t address, void *to, size_t size);
/* A name: 0, -EFAULT, -ENAMETOOLONG, MOR_BROKER_VIOLATION. Enough where nothing is done but to open for reading. */
int mor_syscall_text(struct mor_syscall *call, uint64_t address, char text[PATH_MAX]);
/* The same, and it is surely the caller's: MOR_BROKER_SENT when it no longer waits. Before any deed. */
int mor_syscall_path(struct mor_syscall *call, uint64_t address, char text[PATH_MAX]);
int mor_syscall_violation(struct mor_syscall *call, const char *about, const char *rule);
/* PERFORM: 0. */
int mor_syscall_ruling(struct mor_syscall *call, const char *about, struct mor_ruling ruling);
/* Hands `fd` over as the result and closes ours. MOR_BROKER_SENT or -errno. */
int mor_syscall_inject(struct mor_syscall *call, int fd, bool cloexec);
/* /proc/TID/WHAT of the caller, O_PATH. */
int mor_syscall_proc(const struct mor_syscall *call, const char *what, int flags);
/* A number behind a key of the caller's status file ("\nTgid:", "\nUmask:"). false: it cannot be told. */
bool mor_syscall_status(const struct mor_syscall *call, const char *key, int base, long *ret);
/* The caller's umask becomes ours: it holds for what we make. */
void mor_syscall_borrow_umask(const struct mor_syscall *call);
/* The number that the caller has in its own PID namespace; key: "\nNSpid:" (its thread) or "\nNStgid:". */
pid_t mor_syscall_inner(const struct mor_syscall *call, const char *key);

struct mor_found {
	int fd;                /* the thing itself, O_PATH; -1: it is not there (or was not looked for) */
	int parent;            /* with MOR_FIND_PARENT: its directory, O_PATH                           */
	int own_fd;            /* reached through the caller's own descriptor of this number, else -1   */
	bool slash;            /* the name ended with one: a directory is meant                         */
	struct stat st;        /* of fd                                                                 */
	char name[NAME_MAX + 1];
	char where[PATH_MAX];  /* canonical                                                             */
};
enum mor_find_flags { MOR_FIND_NOFOLLOW = 1, MOR_FIND_PARENT = 2 };
/* dirfd as the caller gave it (AT_FDCWD too); resolve: of openat2, else 0. 0, -errno, MOR_BROKER_VIOLATION. */
int mor_find(struct mor_syscall *call, int dirfd, const char *path, unsigned flags, uint64_t resolve,
	     struct mor_found *found);
/* The same below a handle of ours. */
int mor_find_at(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		struct mor_found *found);
/* The same without regard to a tree of the plugin's own; the name and the handle are of one tree. */
int mor_find_from(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		  struct mor_found *found);
/* broker_view.c: takes hold of the plugin's own tree, at the first question after its execve. 0 or decided. */
int mor_syscall_enter_view(struct mor_syscall *call);
/* In the plugin's own tree; what is only in ours comes back to be judged. */
int mor_find_in_view(struct mor_syscall *call, int base, const char *path, unsigned flags, struct mor_found *found);
/* Opens in one go what is plainly there, for reading; resolve: of openat2. The descriptor; -ENOENT: it is not there;
 * MOR_BROKER_UNDECIDED: find it the long way. */
int mor_find_open(struct mor_syscall *call, int dirfd, const char *path, uint64_t flags, uint64_t resolve);
/* The same for a clean name that a rule allows to read (NULL: whichever), without following links: only its part below the
 * rule's directory is looked up. */
int mor_find_open_under(struct mor_syscall *call, struct mor_path_rule *rule, const char *path, uint64_t flags);
/* Whether a whole name, if no link is met on the way, is canonical as it stands. */
bool mor_name_is_clean(const char *path);
/* Whether a handle of that name is of a file or directory that is still there, and not of /proc. */
bool mor_handle_is_plain(struct mor_syscall *call, int fd, const char *where);
/* Part by part, from a handle of ours (or the root): links in /proc mean what they mean to the caller. As mor_find(). */
int mor_walk(struct mor_syscall *call, int base, const char *path, unsigned flags, struct mor_found *found);
/* What the caller's descriptor is. */
int mor_find_fd(struct mor_syscall *call, int fd, struct mor_found *found);
void mor_found_fini(struct mor_found *found);
/* Fills what follows from the handle: where and st. A removed file keeps its old name, without the kernel's remark. */
int mor_found_describe(const struct mor_syscall *call, struct mor_found *found);
bool mor_handle_in_proc(int fd);
/* By which number the /proc that we look into knows the caller. */
pid_t mor_syscall_number(const struct mor_syscall *call);
/* /proc/NUMBER/rest of the caller -> /proc/self/rest */
void mor_name_own(const struct mor_syscall *call, char where[PATH_MAX]);
/* The name of one of our handles, as the kernel tells it. 0 or -errno. */
int mor_handle_raw(const struct mor_syscall *call, int fd, char where[PATH_MAX]);
/* The canonical name of one of our handles; what is the caller's own becomes /proc/self. 0 or -errno. */
int mor_handle_name(const struct mor_syscall *call, int fd, char where[PATH_MAX]);
/* After a look-up that failed: absent is absent, but a closed door in front of something outside is a violation. */
int mor_find_failed(struct mor_syscall *call, int dirfd, const char *path, bool write, int error);
/* "/proc/self/fd/"-style name below own_fds. */
const char *mor_handle_number(int fd, char text[16]);

typedef int mor_on_syscall_fn(struct mor_syscall *call);
mor_on_syscall_fn mor_on_open, mor_on_openat, mor_on_openat2, mor_on_creat, mor_on_truncate;
mor_on_syscall_fn mor_on_mkdir, mor_on_mkdirat, mor_on_mknod, mor_on_mknodat, mor_on_rmdir, mor_on_unlink,
	mor_on_unlinkat, mor_on_rename, mor_on_renameat, mor_on_renameat2, mor_on_link, mor_on_linkat,
	mor_on_symlink, mor_on_symlinkat;
mor_on_syscall_fn mor_on_chmod, mor_on_fchmod, mor_on_fchmodat, mor_on_fchmodat2, mor_on_utime,
	mor_on_utimes, mor_on_futimesat, mor_on_utimensat;
mor_on_syscall_fn mor_on_fork, mor_on_execve, mor_on_signal, mor_on_limits, mor_on_connect;

#endif
