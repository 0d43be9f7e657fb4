/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: answers the questions of the filter. It never lets the kernel continue a call with a pointer
 * argument, because a second thread could change the memory behind it. It resolves the name itself, checks
 * the resulting handle, acts on that handle, and hands over the result. It has its own thread, which sleeps
 * only in the kernel's queue of questions: polling first would cost a tenth of every answer. Nothing it does
 * waits for the plugin.
 *
 * The one exception is execve, which a process can only do itself. The first is the launcher's own. Later
 * ones (spawn) are under the plugin's Landlock domain.
 */
#ifndef MOR_JAIL_BROKER_H
#define MOR_JAIL_BROKER_H

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/stat.h>

#include "jail/denied.h"
#include "jail/dial.h"
#include "jail/filter/syscalls.h"
#include "jail/paths.h"
#include "policy/network.h"
#include "undo/undo.h"

/* broker_net.c: where it may connect to, and listen. */
struct mor_broker_net {
	const struct mor_net_place *places; /* it may connect to these; NULL: the filter decides */
	size_t count;
	struct mor_dial *dial; /* with places */
	const char *listen;    /* in this directory it may listen on one unix socket; NULL: on none */
	ino_t bound;           /* that socket; 0: none yet */
	bool listening;        /* it listens, so its library is up */
};

/* broker_proc.c: whose process is whose. */
struct mor_broker_who {
	pid_t self;    /* our pid: /proc/self must never mean this one */
	pid_t main;    /* the plugin's pid as we see it; 0 before its execve */
	pid_t inside;  /* its pid as it sees itself (another number in a PID namespace) */
	pid_t session; /* everybody in it is in the jail, except us ... */
	pid_t init;    /* ... and the init, if there is one */
};

/* broker_proc.c: how many there may be. The `met` are for the guardian's main thread at the end. */
struct mor_broker_limits {
	unsigned processes;     /* with spawn */
	bool processes_met;     /* that limit has refused one */
	unsigned budget;        /* this many may be started before we count again */
	unsigned threads;       /* of all processes */
	unsigned thread_budget; /* the same */
	bool threads_met;       /* somebody was refused a thread */
};

/* broker.c: the thread, and what it says at its end. */
struct mor_broker_worker {
	int listener;
	int told; /* eventfd: readable when the thread has ended, see mor_broker_ended() */
	pthread_t thread;
	bool running;
	/* we hold it until the first question may be judged; then during each question, unless steady */
	pthread_mutex_t gate;
	struct mor_record violation; /* violated: what ended the thread                              */
};

struct mor_broker {
	struct mor_paths *paths;
	struct mor_undo *undo; /* NULL: writes are not undone */
	int proc;              /* O_PATH: the /proc that shows the plugin's pids */
	int own_fds;           /* O_PATH: our /proc/self/fd, to open again what a handle points to */
	int root;              /* O_PATH: the plugin's root if it is not ours, else -1 */
	int mem;    /* the plugin's memory, if there can be only one (no spawn); MOR_MEM_UNOPENED, -errno */
	bool apart; /* the plugin has its own tree and pids: root is opened after its execve */
	/* t0: the directory that names below /dev/shm lead to, which is made when it is first
	 * needed; "": none */
	char shm[64];
	const char *scratch; /* its directory; NULL: none */
	bool spawn;
	bool spawn_needed; /* it has spawn only because it is watched: to use it is noted */
	bool deny;         /* what can be refused is refused and noted; else it kills */
	bool steady;       /* there are no views: the directory of a rule never changes */
	/* we are under L1, or open in the plugin's tree: opening before judging cannot reach outside */
	bool locked;
	dev_t plain;            /* a device that is known not to be a /proc */
	uint64_t asked, absent; /* statistics */
	struct mor_broker_net net;
	struct mor_broker_who who;
	struct mor_broker_limits limits;
	struct mor_broker_worker worker;
	struct mor_denied denied;
};

enum { MOR_MEM_UNOPENED = -4096 }; /* no -errno: what has failed once is not tried again */
/* clang-format off */
#define MOR_BROKER_INIT { \
	.proc = -1, .own_fds = -1, .root = -1, .mem = MOR_MEM_UNOPENED, \
	.worker = { .listener = -1, .told = -1 }, \
	.denied = MOR_DENIED_INIT \
}
/* clang-format on */
/* paths must outlive the broker, which sees the plugin's session in the caller's if that leads
 * one. 0 or -errno. */
int mor_broker_init(struct mor_broker *broker, struct mor_paths *paths, const struct mor_op_level *level);
/* Takes the listener and makes the thread, which judges nothing before mor_broker_begin(). 0 or -errno. To
 * change paths after that, hold broker->worker.gate. */
int mor_broker_take_listener(struct mor_broker *broker, int listener);
void mor_broker_begin(struct mor_broker *broker);
/* broker->worker.told is readable, or the thread is over. 1: a violation, in
 * violation->{violated,forbidden,syscall, path,rule,text}, and the question stays unanswered; 0: nobody is left
 * who could ask. */
