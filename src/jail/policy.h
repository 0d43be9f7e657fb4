/*
 * What a plugin may do, as one struct. From it come the plan (what mortise-jail carries out), the environment, the
 * text of the prompt and of `mortise info`. Knows nothing of processes; base only.
 */
#ifndef MOR_JAIL_POLICY_H
#define MOR_JAIL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"

enum mor_level {
	MOR_LEVEL_GUARDED, /* no rules on files and network; no new privileges, clean descriptors, complete kill    */
	MOR_LEVEL_AUTO,    /* confined: t1 where the kernel lets us, else t0; never less                            */
	MOR_LEVEL_T0,      /* Landlock + seccomp + broker                                                            */
	MOR_LEVEL_T1       /* t0 in namespaces of its own with a minimal root                                        */
};
const char *mor_level_name(enum mor_level level); /* "guarded", "auto", "t0", "t1" */

struct mor_limits { /* 0: the default of the level */
	uint64_t memory_bytes, file_bytes;
	uint32_t cpu_s, open_files, processes, wall_ms;
};

struct mor_policy {
	enum mor_level level;
	bool network, workspace_write, spawn;
	bool pidns;               /* guarded, t0: a PID namespace all the same                                       */
	char *workspace;          /* absolute, or NULL                                                               */
	char *plugin_dir;         /* absolute, or NULL                                                               */
	char *scratch;            /* absolute, or NULL: mortise-jail makes and removes one                           */
	char **read_paths;        /* absolute, recursive, NULL-terminated                                            */
	char **protected_paths;   /* relative to the workspace; NULL: .git/hooks, .git/config                        */
	struct mor_limits limits;
	uint32_t grace_ms;        /* what the guardian gives the plugin between the host's death and SIGKILL         */
	unsigned landlock_abi_cap;/* tests: pretend that the kernel knows no more than this; 0: what it knows        */
};

#define MOR_POLICY_INIT { 0 }
void mor_policy_fini(struct mor_policy *policy);

/* One table drives these: name, type, where it goes, text. */
/* key: "workspace_write", "network", "spawn", "read", "level", "pidns", "memory", "cpu", "files", "file_size", "wall",
 * "processes", "protected_paths"; value as in mortise.toml ("64MiB", "true", a path). 0, MORTISE_EMANIFEST. */
int mor_policy_set(struct mor_policy *policy, const char *key, const char *value, mortise_error *err);
/* What it means, one line per permission, for prompts and `info`. */
int mor_policy_text(const struct mor_policy *policy, struct mor_buf *out);
int mor_policy_json(const struct mor_policy *policy, struct mor_buf *out);

#endif
