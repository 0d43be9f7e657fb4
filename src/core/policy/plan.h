/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: a versioned list of operations that the library writes into a memfd and mortise-jail carries
 * out. And the records on the one SOCK_SEQPACKET socket between them. Shared by both sides; base only; no
 * pointers inside.
 *
 * Layout: struct mor_plan_head, then operations, each struct mor_plan_op followed by `size` bytes of
 * payload, padded to 8. Strings are NUL-terminated. Unknown magic or version is its own error; an unknown
 * operation is refused.
 *
 * mortise-jail gets the plan on descriptor MOR_PLAN_FD, the socket on MOR_GUARD_FD, the plugin's
 * stdio on 0, 1 and 2.
 */
#ifndef MOR_POLICY_PLAN_H
#define MOR_POLICY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#define MOR_PLAN_MAGIC   0x4c49414a524f4dULL /* "MORJAIL" */
#define MOR_PLAN_VERSION 13
#define MOR_PLAN_MAX     (64u << 20) /* bytes; far beyond what exec takes */

enum { MOR_PLAN_FD = 3, MOR_GUARD_FD = 4 };

/* What SIGSYS of the guardian means. */
#define MOR_GUARD_FILTERED "mortise-jail made a call that its own filter forbids, and was killed for it"

struct mor_plan_head {
	uint64_t magic;
	uint32_t version, count;
};

struct mor_plan_op {
	uint32_t kind, size;
};

enum mor_plan_kind {
	MOR_OP_LEVEL = 1, /* struct mor_op_level                                                       */
	MOR_OP_HOST,      /* int32: pid of the host; the guardian opens a pidfd on it and checks ppid   */
	MOR_OP_ARGV,      /* strings: what to execute; argv[0] is already a path */
	MOR_OP_ENV,       /* strings                                                                    */
	MOR_OP_CWD,       /* string                                                                     */
	MOR_OP_LIMIT,     /* struct mor_op_limit                                                        */
	MOR_OP_GRACE,     /* struct mor_grace: after the host's death                                   */
	MOR_OP_WALL,      /* uint32: ms of wall time                                                    */
	MOR_OP_PATH,      /* struct mor_op_path + string: a rule for files */
	MOR_OP_PROTECT,   /* struct mor_op_protect + string: no writes to it, though a rule allows them */
	MOR_OP_SCRATCH,   /* string: an existing directory, or "" to make one                           */
	MOR_OP_GROUP,     /* struct mor_op_group + string: make a control group in there */
	MOR_OP_UNDO,      /* string: a store (undo.h), made by the host */
	MOR_OP_NETWORK,   /* struct mor_net_place, one or more: where it may connect to; with MOR_JAIL_PLACES */
	MOR_OP_HOSTS,     /* string: its /etc/hosts, with the same */
	MOR_OP_CHECKED,   /* string: the true name of an installed plugin's directory */
	MOR_OP_FILE,      /* struct mor_op_file + string(s): one of its files, as it was when it was checked */
	MOR_OP_LISTEN     /* string: a directory in which it may listen on one unix socket */
};

/* The time that the guardian gives the plugin after the host's death. The plugin's stdin ends with the host. */
struct mor_grace {
	uint32_t term_ms, kill_ms; /* from there to SIGTERM; from SIGTERM to SIGKILL */
};

