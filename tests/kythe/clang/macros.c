// The preprocessor: definitions, expansions, questions, inclusions.
//- @"\"macros.h\"" ref/includes Header
//- Header.node/kind file
//- Header.text _
#include "macros.h"
//- @"<stddef.h>" ref/includes Stddef
//- Stddef.node/kind file
#include <stddef.h>

//- @TWICE defines/binding Twice
//- Twice.node/kind macro
#define TWICE(x) ((x) * 2)

//- @TWICE ref/expands Twice
//- @FROM_HEADER ref/expands _FromHeader
int four = TWICE(FROM_HEADER);

//- @__LINE__ ref/expands vname("__LINE__#m@builtin", _, _, _, _)
int line = __LINE__;

//- @TWICE ref/queries Twice
#ifdef TWICE
//- @TWICE ref/queries Twice
#if defined(TWICE) && !defined NOT_THERE
//- @yes defines/binding _
int yes;
#else
int no;
#endif
#endif

//- @TWICE undefines Twice
#undef TWICE

//- @TWICE defines/binding Again
#define TWICE(x) (x)
//- @TWICE ref/expands Again
int five = TWICE(5);

//- @declared ref Declared
//- Declared.complete incomplete
int unused = sizeof(declared);

//- !{ @int ref _ }
/* an int in a comment */
//- !{ @int ref _ }
const char *words = "int";
//- @size_t ref SizeT
//- SizeT.node/kind talias
size_t from_system;

// Macros behind macros.
//- @INNERMOST defines/binding Innermost
#define INNERMOST 1
//- @CALLED defines/binding Called
#define CALLED(x) ((x) + INNERMOST)
//- @OUTERMOST defines/binding Outermost
#define OUTERMOST CALLED(2) + /* NOT_THIS */ "NOT_THIS"
#define NOT_THIS 3
//- @PASTED defines/binding Pasted
#define PASTED(INNERMOST) INNERMOST ## NOT_THIS
//- @OUTERMOST ref/expands Outermost
//- @OUTERMOST ref/expands/transitive Called
//- @OUTERMOST ref/expands/transitive Innermost
//- !{ @OUTERMOST ref/expands/transitive Outermost }
//- !{ @OUTERMOST ref/expands Called }
const char *deep = &(OUTERMOST)[0];
//- @CALLED ref/expands Called
//- @CALLED ref/expands/transitive Innermost
int shallow = CALLED(4);
//- @PASTED ref/expands Pasted
//- !{ @PASTED ref/expands/transitive _ }
int PASTED(one_);
//- @#0SELF defines/binding Self
#define SELF SELF
//- @SELF ref/expands Self
//- !{ @SELF ref/expands/transitive _ }
int SELF;
