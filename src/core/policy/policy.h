/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin may do, as one struct. The plan (for mortise-jail), the environment, and the texts of the
 * prompt and of `mortise info` are made from it. It knows no processes and uses only base.
 */
#ifndef MOR_POLICY_POLICY_H
#define MOR_POLICY_POLICY_H

#include <mortise/mortise.h>

#include "base/buf.h"
#include "policy/forbidden.h"
#include "policy/network.h"

enum mor_level {
	/* no rules for files and network; no new privileges, clean descriptors, all processes are killed */
	MOR_LEVEL_GUARDED,
	MOR_LEVEL_AUTO, /* confined: t1 if the kernel allows it, else t0; never less */
	MOR_LEVEL_T0,   /* Landlock + seccomp + broker */
	MOR_LEVEL_T1    /* t0 in its own namespaces with a minimal root */
};
const char *mor_level_name(enum mor_level level); /* "guarded", "auto", "t0", "t1" */

/* What happens to a program that tries what it may not; forbidden.h has the exceptions to both. */
enum mor_on_denial {
	MOR_ON_DENIAL_KILL, /* the first attempt kills it, exit status 9 */
	MOR_ON_DENIAL_DENY  /* the call fails, the program goes on, and everybody is told of it */
};
const char *mor_on_denial_name(enum mor_on_denial on_denial); /* "kill", "deny" */

/* Who gave the permissions. Texts use the names that are written there. */
enum mor_policy_source {
	MOR_POLICY_OF_SETTINGS, /* it has a directory, hence a mortise.toml */
	MOR_POLICY_OF_LINE,     /* only a command line was given, to the command */
	MOR_POLICY_OF_OPTIONS,  /* the same, to an embedder's program: mortise_plugin_options.set */
	MOR_POLICY_OF_PLUGIN_TOML,
	MOR_POLICY_OF_SUNSCREEN_JSON,
	MOR_POLICY_OF_COMMAND, /* `mortise jail` */
	MOR_POLICY_OF_PAIRS,   /* mortise_jail_options.policy */
	MOR_POLICY_SOURCES
};

struct mor_limits { /* 0: the default of the level */
	uint64_t memory_bytes, file_bytes, scratch_bytes;
	uint32_t cpu_s, open_files, processes, wall_ms, threads;
};

struct mor_network {
	bool all;  /* everything; else ... */
	char **to; /* ... connections to these, each HOST:PORT; NULL: none */
	/* where they lead, and the program's /etc/hosts; made by mor_policy_look_up() */
	struct mor_net_place *places;
	size_t count;
	char *hosts;
};

struct mor_policy {
	enum mor_level level;
	enum mor_on_denial on_denial;
	struct mor_network network;
	bool workspace_write, spawn;
	bool git; /* in git directories of the workspace it may write what commits need */
	/* an attempt to make a file directly in /tmp is refused, but is not a violation */
	bool quiet_tmp;
	bool pidns;             /* guarded, t0: use a PID namespace anyway */
	bool view;              /* its host decides which files it sees; never at t0 */
	char *workspace;        /* absolute, or NULL */
	char *plugin_dir;       /* absolute, or NULL */
	char *scratch;          /* absolute, or NULL: mortise-jail makes and removes one */
	char *undo;             /* a store of mortise_undo_new(), or NULL: no undo */
	char **read_paths;      /* absolute, recursive, NULL-terminated */
	char **protected_paths; /* relative to the workspace; NULL: mor_protected_names */
	char **unprotect;       /* of mor_protected_names: these may be written */
	char **policy_files;    /* absolute: what the permissions came from; never to be written */
	char *undo_home;        /* absolute: where others keep what they need to undo; never to be written */
	char **command_files;   /* absolute: files that its command names; never to be written */
	struct mor_limits limits;
	/* after the host's death; both 0: the guardian's default, half a second each */
	struct mor_grace grace;
	unsigned
		landlock_abi_cap; /* for tests: pretend that the kernel has only this ABI; 0: use what it has */
	bool learn;      /* t0: what it asks for is allowed and told, except writes outside the workspace */
	bool unconfined; /* somebody explicitly asked for no confinement: a warning every time */
	enum mor_policy_source source;
	bool never_spawn;     /* plugin.toml: nothing can allow it; set this before any mor_policy_set() */
	bool workspace_later; /* each run names its workspace: until then no workspace is known */
	bool level_given;     /* set by a key; else the dialect's default is used */
	bool on_denial_given; /* the same */
	bool always_kill;     /* its specification knows no other way: set it before any mor_policy_set() */
	bool rules_given;     /* a key was set that needs confinement */
};

/* clang-format off */
#define MOR_POLICY_INIT { 0 }
/* clang-format on */
void mor_policy_fini(struct mor_policy *policy);

/* ---- The table of all keys. Reading, texts, JSON and the limits of `mortise jail` use it. ---- */