enum mor_op_level_flags {
	MOR_JAIL_NETWORK = 1,
	MOR_JAIL_SPAWN = 2,
	MOR_JAIL_PIDNS = 4,
	MOR_JAIL_VIEW = 8,
	MOR_JAIL_QUIET_TMP = 16,
	MOR_JAIL_DENY = 32,      /* forbidden calls get an errno where the table (forbidden.h) has one */
	MOR_JAIL_PLACES = 64,    /* connections to the places of the plan; not with MOR_JAIL_NETWORK */
	MOR_JAIL_RUN_MADE = 128, /* with SPAWN: it runs what is in the workspace and in scratch */
	MOR_JAIL_COMMITS = 256,  /* what commits write in git directories */
	MOR_JAIL_LENIENT = 512,  /* a write to most of what is protected is refused, but is no violation */
	/* t0: what it asks for is allowed and noted, except writes outside the workspace */
	MOR_JAIL_LEARN = 1024
};
struct mor_op_level {
	uint32_t level, flags; /* enum mor_level; enum mor_op_level_flags */
	uint32_t landlock_abi_cap, processes;
	uint64_t scratch_bytes; /* 0: no limit */
	uint32_t threads, pad;  /* of all its processes; 0: the guardian's default */
};
struct mor_op_limit {
	uint32_t resource, pad;
	uint64_t value;
};
/* What a control group limits; version 2 has one group for all, version 1 one for each. */
enum mor_cgroup_controller { MOR_CGROUP_PIDS = 1, MOR_CGROUP_MEMORY = 2, MOR_CGROUP_CPU = 8 };
#define MOR_REACHED_SCRATCH 4 /* beside them in mor_record.reached */
struct mor_op_group {
	uint32_t version, controllers;
	uint64_t memory;         /* 0: no limit, as below */
	uint32_t threads, cpu_s; /* of all processes together; the group counts time, the guardian ends them */
	uint32_t processors, pad;
	char path[];
};
enum mor_path_access { MOR_MAY_READ = 1, MOR_MAY_WRITE = 2, MOR_MAY_EXECUTE = 4 };
enum mor_op_path_flags { MOR_OP_PATH_WORKSPACE = 1 };
struct mor_op_path {
	uint32_t access, flags; /* enum mor_path_access; enum mor_op_path_flags */
	char path[];
};
/* Why something in a writable workspace may not be written all the same. */
enum mor_protect_why {
	MOR_PROTECT_NOT,
	MOR_PROTECT_ASKED,    /* protected_paths names it */
	MOR_PROTECT_POLICY,   /* its permissions come from it */
	MOR_PROTECT_CODE,     /* its command names it */
	MOR_PROTECT_READ,     /* another rule allows only to read it */
	MOR_PROTECT_GIT,      /* in a git directory; as an operation: the root of one */
	MOR_PROTECT_GIT_RUNS, /* git runs it, or obeys it */
	MOR_PROTECT_TOOL,     /* tools run it by themselves, or obey it */
	MOR_PROTECT_UNDO,     /* what is needed to undo */
	MOR_PROTECT_BELOW     /* something below it is protected */
};
struct mor_op_protect {
	uint32_t why, pad;
	char text[]; /* absolute: this and all below; else: these parts of a name, anywhere in the workspace */
};

/* What stands for a file's content (docs/design/0008-store.md): a change of the content cannot
 * keep them all. */
struct mor_plan_identity {
	uint64_t device, inode, size;
	int64_t mtime_ns, ctime_ns;
};
enum mor_op_file_flags { MOR_OP_FILE_EXECUTABLE = 1, MOR_OP_FILE_LINK = 2 };
struct mor_op_file {
	struct mor_plan_identity identity; /* of a link: not used */
	uint32_t flags, pad;               /* enum mor_op_file_flags */
	char path[];                       /* below the directory; of a link: then its target */
};

/* ---- writing one (library) ---- */

struct mor_buf;
struct mor_policy;
int mor_plan_begin(struct mor_buf *plan); /* all: 0 or MORTISE_ENOMEM */
int mor_plan_add(struct mor_buf *plan, enum mor_plan_kind kind, const void *payload, size_t size);
int mor_plan_add_text(struct mor_buf *plan, enum mor_plan_kind kind, const char *text);
int mor_plan_add_list(struct mor_buf *plan, enum mor_plan_kind kind, const char *const *texts);
int mor_plan_add_path(struct mor_buf *plan, uint32_t access, uint32_t flags, const char *path);
int mor_plan_add_protect(struct mor_buf *plan, enum mor_protect_why why, const char *text);
int mor_plan_add_limit(struct mor_buf *plan, uint32_t resource, uint64_t value);

