/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that walk over expressions share. For walk.c, write.c, init.c and flow.c. */
#ifndef KYTHE_CLANG_WALK_H
#define KYTHE_CLANG_WALK_H

#include "index.h"

enum access { READS, WRITES, READS_AND_WRITES, WRITES_A_PART };

struct step {
	struct index *ix;
	const tenon_vname *function; /* that it stands in, or NULL */
	CXCursor written;            /* the reference on the left of an assignment above, or null */
	enum access access;
	CXType list_type; /* of an initialiser in braces below; CXType_Invalid: not known */
};

/* walk.c: a CXCursorVisitor; `data` is a struct step. */
enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data);
void descend(const struct step *step, CXCursor cursor);
void emit_access(struct index *ix, const tenon_vname *at, enum access access, const tenon_vname *target);
/* The name as it is written at the reference: "x" of a.x, "foo" of struct foo. */
bool reference_range(struct index *ix, CXCursor cursor, CXCursor referenced, struct range *ret);
CXCursor callee_of(CXCursor call); /* a FunctionDecl, or what else is called */

/* ---- write.c: which expressions write what ---- */

struct write {
	enum access access; /* READS: it writes nothing, or nobody knows what */
	CXCursor reference; /* what is written: a DeclRefExpr or MemberRefExpr; else null */
	CXCursor value;     /* of an assignment; else null */
	bool through;       /* a pointer: the reference itself stays as it is */
};
struct write find_write(struct index *ix, CXCursor operator);

struct pair {
	CXCursor item[2];
	unsigned count;
};
struct pair children_of(CXCursor cursor); /* the first two, and how many there are */
CXCursor bare(CXCursor cursor);           /* (x) and casts that nobody wrote are x */

/* ---- init.c: initialisers in braces ---- */

void visit_list(const struct step *step, CXCursor list);
/* an UnexposedExpr, which may be .x = 1 or [2] = 1 */
void visit_element(const struct step *step, CXCursor cursor);
/* An expression that initialises something: its anchor, what it influences. */
void emit_init(struct index *ix, CXCursor expression, const tenon_vname *target);

/* ---- flow.c: data flow ---- */

void flow_into(struct index *ix, const tenon_vname *target, CXCursor expression);
void flow_into_parameters(struct index *ix, CXCursor call, CXCursor callee);
void flow_out(struct index *ix, const tenon_vname *function, CXCursor statement); /* a return */

#endif
