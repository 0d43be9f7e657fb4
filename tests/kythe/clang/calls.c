// Calls and functions of every shape.
//- @plain defines/binding Plain
static int plain(int n) { return n; }

//- @old defines/binding Old
//- Old.node/kind function
//- Old.complete definition
//- Old param.0 A
//- Old param.1 B
//- @+4b defines/binding B
//- @+2a defines/binding A
int old(a, b)
	int a;
	char *b;
{
	//- @a ref A
	//- @b ref B
	return a + *b;
}

//- @unspecified defines/binding Unspecified
//- Unspecified typed vname("knrfn#builtin", _, _, _, _)
int unspecified();

//- @variadic defines/binding Variadic
//- Variadic typed VarType
//- VarType param.0 vname("fnvararg#builtin", _, _, _, _)
int variadic(const char *format, ...);

//- @CALL defines/binding Call
#define CALL(x) plain(x)
#define TWO() (plain(1), plain(2))

struct table {
	//- @action defines/binding Action
	//- Action.subkind field
	//- Action typed ActionType
	//- ActionType param.0 vname("ptr#builtin", _, _, _, _)
	int (*action)(int);
};

//- @run defines/binding Run
int run(struct table *t, int (*callback)(int))
{
	//- @action ref Action
	//- !{ @"t->action(1)" ref/call _ }
	int sum = t->action(1);
	//- @callback ref _Callback
	//- !{ @"callback(2)" ref/call _ }
	sum += callback(2);
	//- @#0"plain" ref Plain
	//- @"plain(plain(3))" ref/call Plain
	//- @#1"plain" ref Plain
	//- @"plain(3)" ref/call Plain
	//- @"plain(3)" childof Run
	sum += plain(plain(3));
	// A call that a macro makes stands where the macro is used.
	//- @CALL ref/expands Call
	//- @"CALL(4)" ref/call Plain
	//- @"CALL(4)" childof Run
	sum += CALL(4);
	//- @"TWO()" ref/call Plain
	sum += TWO();
	//- @"(plain)(5)" ref/call Plain
	sum += (plain)(5);
	//- @plain ref Plain
	//- !{ @plain ref/call _ }
	callback = plain;
	//- @"plain(6)" ref/call Plain
	sum += ({ int inner = plain(6); inner; });
	return sum;
}
