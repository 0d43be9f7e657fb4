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
