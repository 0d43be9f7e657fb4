// A header and its source: declarations there are completed here, and both sides are one graph.
//- @"\"across.h\"" ref/includes Header
//- Header.node/kind file
#include "across.h"

//- @box defines/binding Box
//- Box.complete definition
struct box {
	int side;
};

//- @level defines/binding Level
//- Level.complete definition
int level = 3;

//- @shared defines/binding Shared
//- Shared.complete definition
int shared(int n)
{
	//- @level ref Level
	//- @"inlined()" ref/call Inlined
	//- @"inlined()" childof Shared
	return n ? inlined() : level;
}
