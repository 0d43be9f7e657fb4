/* SPDX-License-Identifier: Apache-2.0 */
/* The table: what is required of each fault in each phase. Included by matrix.c alone. README.md says where
 * each comes from. */

/* clang-format off */
#define ROW(row_name, start, call, idle, stop, ...) \
	{ .name = row_name, .want = { start, call, idle, stop }, __VA_ARGS__ }
static const struct row rows[] = {
	/*  row                start              call               idle                        stop */
	ROW("crash",            CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .text = "SIGSEGV"),
	ROW("exit_0",           CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .text = "exited"),
	ROW("exit_3",           CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .text = "cannot go on"),
	ROW("hang",             LATE,              LATE,              LATE,                       OK),
	ROW("drip",             LATE,              LATE,              LATE,                       OK),
	ROW("late",             LATE,              LATE,              NONE,                       OK,
	    .none = "nothing is awaited then"),
	ROW("partial",          CRASHED,           CRASHED,           DIES | OK,                  OK),
	ROW("banner",           OK,                OK,                OK,                         OK),
	ROW("not_object",       OK,                OK,                OK,                         OK),
	ROW("wrong_version",    ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("neither",          ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("both",             ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("bad_utf8",         ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("nul",              ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("surrogate",        ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("bom",              ANSWER | LATE,     LATE,              OK,                         OK),
	ROW("deep",             ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("twice_a_key",      ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("huge_number",      ANSWER | BREACH,   BREACH,            OK,                         OK),
	ROW("too_big",          ANSWER | LIMIT,    LIMIT,             OK | LIMIT,                 OK,
	    .text = "64 KiB"),
	ROW("flood",            OK,                OK,                OK,                         OK),
	ROW("endless_flood",    STUBBORN | LATE,   STUBBORN | LATE,   STUBBORN | LATE,            OK,
	    .bounded = true),
	ROW("duplicate",        OK,                OK,                OK,                         OK),
	ROW("unknown_id",       OK,                OK,                OK,                         OK),
	ROW("string_id",        ANSWER | LATE,     LATE,              OK,                         OK),
	ROW("null_id",          ANSWER | LATE,     LATE,              OK,                         OK),
	ROW("large_ids",        OK,                OK,                OK,                         OK),
	ROW("early",            OK,                OK,                NONE,                       OK,
	    .none = "that is unknown_id then"),
	ROW("asks",             OK,                OK,                OK,                         OK),
	ROW("batch",            OK,                OK,                OK,                         OK),
	ROW("stderr_flood",     OK,                OK,                OK,                         OK),
	ROW("never_reads",      LATE,              LATE,              LATE,                       OK,
	    .twist = &never_reads),
	ROW("closes_stdin",     UNSURE | OK | CRASHED, UNSURE | OK,       DIES | OK,                  OK),
	ROW("deaf",             LATE | CRASHED,    LATE,              LATE | CRASHED | CLOSED,    OK),
	ROW("closes_stdout",    CRASHED,           CRASHED,           DIES | OK,                  OK),
	ROW("grandchild",       CRASHED,           CRASHED,           DIES | OK,                  OK),
	ROW("stops_itself",     LATE,              LATE,              LATE,                       OK),
	ROW("lingers",          NONE,              NONE,              NONE,                       OK,
	    .none = "that is hang then"),
	/* what its own limits and rules do to it */
	ROW("violation",        VIOLATED | FINAL,  VIOLATED | FINAL,  DIES | VIOLATED | FINAL,    OK | FINAL,
	    .text = "/etc/shadow", .twist = &violates),
	ROW("memory",           CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .set = { "sandbox.memory=256MiB" }, .text = "memory"),
	ROW("files",            CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .set = { "sandbox.files=32" }, .text = "files"),
	ROW("cpu",              CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .set = { "sandbox.cpu=1s" }, .text = "processor time", .dear = true),
	/* what happens to its guardian */
	ROW("guardian_early",   CRASHED,           NONE,              NONE,                       NONE,
	    .text = "guardian lost", .twist = &guardian_early,
	    .none = "it has started by then: that is guardian_killed"),
	ROW("guardian_killed",  CRASHED,           CRASHED,           DIES | OK,                  OK,
	    .text = "guardian lost", .twist = &guardian_killed),
	/* what happens to the host */
#define NO_EXEC_THEN "nothing is executed then"
	ROW("exec_missing",     NOT_FOUND | FINAL, NONE,              NONE,                       NONE,
	    .text = "/program", .twist = &without_program, .none = NO_EXEC_THEN),
	ROW("exec_mode",        NO_EXEC | FINAL,   NONE,              NONE,                       NONE,
	    .text = "not executable", .twist = &not_executable, .none = NO_EXEC_THEN),
	ROW("exec_format",      NO_EXEC | FINAL,   NONE,              NONE,                       NONE,
	    .text = "/program", .twist = &no_format, .none = NO_EXEC_THEN),
	ROW("exec_interpreter", NO_EXEC | FINAL,   NONE,              NONE,                       NONE,
	    .text = "/no/such/interpreter", .twist = &no_interpreter, .none = NO_EXEC_THEN),
	ROW("no_descriptors",   LACKING,           OK,                OK,                         OK,
	    .twist = &no_descriptors),
	ROW("interrupted",      OK,                OK,                OK,                         OK,
	    .twist = &interrupted),
	ROW("clock_ahead",      OK,                OK,                OK,                         OK,
	    .twist = &clock_ahead),
	ROW("clock_back",       LATE,              LATE,              LATE,                       OK,
	    .twist = &clock_back),
#define NO_IDLE "the command stops its plugin as soon as it has the answer"
	ROW("signal_int",       OK,                OK,                NONE,                       OK,
	    .twist = &signal_int, .none = NO_IDLE),
	ROW("signal_term",      OK,                OK,                NONE,                       OK,
	    .twist = &signal_term, .none = NO_IDLE),
	ROW("signal_hup",       OK,                OK,                NONE,                       OK,
	    .twist = &signal_hup, .none = NO_IDLE),
	ROW("signal_twice",     OK,                OK,                NONE,                       OK,
	    .twist = &signal_twice, .none = NO_IDLE),
	ROW("host_killed",      OK,                OK,                OK,                         OK,
	    .twist = &host_killed),
	ROW("neighbour",        OK,                OK,                OK,                         OK,
	    .twist = &neighbour),
};
/* clang-format on */

/* Where a dialect's own rules say otherwise. */
struct exception {
	const char *tongue; /* its name's beginning */
	const char *row;
	unsigned phases, want;
};
#define IN(phase) (1U << AT_##phase)
#define ALWAYS    (IN(START) | IN(CALL) | IN(IDLE) | IN(STOP))
static const struct exception exceptions[] = {
/* A greeting that is no message is final where the dialect needs it, and passed over
 * where it does not. */
/* clang-format off */
#define GREETING(tongue, wanted, limit) \
	{ tongue, "neither", IN(START), wanted }, { tongue, "both", IN(START), wanted }, \
	{ tongue, "bad_utf8", IN(START), wanted }, { tongue, "nul", IN(START), wanted }, \
	{ tongue, "surrogate", IN(START), wanted }, { tongue, "deep", IN(START), wanted }, \
	{ tongue, "twice_a_key", IN(START), wanted }, { tongue, "huge_number", IN(START), wanted }, \
	{ tongue, "too_big", IN(START), limit }
	/* clang-format on */
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
	{ "ayiou", "late", IN(START), OK | UNHEARD },
	{ "ayiou", "bom", IN(START), OK | UNHEARD },
	{ "ayiou", "string_id", IN(START), OK | UNHEARD },
	{ "ayiou", "null_id", IN(START), OK | UNHEARD },
	{ "sunscreen", "late", IN(START), OK | UNHEARD },
	{ "sunscreen", "bom", IN(START), OK | UNHEARD },
	{ "sunscreen", "string_id", IN(START), OK | UNHEARD },
	{ "sunscreen", "null_id", IN(START), OK | UNHEARD },
/* One call, one process: how it ends counts, and whatever it says besides. */
/* clang-format off */
#define AFTER(fault, wanted) { "sunscreen-json", fault, IN(STOP), wanted }
	/* clang-format on */
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
	/* its exit is waited for */
	{ "sunscreen-json", "closes_stdout", IN(START) | IN(CALL) | IN(STOP), LATE },
	{ "sunscreen-json", "endless_flood", IN(START) | IN(CALL) | IN(STOP), LATE },
	/* clang-format off */
	AFTER("never_reads", LATE), AFTER("deaf", LATE), AFTER("grandchild", CRASHED),
	AFTER("stops_itself", LATE), AFTER("lingers", LATE), AFTER("crash", CRASHED),
	AFTER("exit_3", CRASHED), AFTER("hang", LATE), AFTER("drip", LATE), AFTER("wrong_version", BREACH),
	AFTER("neither", BREACH), AFTER("both", BREACH), AFTER("bad_utf8", BREACH), AFTER("nul", BREACH),
	AFTER("surrogate", BREACH), AFTER("deep", BREACH), AFTER("twice_a_key", BREACH),
	AFTER("huge_number", BREACH), AFTER("too_big", LIMIT), AFTER("violation", VIOLATED | FINAL),
	AFTER("memory", CRASHED), AFTER("files", CRASHED), AFTER("cpu", CRASHED),
	AFTER("guardian_killed", CRASHED), AFTER("clock_back", LATE),
	/* clang-format on */
	/* Its next start is one by name. */
	{ "kythe", "violation", IN(IDLE), DIES | OK },
	/* Kythe: what is no frame ends the session. */
	{ "kythe", "banner", IN(START) | IN(CALL), BREACH },
	{ "kythe", "banner", IN(IDLE), DIES | OK },
	{ "kythe", "batch", IN(CALL), BREACH },
	{ "kythe", "flood", IN(START), BREACH },
	{ "kythe", "asks", IN(START), BREACH },
	/* It answers nothing of ours: replies of its are passed over, and what it says before its
	 * greeting is no reply. */
	GREETING("kythe", OK, LIMIT),
	{ "kythe", "wrong_version", IN(START), OK },
	{ "kythe", "bom", IN(START), OK },
	{ "kythe", "string_id", IN(START), OK },
	{ "kythe", "null_id", IN(START), OK },
};
