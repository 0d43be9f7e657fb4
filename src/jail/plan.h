/*
 * The plan: a versioned list of operations that the library writes into a memfd and mortise-jail carries out. And the
 * records on the one SOCK_SEQPACKET socket between them. Shared by both sides; base only; no pointers inside.
 *
 * Layout: struct mor_plan_head, then operations, each struct mor_plan_op followed by `size` bytes of payload, padded
 * to 8. Strings are NUL-terminated. Unknown magic or version is its own error; an unknown operation is refused.
 */
#ifndef MOR_JAIL_PLAN_H
#define MOR_JAIL_PLAN_H

#include <stdint.h>
#include <sys/resource.h>

#define MOR_PLAN_MAGIC 0x4c49414a524f4dULL /* "MORJAIL" */
#define MOR_PLAN_VERSION 1

struct mor_plan_head {
	uint64_t magic;
	uint32_t version, count;
};

struct mor_plan_op {
	uint32_t kind, size;
};

enum mor_plan_kind {
	MOR_OP_LEVEL = 1,   /* struct mor_op_level                                                       */
	MOR_OP_HOST,        /* int32: pid of the host; the guardian opens a pidfd on it and checks ppid   */
	MOR_OP_ARGV,        /* strings: what to execute; argv[0] is resolved already (a path)             */
	MOR_OP_ENV,         /* strings                                                                    */
	MOR_OP_CWD,         /* string                                                                     */
	MOR_OP_LIMIT,       /* struct mor_op_limit                                                        */
	MOR_OP_GRACE,       /* uint32: ms                                                                 */
	MOR_OP_WALL,        /* uint32: ms of wall time                                                    */
	MOR_OP_PATH,        /* struct mor_op_path + string: a rule on files                               */
	MOR_OP_PROTECT,     /* string: no writes below, although a rule above allows them                 */
	MOR_OP_SCRATCH,     /* string: an existing directory, or "" to make one                           */
	MOR_OP_BIND,        /* struct mor_op_mount + two strings                                          */
	MOR_OP_TMPFS,
	MOR_OP_OVERLAY,
	MOR_OP_PIVOT
};

enum mor_op_level_flags { MOR_JAIL_NETWORK = 1, MOR_JAIL_SPAWN = 2, MOR_JAIL_PIDNS = 4 };
struct mor_op_level {
	uint32_t level, flags; /* enum mor_level; enum mor_op_level_flags */
	uint32_t landlock_abi_cap, processes;
};
struct mor_op_limit {
	uint32_t resource, pad;
	uint64_t value;
};
enum mor_path_access { MOR_MAY_READ = 1, MOR_MAY_WRITE = 2, MOR_MAY_EXECUTE = 4 };
struct mor_op_path {
	uint32_t access, flags;
};

/* ---- records on the socket ---- */

enum mor_record_kind { MOR_RECORD_STARTED = 1, MOR_RECORD_EXEC_FAILED, MOR_RECORD_EXITED, MOR_RECORD_SETUP_FAILED };

struct mor_record {
	uint32_t kind;
	int32_t pid;          /* STARTED: as the host sees it                                             */
	int32_t step, error;  /* EXEC_FAILED, SETUP_FAILED: what, errno                                   */
	int32_t status;       /* EXITED: exit code, or signal number                                      */
	uint8_t by_signal, core, known, violated;
	uint8_t level, rung, pad[2]; /* STARTED: what is in force (enum mor_level), how the tree is killed */
	struct rusage usage;
	char text[256];       /* failure: what and why, naming the missing kernel feature                 */
	char syscall[32], path[512], rule[64]; /* with violated                                           */
};

enum mor_order_kind { MOR_GUARD_TERM = 1, MOR_GUARD_KILL, MOR_GUARD_SWITCH_VIEW };
struct mor_guard_order {
	uint32_t kind, pad;
};

#endif
