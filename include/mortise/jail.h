/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jail.h: one program in the jail, without a protocol; and what this machine can do for a jail. Plugins are
 * confined by their settings ([sandbox]); they need nothing of this.
 */
#ifndef MORTISE_JAIL_H
#define MORTISE_JAIL_H

#include <mortise/mortise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a wake-up of the host means for the running program. */
enum mortise_jail_order {
	MORTISE_JAIL_GO_ON,
	MORTISE_JAIL_TERM, /* SIGTERM to all its processes */
	MORTISE_JAIL_KILL  /* SIGKILL to all its processes */
};

enum mortise_jail_flags {
	/* Watch the program, at level t0: what it asks for is allowed, except to write outside of the
	 * workspace, the network without permission, devices, and what always kills. It may then read all that
	 * you can read! What the policy does not grant comes as records
	 * {"event":"sandbox_need","plugin","syscall","path","rule",
	 * "kind","allow","with_spawn","action":"allowed"}: one for each call and path, at most 20,000.
	 * with_spawn: to grant "spawn" is enough for it. */
	MORTISE_JAIL_LEARN = 1 << 0,
	/* Texts name the options of `mortise jail` ("add --read /x"), not the keys of the policy. */
	MORTISE_JAIL_COMMAND_WORDS = 1 << 1
};

typedef enum mortise_jail_order mortise_jail_wakeup_fn(void *arg) MORTISE_NOEXCEPT;
typedef void mortise_jail_record_fn(mortise_json record, void *arg) MORTISE_NOEXCEPT;

typedef struct mortise_jail_options {
	size_t size;
	const char *const *argv;   /* NULL-terminated; without a slash the program is searched in PATH */
	const char *const *policy; /* NULL-terminated "key=value": the keys of [sandbox], and plugin_dir
					and scratch; paths are absolute or begin with "~/"; read and
					protected_paths may be repeated. Default level: "auto" */
	const char *const *env;    /* NULL-terminated, added to the clean environment: "NAME=VALUE", or
					"NAME" to pass our value on */
	const char *name;          /* its name in texts; NULL: the program's file name */
	const char *helper;        /* path of mortise-jail; NULL: the one that came with this library         */
	uint64_t flags;            /* enum mortise_jail_flags */
	uint32_t landlock_abi_cap; /* for tests: use only Landlock up to this ABI; 0: everything */
	mortise_host *host;        /* or NULL. When it is woken up, on_wakeup is asked what to do */
	mortise_jail_wakeup_fn *on_wakeup;
	void *arg;
	/* or NULL. Each record as it comes, one JSON object: a need (MORTISE_JAIL_LEARN), a denial or the
	 * violation that ended it, like the params of MORTISE_EVENT_VIOLATION; and last, always:
	 * {"event":"jail_end","program","exit_code",
	 * "signal","ended_by","level","rung","limits":[...],"error","violation","denied":{"event":
	 * "sandbox_denials",...}}, where violation and denied are objects as above, violation null without one.
	 * ended_by: "program", "violation", "limit" (a time limit), "not_run" */
	mortise_jail_record_fn *on_record;
} mortise_jail_options;

/* How it went. Made by the library; it may grow at its end. Texts are never NULL. Free with mortise_free(): its
 * texts go with it. */
typedef struct mortise_jail_result {
	/* as in a shell: the program's own, or 128 + signal; 9: killed for a violation; 124: its wall time was
	 * over; 125: the jail could not be set up; 126: the program cannot be run; 127: it was not found */
	int exit_code;
	int signal;                        /* the signal that ended it, or 0 */
	int timed_out;                     /* 1: its wall time was over */
	const char *level;                 /* in force: "guarded", "t0", "t1"; "" if it never started */
	const char *syscall, *path, *rule; /* a violation: the call, its path, and the broken rule; else "" */
	/* what ends all its processes: "subreaper" (the guardian), "pidns" (the kernel); "": never started */
	const char *rung;
	/* limits that it reached, as far as that is known: "memory", "threads, scratch_size" */
	const char *limits;
	/* one line for people that sums up what was denied, and what would allow it; "": nothing */
	const char *denied_text;
	uint64_t denied; /* calls that were refused while it went on (on_denial=deny) */
} mortise_jail_result;

/* Runs one program in the jail with our stdin, stdout and stderr, and waits for its end. 0: it ran and
 * ended, in any way. MORTISE_EVIOLATION: it was killed for a violation; the result has the details, and
 * err's text describes it in a sentence. MORTISE_EJAIL: the jail could not be set up, and nothing was run; the
 * text names what is missing. MORTISE_ENOTFOUND, MORTISE_EEXEC: the program. MORTISE_EINVAL: the policy. In
 * no case is any of its processes left running. *ret_result is set whatever is returned: NULL if the options
 * themselves are wrong, or without memory. Any thread, unless a host is given; not from a callback. */
MORTISE_API int mortise_jail_run(const mortise_jail_options *opt, mortise_jail_result **ret_result,
				 mortise_error *err);

/* What this machine supports, found by trying: one object; mortise-doctor(1) lists its members. Free with
 * mortise_free(). Starts short-lived processes. Any thread. */
MORTISE_API int mortise_doctor(char **ret_json, mortise_error *err);

#ifdef __cplusplus
}
#endif
#endif
