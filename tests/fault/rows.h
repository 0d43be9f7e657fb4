/* SPDX-License-Identifier: Apache-2.0 */
/* The table: what is required of each fault in each phase. Included by matrix.c alone. */

static const struct row rows[] = {
	/* fault             start             call              idle              stop */
	{ "crash",         { CRASHED,          CRASHED,          DIES | OK,        OK }, { 0 }, "SIGSEGV" },
	{ "exit_0",        { CRASHED,          CRASHED,          DIES | OK,        OK }, { 0 }, "exited" },
	{ "exit_3",        { CRASHED,          CRASHED,          DIES | OK,        OK }, { 0 }, "cannot go on" },
	{ "hang",          { LATE,             LATE,             LATE,             OK }, { 0 }, NULL },
	{ "drip",          { LATE,             LATE,             LATE,             OK }, { 0 }, NULL },
	{ "late",          { LATE,             LATE,             NONE,             OK }, { 0 }, NULL },
	{ "partial",       { CRASHED,          CRASHED,          DIES | OK,        OK }, { 0 }, NULL },
	{ "banner",        { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "not_object",    { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "wrong_version", { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "neither",       { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "both",          { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "bad_utf8",      { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "nul",           { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "surrogate",     { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "bom",           { ANSWER | LATE,    LATE,             OK,               OK }, { 0 }, NULL },
	{ "deep",          { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "twice_a_key",   { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "huge_number",   { ANSWER | BREACH,  BREACH,           OK,               OK }, { 0 }, NULL },
	{ "too_big",       { ANSWER | LIMIT,   LIMIT,            OK | LIMIT,             OK }, { 0 }, "64 KiB" },
	{ "flood",         { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "endless_flood", { STUBBORN | LATE,  STUBBORN | LATE,  STUBBORN | LATE,  OK }, { "limits.session=2s" }, NULL },
	{ "duplicate",     { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "unknown_id",    { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "string_id",     { ANSWER | LATE,          LATE,             OK,               OK }, { 0 }, NULL },
	{ "null_id",       { ANSWER | LATE,          LATE,             OK,               OK }, { 0 }, NULL },
	{ "large_ids",     { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "early",         { OK,               OK,               NONE,             OK }, { 0 }, NULL },
	{ "asks",          { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "batch",         { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "stderr_flood",  { OK,               OK,               OK,               OK }, { 0 }, NULL },
	{ "never_reads",   { LATE,             LATE,             LATE,             OK }, { 0 }, NULL },
	{ "closes_stdin",  { UNSURE | OK | CRASHED, UNSURE | OK,  DIES | OK,        OK }, { 0 }, NULL },
	{ "deaf",          { LATE | CRASHED,   LATE,             LATE | CRASHED | CLOSED, OK }, { 0 }, NULL },
	{ "closes_stdout", { CRASHED,          CRASHED,          DIES | OK,        OK }, { 0 }, NULL },
	{ "grandchild",    { CRASHED,          CRASHED,          DIES | OK,        OK }, { 0 }, NULL },
	{ "stops_itself",  { LATE,             LATE,             LATE,             OK }, { 0 }, NULL },
	{ "lingers",       { NONE,             NONE,             NONE,             OK }, { 0 }, NULL },
};

/* Where a dialect's own rules say otherwise. */
struct exception {
	const char *tongue; /* its name's beginning */
	const char *fault;
	unsigned phases, want;
};
#define IN(phase) (1U << AT_##phase)
#define ALWAYS (IN(START) | IN(CALL) | IN(IDLE) | IN(STOP))
static const struct exception exceptions[] = {
	/* A greeting that is no message is final where the dialect needs it, and passed over where it does not. */
#define GREETING(tongue, wanted, limit)                                                                       \
	{ tongue, "neither", IN(START), wanted }, { tongue, "both", IN(START), wanted }, { tongue, "bad_utf8", IN(START), wanted },  \
	{ tongue, "nul", IN(START), wanted }, { tongue, "surrogate", IN(START), wanted }, { tongue, "deep", IN(START), wanted },    \
	{ tongue, "twice_a_key", IN(START), wanted }, { tongue, "huge_number", IN(START), wanted },                             \
	{ tongue, "too_big", IN(START), limit }
	GREETING("yams", BREACH | FINAL, LIMIT | FINAL),
	GREETING("gassist", BREACH | FINAL, LIMIT | FINAL),
	GREETING("ayiou", OK, LIMIT | FINAL),
	GREETING("sunscreen", OK, LIMIT | FINAL),
	/* A version that is not ours is taken with a warning. */
	{ "yams", "wrong_version", IN(START) | IN(CALL), OK },
	{ "ayiou", "wrong_version", IN(START) | IN(CALL), OK },
	{ "gassist", "wrong_version", IN(START) | IN(CALL), OK },
	{ "sunscreen", "wrong_version", IN(START) | IN(CALL), OK },
	/* An error with id null fails the only call. */
	{ "yams", "null_id", IN(START), REMOTE | FINAL },
	{ "yams", "null_id", IN(CALL), REMOTE },
	{ "yams", "null_id", IN(IDLE), OK | REMOTE },
	{ "gassist", "null_id", IN(START), REMOTE | FINAL },
	{ "gassist", "null_id", IN(CALL), REMOTE },
	{ "gassist", "null_id", IN(IDLE), OK | REMOTE },
	{ "sunscreen", "null_id", IN(CALL), REMOTE },
	{ "gassist", "string_id", IN(CALL), OK }, /* its note speaks of the only call */
	/* Silence in a greeting that nobody needs. */
	{ "ayiou", "late", IN(START), OK },
	{ "ayiou", "bom", IN(START), OK },
	{ "ayiou", "string_id", IN(START), OK },
	{ "ayiou", "null_id", IN(START), OK },
	{ "sunscreen", "late", IN(START), OK },
	{ "sunscreen", "bom", IN(START), OK },
	{ "sunscreen", "string_id", IN(START), OK },
	{ "sunscreen", "null_id", IN(START), OK },
	/* One call, one process: how it ends counts, and whatever it says besides. */
#define AFTER(fault, wanted) { "sunscreen-json", fault, IN(STOP), wanted }
	{ "sunscreen-json", "exit_0", IN(START) | IN(CALL), BREACH },
	{ "sunscreen-json", "partial", IN(START) | IN(CALL), BREACH },
	{ "sunscreen-json", "bom", IN(CALL), BREACH },
	{ "sunscreen-json", "string_id", IN(CALL), OK },
	{ "sunscreen-json", "wrong_version", IN(CALL), BREACH },
	{ "sunscreen-json", "duplicate", IN(START), OK | LOOSE },
	{ "sunscreen-json", "unknown_id", IN(START), OK | LOOSE },
	{ "sunscreen-json", "string_id", IN(START), OK | LOOSE },
	{ "sunscreen-json", "large_ids", IN(START), OK | LOOSE },
	{ "sunscreen-json", "early", IN(START), OK | LOOSE },
	{ "sunscreen-json", "batch", IN(START), OK | LOOSE },
	{ "sunscreen-json", "null_id", IN(START), REMOTE },
	{ "sunscreen-json", "too_big", IN(START), LIMIT },
	{ "sunscreen-json", "closes_stdin", IN(START), BREACH },
	{ "sunscreen-json", "closes_stdout", IN(START) | IN(CALL) | IN(STOP), LATE }, /* its exit is waited for */
	{ "sunscreen-json", "endless_flood", IN(START) | IN(CALL) | IN(STOP), LATE },
	AFTER("never_reads", LATE), AFTER("deaf", LATE), AFTER("grandchild", CRASHED), AFTER("stops_itself", LATE), AFTER("lingers", LATE),
	AFTER("crash", CRASHED), AFTER("exit_3", CRASHED), AFTER("hang", LATE), AFTER("drip", LATE), AFTER("wrong_version", BREACH),
	AFTER("neither", BREACH), AFTER("both", BREACH), AFTER("bad_utf8", BREACH), AFTER("nul", BREACH), AFTER("surrogate", BREACH),
	AFTER("deep", BREACH), AFTER("twice_a_key", BREACH), AFTER("huge_number", BREACH), AFTER("too_big", LIMIT),
	/* Kythe: what is no frame ends the session. */
	{ "kythe", "banner", IN(START) | IN(CALL), BREACH },
	{ "kythe", "banner", IN(IDLE), DIES | OK },
	{ "kythe", "batch", IN(CALL), BREACH },
	{ "kythe", "flood", IN(START), BREACH },
	{ "kythe", "asks", IN(START), BREACH },
	/* It answers nothing of ours: replies of its are passed over, and what it says before its greeting is none. */
	GREETING("kythe", OK, LIMIT),
	{ "kythe", "wrong_version", IN(START), OK },
	{ "kythe", "bom", IN(START), OK },
	{ "kythe", "string_id", IN(START), OK },
	{ "kythe", "null_id", IN(START), OK },
};