int mor_broker_ended(struct mor_broker *broker, struct mor_record *violation);
/* Waits for the thread for a short time. It ends when nobody is left who could ask. false: it still runs. */
bool mor_broker_fini(struct mor_broker *broker);

/* ---- shared by the broker's files ---- */

/* What a handler returns besides a value >= 0 or a -errno: these are below every errno. */
enum mor_broker_result {
	MOR_BROKER_SENT = -5000, /* the caller has its answer, or is gone                         */
	MOR_BROKER_CONTINUE,     /* the kernel continues the call */
	MOR_BROKER_VIOLATION,    /* forbidden: what and about of the call have the details */
	MOR_BROKER_UNDECIDED,    /* only from a short way, never an answer: the long way must decide */
};
static inline bool mor_broker_decided(int result)
{
	return result <= MOR_BROKER_VIOLATION;
}

struct mor_syscall {
	struct mor_broker *broker;
	const struct seccomp_notif *asked;
	const char *name; /* number of the system call */
	bool at;          /* a directory comes before its (first) name: mkdirat, not mkdir */
	pid_t tid, tgid;  /* the caller, as we see it      */
	pid_t own;        /* tgid as in its own /proc */
	/* a violation must come from the caller: what we read may belong to another process by now */
	bool doubtful;
	bool lenient; /* a violation: it kills in no mode */
	/* t1: what was found is not in the plugin's tree, and this is that tree's own answer; else 0 */
	int inside;
	enum mor_forbidden what; /* MOR_BROKER_VIOLATION: why ... */
	char about[PATH_MAX];    /* ... and on which object */
};

static inline uint64_t mor_syscall_arg(const struct mor_syscall *call, int n)
{
	return call->asked->data.args[n];
}
/* The arguments of calls of which there are two, mkdir(name, mode) and mkdirat(directory, name, mode), as the
 * first one counts them; and that directory. */
static inline uint64_t mor_syscall_arg_at(const struct mor_syscall *call, int n)
{
	return mor_syscall_arg(call, n + call->at);
}
static inline int mor_syscall_dirfd(const struct mor_syscall *call)
{
	return call->at ? (int)mor_syscall_arg(call, 0) : AT_FDCWD;
}
/* Does the caller still wait? Only then what was read from its memory is surely its own. */
bool mor_syscall_alive(const struct mor_syscall *call);
/* Copies from the caller's memory. 0, -EFAULT, or MOR_BROKER_VIOLATION if its memory is closed to us. */
int mor_syscall_read(struct mor_syscall *call, uint64_t address, void *to, size_t size);
/* Reads a name: 0, -EFAULT, -ENAMETOOLONG, MOR_BROKER_VIOLATION. Enough if the name is only opened for
 * reading. */
int mor_syscall_text(struct mor_syscall *call, uint64_t address, char text[PATH_MAX]);
/* The same, and the name is surely the caller's: MOR_BROKER_SENT if it no longer waits. Use it before any
 * change. */
int mor_syscall_path(struct mor_syscall *call, uint64_t address, char text[PATH_MAX]);
int mor_syscall_violation(struct mor_syscall *call, const char *about, enum mor_forbidden what);
/* A violation of this kind (from MOR_N_FIRST_REFUSED on). */
int mor_syscall_refuse(struct mor_syscall *call, enum mor_notify kind);
/* The call was allowed only because the program is watched. */
void mor_syscall_needed(struct mor_syscall *call, const char *about, enum mor_forbidden what, bool with_spawn);
/* PERFORM: 0. */
int mor_syscall_ruling(struct mor_syscall *call, const char *about, struct mor_ruling ruling);
static inline int mor_syscall_judge_write(struct mor_syscall *call, const char *where, enum mor_write_kind kind)
{
	return mor_syscall_ruling(call, where, mor_paths_write(call->broker->paths, where, kind));
}
/* Hands `fd` over as the result and closes ours. MOR_BROKER_SENT or -errno. */
int mor_syscall_inject(struct mor_syscall *call, int fd, bool cloexec);
/* /proc/TID/WHAT of the caller, O_PATH. */
int mor_syscall_proc(const struct mor_syscall *call, const char *what, int flags);
/* A number after a key in the caller's status file ("\nTgid:", "\nUmask:"). false: it cannot be read. */
bool mor_syscall_status(const struct mor_syscall *call, const char *key, int base, long *ret);
/* The caller's umask becomes ours: it applies to what we make. */
void mor_syscall_borrow_umask(const struct mor_syscall *call);
/* The caller's number in its own PID namespace; key: "\nNSpid:" (its thread) or "\nNStgid:". */
pid_t mor_syscall_inner(const struct mor_syscall *call, const char *key);

struct mor_found {
	int fd;         /* the thing itself, O_PATH; -1: it does not exist (or was not searched) */
	int parent;     /* with MOR_FIND_PARENT: its directory, O_PATH                           */
	int own_fd;     /* reached through the caller's own descriptor of this number, else -1   */
	bool slash;     /* the name ended with a slash: it must be a directory */
	struct stat st; /* of fd                                                                 */
	char name[NAME_MAX + 1];
	char where[PATH_MAX]; /* canonical                                                             */
};
enum mor_find_flags { MOR_FIND_NOFOLLOW = 1, MOR_FIND_PARENT = 2 };
/* dirfd as the caller gave it (AT_FDCWD too); resolve: that of openat2, else 0. 0, -errno,
 * MOR_BROKER_VIOLATION. */