/* The files of an installed plugin as the host has checked them. */
struct mor_plan_file {
	const char *path, *target; /* target: of a link; NULL: it is a file */
	struct mor_plan_identity identity;
	bool executable;
};
struct mor_plan_checked {
	const char *directory;
	const struct mor_plan_file *files;
	size_t count;
};

/* What to run, in addition to the policy (NULL: guarded). Only the file rules that the policy names are
 * written (plugin directory, workspace, read_paths). confine.c adds the runtime files that every program
 * needs. */
struct mor_plan_command {
	const char *const *argv, *const *env;
	const char *cwd;
	int host;
	const struct mor_plan_checked *checked; /* NULL: it is not installed */
	const char *listen;                     /* MOR_OP_LISTEN; NULL: it may not listen */
};
int mor_plan_make(struct mor_buf *plan, const struct mor_plan_command *command,
		  const struct mor_policy *policy);
/* A sealed memfd, close-on-exec, or -errno. */
int mor_plan_memfd(const struct mor_buf *plan);

/* ---- reading one (mortise-jail, tests) ---- */

/* Points into the text it was read from, except argv and env, which are separate arrays. */
struct mor_plan {
	struct mor_op_level level;
	char **argv, **env;
	char *cwd;     /* NULL: our own directory */
	char *scratch; /* NULL: none requested; "": a new one */
	char *undo;    /* NULL: no undo */
	char *hosts;   /* NULL: none */
	char *checked; /* NULL: it is not installed */
	char *listen;  /* NULL: it may not listen */
	const struct mor_net_place *places;
	size_t place_count;
	struct mor_grace grace; /* both 0: the guardian's defaults */
	uint32_t wall_ms;
	int32_t host;
	size_t argc, envc;
	const struct mor_plan_op *ops, *end;
};
enum mor_plan_fault {
	MOR_PLAN_OK,
	MOR_PLAN_NOT_ONE,
	MOR_PLAN_OTHER_VERSION,
	MOR_PLAN_DAMAGED,
	MOR_PLAN_UNKNOWN_OP,
	MOR_PLAN_NO_MEMORY
};
/* `bytes` must be aligned to 8, private and writable. Never trusts a size. */
enum mor_plan_fault mor_plan_read(void *bytes, size_t size, struct mor_plan *ret);
void mor_plan_fini(struct mor_plan *plan); /* frees the two arrays */
/* The next operation of this kind after `after` (NULL: the first); NULL: none. */
const struct mor_plan_op *mor_plan_next(const struct mor_plan *plan, enum mor_plan_kind kind,
					const struct mor_plan_op *after);
static inline const void *mor_plan_payload(const struct mor_plan_op *op)
{
	return op + 1;
}

/* ---- records on the socket ---- */

/* VIEW answers an order to switch the view; answers come in the order of the orders. Step 0: it worked.
 * DENIED: something was refused, between STARTED and EXITED. The first of its kind (call and path) comes when
 * it happens; how often it happened comes once more, before EXITED. */
enum mor_record_kind {
	MOR_RECORD_STARTED = 1,
	MOR_RECORD_EXEC_FAILED,
	MOR_RECORD_EXITED,
	MOR_RECORD_SETUP_FAILED,
	MOR_RECORD_VIEW,
	MOR_RECORD_DENIED
};
#define MOR_PLAN_DENIED_MAX 1000  /* different ones that are told of */
#define MOR_PLAN_NEEDED_MAX 20000 /* the same with MOR_JAIL_LEARN */

/* Where it failed. Only MOR_AT_EXEC comes with EXEC_FAILED: then the library looks at the file and says why.
 * MOR_AT_STAGE: the files to show are wrong, not the kernel. */
enum mor_setup_step {
	MOR_AT_PLAN = 1,
	MOR_AT_VERSION,
	MOR_AT_GUARD,
	MOR_AT_FORK,
	MOR_AT_CWD,
	MOR_AT_LIMIT,
	MOR_AT_PRIVILEGES,
	MOR_AT_NAMESPACE,
	MOR_AT_CONFINE,
	MOR_AT_EXEC,
	MOR_AT_STAGE,
	MOR_AT_CHANGED /* a file of an installed plugin is not the one that was checked; text: its name */
};
struct mor_setup_failure {
	int32_t step, error;
	char text[256];
};

