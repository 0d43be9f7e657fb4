#ifndef ACROSS_H
#define ACROSS_H
//- @shared defines/binding SharedDecl
//- SharedDecl.complete incomplete
//- SharedDecl completedby Shared
int shared(int);
//- @box defines/binding BoxDecl
//- BoxDecl completedby Box
struct box;
//- @level defines/binding LevelDecl
//- LevelDecl.complete incomplete
//- LevelDecl completedby Level
extern int level;
//- @inlined defines/binding Inlined
//- Inlined.complete definition
static inline int inlined(void)
{
	//- @"shared(1)" ref/call Shared
	//- @"shared(1)" childof Inlined
	return shared(1);
}
#endif