enum mor_policy_type {
	MOR_POLICY_LEVEL,    /* enum mor_level                                                    */
	MOR_POLICY_DENIAL,   /* enum mor_on_denial                                                */
	MOR_POLICY_BOOL,     /* bool                                                              */
	MOR_POLICY_PATH,     /* char *: absolute, or ~/ for one below $HOME; "": none             */
	MOR_POLICY_PATHS,    /* char **: each mor_policy_set() adds one                           */
	MOR_POLICY_NAMES,    /* char **: relative, no "..": each adds one                         */
	MOR_POLICY_NETWORK,  /* struct mor_network: "true", "false", or each adds places           */
	MOR_POLICY_BYTES,    /* uint64_t                                                          */
	MOR_POLICY_SECONDS,  /* uint32_t: a duration, rounded up to seconds                       */
	MOR_POLICY_DURATION, /* uint32_t: a duration in ms                                        */
	MOR_POLICY_COUNT     /* uint32_t                                                          */
};

enum mor_policy_flags {
	MOR_POLICY_SETTING = 1 << 0, /* a key of [sandbox]; others are set by the code that makes the policy */
	MOR_POLICY_RULE = 1 << 1,    /* needs confinement: setting it asks for confinement */
	MOR_POLICY_LIMIT = 1 << 2    /* --limit name=value                                                 */
};

struct mor_policy_key {
	const char *name; /* NULL ends the table */
	enum mor_policy_type type;
	unsigned flags;
	size_t offset;       /* offset of the field in struct mor_policy */
	const char *def;     /* default of a confined plugin, as a user would write it; NULL: none */
	const char *foreign; /* its name in plugin.toml and sunscreen-plugin.json, or NULL */
	const char *text;    /* for people: for a bool if it is true, else with the value as %s */
	const char *text_no; /* ... if it is false or absent; NULL: print nothing */
};
extern const struct mor_policy_key mor_policy_keys[];
const struct mor_policy_key *mor_policy_key(const char *name); /* NULL: no such key */

/* Sets one key. `value` as in mortise.toml ("64MiB", "true", a path). Lists grow by one element per call;
 * NULL makes a list empty. 0, MORTISE_ENOMEM, or MORTISE_EMANIFEST with "KEY is VALUE: it must be ...". */
int mor_policy_set(struct mor_policy *policy, const char *key, const char *value, mortise_error *err);
/* Call it after the last key. Sets the level if no key has set it (rules ask for confinement; else
 * `confined` says what the dialect wants), and refuses contradictions. */
int mor_policy_finish(struct mor_policy *policy, bool confined, mortise_error *err);

/* Looks up the names in network.to, once: it may take as long as the name service does. Call it before each
 * start. 0, MORTISE_ENOMEM, or MORTISE_EJAIL with the name and why. */
int mor_policy_look_up(struct mor_policy *policy, mortise_error *err);

static inline bool mor_policy_confined(const struct mor_policy *policy)
{
	return policy->level != MOR_LEVEL_GUARDED;
}
/* The limits in force. A field with 0 gets the default of the level; 0 after that means no limit. */
struct mor_limits mor_policy_limits(const struct mor_policy *policy);
/* May everything below `path` (absolute, without links) be read? Workspace, plugin directory, read, scratch. */
bool mor_policy_covers(const struct mor_policy *policy, const char *path);
/* Is the plugin's directory where it may write? Then it can change what runs next time. */
bool mor_policy_writes_own_code(const struct mor_policy *policy);
/* NULL-terminated: the policy's, or the default. */
const char *const *mor_policy_protected(const struct mor_policy *policy);

/* The limits that somebody has set, for error texts: "sandbox.memory 256 MiB, sandbox.files 32".
 * Nothing: none. */
int mor_policy_limits_set(const struct mor_policy *policy, struct mor_buf *out);
/* An object: one member per key with the value in force (null: none), "unconfined", and "text", an array of
 * lines for people, one per permission. They never claim more than is enforced. */
int mor_policy_json(const struct mor_policy *policy, struct mor_buf *out);
/* "name tried to read /home/u/id.json: not in declared_paths; to allow it, add ...". One line for people:
 * what it tried, on which object, which permission is missing, and what to type to allow it. */
struct mor_violation {
	const char *plugin, *syscall, *path, *rule; /* rule: as the guardian sent it, or as words */
	enum mor_policy_source source;
	const struct mor_forbidden_row *row; /* NULL: the kind is not known */
	bool denied;                         /* it was refused; else it has killed */
};
/* The text for a rule of the guardian. */
const char *mor_violation_rule(enum mor_policy_source source, const char *rule);
int mor_violation_text(const struct mor_violation *violation, struct mor_buf *out);
/* Parts of it: "read /home/u/id.json"; "add ..." or nothing. */
void mor_violation_deed(const struct mor_violation *violation, struct mor_buf *out);
void mor_violation_cure(const struct mor_violation *violation, struct mor_buf *out);
/* "syscall":...,"path":...,"rule":...,"kind":...,"allow":... */
void mor_violation_members(const struct mor_violation *violation, struct mor_buf *out);
/* {"event":"sandbox_violation","plugin":...,(the members),"action":"killed" or "denied"} */
int mor_violation_json(const struct mor_violation *violation, struct mor_buf *out);

#endif