/* What ends all processes of the plugin: a subreaper that finds every orphan, or the kernel with the PID
 * namespace. */
enum mor_tree_rung { MOR_TREE_GROUP, MOR_TREE_SUBREAPER, MOR_TREE_PIDNS };

/* The permission that a violation lacks. The library uses the name that the user knows (violation.c). All
 * other rules are sent as text. */
#define MOR_RULE_READ            "read"
#define MOR_RULE_WORKSPACE_WRITE "workspace_write"
#define MOR_RULE_WRITE           "write"         /* outside the allowed places */
#define MOR_RULE_NETWORK         "network"       /* with a path that only a look-up of names uses */
#define MOR_RULE_PLACE           "network_place" /* not in the list of places */
#define MOR_RULE_SPAWN           "spawn"
#define MOR_RULE_GIT             "write git"   /* in a git directory, and a commit writes it */
#define MOR_RULE_TOOL            "write tool"  /* MOR_PROTECT_TOOL */
#define MOR_SYSCALL_FOREIGN      "foreign ABI" /* used instead of a system call's name */

/* kind, version, step, error and text have the same place in every version. */
struct mor_record {
	uint32_t kind, version;
	int32_t step, error; /* EXEC_FAILED, SETUP_FAILED, VIEW: what, errno                             */
	char text[256];      /* failure: what and why, with the missing kernel feature; STARTED: the new
				   scratch directory, which must be removed if we are killed */
	int32_t pid;         /* STARTED: its pid as the host sees it */
	int32_t status;      /* EXITED: exit code, or signal number                                      */
	uint8_t by_signal, core, known, violated;
	uint8_t level, rung, wall, left; /* STARTED: the level in force (enum mor_level), and how the
					      processes are killed; EXITED: wall time was over; processes
					      that SIGKILL did not end */
	uint8_t forbidden;               /* enum mor_forbidden: with violated, DENIED */
	uint8_t limits;                  /* EXITED: those that it reached, 1 << enum mor_limit */
	uint8_t allowed;                 /* DENIED: it was not, because of MOR_JAIL_LEARN */
	uint8_t with_spawn;              /* DENIED, allowed: a plugin with spawn may read it anyway */
	uint32_t index;                  /* DENIED: 0 for the first one */
	uint64_t count; /* DENIED: times so far; EXITED: all denials, also those that were not told of */
	/* EXITED: of the plugin; not a struct rusage: C libraries differ */
	int64_t user_us, system_us, memory_kib;
	uint8_t held, reached, none[6]; /* STARTED, EXITED: enum mor_cgroup_controller: limits that control
					   groups hold; those that were reached there */
	char syscall[32], path[512], rule[64]; /* with violated, DENIED                                   */
};

/* Host and guardian may be built with different C libraries. */
_Static_assert(sizeof(struct mor_record) == 944 && offsetof(struct mor_record, syscall) == 336,
	       "the record has no type whose size is a C library's");

/* Limits whose end the guardian sees. */
enum mor_limit {
	MOR_LIMIT_WALL,
	MOR_LIMIT_CPU,
	MOR_LIMIT_FILE_SIZE,
	MOR_LIMIT_PROCESSES,
	MOR_LIMIT_THREADS,
	MOR_LIMIT_MEMORY,
	MOR_LIMIT_SCRATCH
};

enum mor_order_kind { MOR_GUARD_TERM = 1, MOR_GUARD_KILL, MOR_GUARD_SWITCH_VIEW };
struct mor_guard_order {
	uint32_t kind, version; /* version: MOR_PLAN_VERSION, of SWITCH_VIEW only */
	/* SWITCH_VIEW: the stage ("": remove the view), then the writable directories. Then, if the stage's
	 * directories are known, "" and the deepest of them. Each ends with NUL. */
	char texts[];
};
/* limits: bytes of an order; writable directories in it */
enum { MOR_PLAN_ORDER_MAX = 16 * 1024, MOR_PLAN_VIEW_WRITABLE = 32 };

#endif
