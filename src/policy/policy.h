/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin may do, as one struct. From it come the plan (what mortise-jail carries out), the environment, the
 * text of the prompt and of `mortise info`. Knows nothing of processes; base only.
 */
#ifndef MOR_POLICY_POLICY_H
#define MOR_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "policy/plan.h"

enum mor_level {
	MOR_LEVEL_GUARDED, /* no rules on files and network; no new privileges, clean descriptors, complete kill    */
	MOR_LEVEL_AUTO,    /* confined: t1 where the kernel lets us, else t0; never less                            */
	MOR_LEVEL_T0,      /* Landlock + seccomp + broker                                                            */
	MOR_LEVEL_T1       /* t0 in namespaces of its own with a minimal root                                        */
};
const char *mor_level_name(enum mor_level level); /* "guarded", "auto", "t0", "t1" */

/* Who gave the permissions: texts call them by the names that are written there. */
enum mor_policy_source {
	MOR_POLICY_OF_SETTINGS, MOR_POLICY_OF_PLUGIN_TOML, MOR_POLICY_OF_SUNSCREEN_JSON, MOR_POLICY_OF_COMMAND, MOR_POLICY_SOURCES
};

struct mor_limits { /* 0: the default of the level */
	uint64_t memory_bytes, file_bytes;
	uint32_t cpu_s, open_files, processes, wall_ms;
};

struct mor_policy {
	enum mor_level level;
	bool network, workspace_write, spawn;
	bool quiet_tmp;           /* an attempt to make a file right in /tmp is refused, but is no violation                   */
	bool pidns;               /* guarded, t0: a PID namespace all the same                                       */
	bool view;                /* its host sets what it sees of the file system; never at t0                      */
	char *workspace;          /* absolute, or NULL                                                               */
	char *plugin_dir;         /* absolute, or NULL                                                               */
	char *scratch;            /* absolute, or NULL: mortise-jail makes and removes one                           */
	char *undo;               /* a store of mortise_undo_new(), or NULL: what it writes is not to be undone        */
	char **read_paths;        /* absolute, recursive, NULL-terminated                                            */
	char **protected_paths;   /* relative to the workspace; NULL: .git/hooks, .git/config                        */
	struct mor_limits limits;
	struct mor_grace grace;   /* after the host's death; both 0: the guardian's own, half a second each          */
	unsigned landlock_abi_cap;/* tests: pretend that the kernel knows no more than this; 0: what it knows        */
	bool unconfined;          /* somebody asked for no confinement in so many words: warned of every time        */
	enum mor_policy_source source;
	bool never_spawn;         /* plugin.toml: nothing can grant it; set it before any mor_policy_set()           */
	bool workspace_later;     /* the workspace is named with each run: until then there may be none               */
	bool level_given;         /* by a key; else the dialect's default holds                                      */
	bool rules_given;         /* a key that only a confined plugin obeys was set                                 */
};

/* clang-format off */
#define MOR_POLICY_INIT { 0 }
/* clang-format on */
void mor_policy_fini(struct mor_policy *policy);

/* ---- The table: every key there is. Reading, texts, JSON and `mortise jail`'s limits go by it. ---- */

enum mor_policy_type {
	MOR_POLICY_LEVEL,    /* enum mor_level                                                    */
	MOR_POLICY_BOOL,     /* bool                                                              */
	MOR_POLICY_PATH,     /* char *: absolute, or ~/ for one below $HOME; "": none             */
	MOR_POLICY_PATHS,    /* char **: each mor_policy_set() adds one                           */
	MOR_POLICY_NAMES,    /* char **: relative, no "..": each adds one                         */
	MOR_POLICY_BYTES,    /* uint64_t                                                          */
	MOR_POLICY_SECONDS,  /* uint32_t: a duration, rounded up to seconds                       */
	MOR_POLICY_DURATION, /* uint32_t: a duration in ms                                        */
	MOR_POLICY_COUNT     /* uint32_t                                                          */
};

enum mor_policy_flags {
	MOR_POLICY_SETTING = 1 << 0, /* a key of [sandbox]; the others belong to whoever makes the policy */
	MOR_POLICY_RULE = 1 << 1,    /* only a confined plugin obeys it: setting it asks for confinement   */
	MOR_POLICY_LIMIT = 1 << 2    /* --limit name=value                                                 */
};

struct mor_policy_key {
	const char *name; /* NULL ends the table */
	enum mor_policy_type type;
	unsigned flags;
	size_t offset;       /* of the field in struct mor_policy                                 */
	const char *def;     /* default of a confined plugin, as it would be written; NULL: none  */
	const char *foreign; /* what plugin.toml and sunscreen-plugin.json call it, or NULL       */
	const char *text;    /* for people: of a bool when it is true, else with the value as %s  */
	const char *text_no; /* ... when it is false or absent; NULL: nothing is said             */
};
extern const struct mor_policy_key mor_policy_keys[];
const struct mor_policy_key *mor_policy_key(const char *name); /* NULL: there is none */

/* One key. `value` as in mortise.toml ("64MiB", "true", a path); lists grow by one element per call,
 * and NULL makes one empty. 0, MORTISE_ENOMEM, or MORTISE_EMANIFEST with "KEY is VALUE: it must be ...". */
int mor_policy_set(struct mor_policy *policy, const char *key, const char *value, mortise_error *err);
/* After the last key: fills the level where no key gave one (rules ask for confinement; else `confined` says what
 * the dialect wants), and refuses what contradicts itself. */
int mor_policy_finish(struct mor_policy *policy, bool confined, mortise_error *err);

static inline bool mor_policy_confined(const struct mor_policy *policy)
{
	return policy->level != MOR_LEVEL_GUARDED;
}
/* The limits in force: where a field is 0, the default of the level; 0 then means that there is none. */
struct mor_limits mor_policy_limits(const struct mor_policy *policy);
/* Whether all below `path` (absolute, without links) may be read: workspace, plugin directory, read, scratch. */
bool mor_policy_covers(const struct mor_policy *policy, const char *path);
/* NULL-terminated: the policy's, or the default. */
const char *const *mor_policy_protected(const struct mor_policy *policy);

/* What it means, one line per permission, for prompts and `info`. Never says more than is enforced. */
int mor_policy_text(const struct mor_policy *policy, struct mor_buf *out);
/* The limits that somebody has set, for error texts: "sandbox.memory 256 MiB, sandbox.files 32". Nothing: none. */
int mor_policy_limits_set(const struct mor_policy *policy, struct mor_buf *out);
/* An object: a member per key with the value in force (null: none), "unconfined", and "text", the lines above as an
 * array. */
int mor_policy_json(const struct mor_policy *policy, struct mor_buf *out);
/* "name tried to read /home/u/id.json: not in declared_paths; to allow it, add ...". One line for people: what it tried, on
 * what, which permission was lacking, and what to type to grant it. */
struct mor_violation {
	const char *plugin, *syscall, *path, *rule; /* rule: as the guardian told it, or words */
	enum mor_policy_source source;
};
/* What the guardian calls a rule, in words. */
const char *mor_violation_rule(enum mor_policy_source source, const char *rule);
int mor_violation_text(const struct mor_violation *violation, struct mor_buf *out);
/* {"event":"sandbox_violation","plugin":...,"syscall":...,"path":...,"rule":...} */
int mor_violation_json(const struct mor_violation *violation, struct mor_buf *out);

#endif
