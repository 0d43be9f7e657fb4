// Functions: declarations, definitions, parameters, what completes what.
//- @add defines/binding AddDecl
//- AddDecl.node/kind function
//- AddDecl.complete incomplete
//- AddDecl completedby Add
//- AddDecl named Symbol
//- Symbol = vname(add, "", "", "", csymbol)
int add(int a, int b);

//- @add defines/binding Add
//- @"int add(int a, int b) { return a + b; }" defines Add
//- Add.node/kind function
//- Add.complete definition
//- Add named Symbol
//- @#1"int a" defines A
//- @"int b" defines B
//- Add param.0 A
//- Add param.1 B
//- A.node/kind variable
//- A.subkind "local/parameter"
//- !{ Add param.2 _ }
int add(int a, int b) { return a + b; }

//- @helper defines/binding Helper
//- !{ Helper named _ }
static int helper(void) { return 0; }

//- @user defines/binding User
int user(void)
{
	//- @add ref Add
	//- @"add(1, 2)" ref/call Add
	//- @"add(1, 2)" childof User
	//- @"helper()" ref/call Helper
	return add(1, 2) + helper();
}

//- @pointer defines/binding Pointer
//- Pointer typed PtrFn
//- PtrFn.node/kind tapp
//- PtrFn param.0 vname("ptr#builtin", _, _, _, _)
int (*pointer)(int, int) =
	//- @add ref Add
	add;

int through(void)
{
	//- @pointer ref Pointer
	//- !{ @"pointer(1, 2)" ref/call _ }
	return pointer(1, 2);
}