int mor_find(struct mor_syscall *call, int dirfd, const char *path, unsigned flags, uint64_t resolve,
	     struct mor_found *found);
/* The same below a handle of ours. */
int mor_find_at(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		struct mor_found *found);
/* The same, ignoring the plugin's own tree; the name and the handle belong to one tree. */
int mor_find_from(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		  struct mor_found *found);
/* broker_view.c: opens the plugin's own tree, at the first question after its execve. 0 or decided. */
int mor_syscall_enter_view(struct mor_syscall *call);
/* In the plugin's own tree. What exists only in our tree comes back to be judged. */
int mor_find_in_view(struct mor_syscall *call, int base, const char *path, unsigned flags,
		     struct mor_found *found);
/* Opens in one step a plain existing file, for reading; resolve: that of openat2. The descriptor; -ENOENT:
 * it does not exist; MOR_BROKER_UNDECIDED: use the long way. */
int mor_find_open(struct mor_syscall *call, int dirfd, const char *path, uint64_t flags, uint64_t resolve);
/* The same for a clean name that a rule allows to read (NULL: any rule), without following links: only the
 * part below the rule's directory is looked up. */
int mor_find_open_under(struct mor_syscall *call, struct mor_path_rule *rule, const char *path, uint64_t flags);
/* Is a whole name canonical as it is, if there is no link in it? */
bool mor_name_is_clean(const char *path);
/* Is a handle of that name a file or directory that still exists, and not in /proc? */
bool mor_handle_is_plain(struct mor_syscall *call, int fd, const char *where);
/* Part by part, from one of our handles (or the root): links in /proc have the caller's meaning. Like
 * mor_find(). */
int mor_walk(struct mor_syscall *call, int base, const char *path, unsigned flags, struct mor_found *found);
/* Fills the caller's descriptor. */
int mor_find_fd(struct mor_syscall *call, int fd, struct mor_found *found);
void mor_found_fini(struct mor_found *found);
/* Fills what follows from the handle: where and st. A removed file keeps its old name, without the kernel's
 * "(deleted)". */
int mor_found_describe(const struct mor_syscall *call, struct mor_found *found);
bool mor_handle_in_proc(int fd);
/* The caller's number in the /proc that we use. */
pid_t mor_syscall_number(const struct mor_syscall *call);
/* /proc/NUMBER/rest of the caller -> /proc/self/rest */
void mor_name_own(const struct mor_syscall *call, char where[PATH_MAX]);
/* The name of one of our handles, as the kernel reports it. 0 or -errno. */
int mor_handle_raw(const struct mor_syscall *call, int fd, char where[PATH_MAX]);
/* The canonical name of one of our handles; the caller's own files become /proc/self. 0 or -errno. */
int mor_handle_name(const struct mor_syscall *call, int fd, char where[PATH_MAX]);
/* broker_tree.c: may a directory be moved, for all that is in it? 0, -errno, MOR_BROKER_VIOLATION. */
int mor_found_judge_tree(struct mor_syscall *call, const struct mor_found *found);
/* A directory in a writable workspace that is not empty: to remove it fails by itself, and git tries that. */
bool mor_found_is_full(const struct mor_syscall *call, const struct mor_found *found);
/* After a failed look-up: a missing file is only missing, but a closed directory outside the rules is a
 * violation. */
int mor_find_failed(struct mor_syscall *call, int dirfd, const char *path, bool write, int error);
/* "/proc/self/fd/"-style name below own_fds. */
const char *mor_handle_number(int fd, char text[16]);

typedef int mor_on_syscall_fn(struct mor_syscall *call);
mor_on_syscall_fn mor_on_open, mor_on_openat2, mor_on_creat, mor_on_truncate;
mor_on_syscall_fn mor_on_mkdir, mor_on_mknod, mor_on_rmdir, mor_on_unlink, mor_on_unlinkat, mor_on_rename,
	mor_on_renameat2, mor_on_link, mor_on_linkat, mor_on_symlink;
mor_on_syscall_fn mor_on_chmod, mor_on_fchmod, mor_on_fchmodat2, mor_on_utime, mor_on_utimes, mor_on_futimesat,
	mor_on_utimensat;
mor_on_syscall_fn mor_on_ioctl, mor_on_fork, mor_on_execve, mor_on_signal, mor_on_limits, mor_on_inspect,
	mor_on_socket, mor_on_socketpair, mor_on_connect, mor_on_bind, mor_on_listen, mor_on_identity,
	mor_on_group, mor_on_handler;
mor_on_syscall_fn mor_on_chown, mor_on_fchown, mor_on_fchownat;
/* A connect that is no unix socket's. */
mor_on_syscall_fn mor_connect_place;

#endif
