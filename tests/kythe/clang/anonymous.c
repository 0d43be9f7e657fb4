// Records without names, self-reference, and types inside functions.
//- @outer defines/binding Outer
struct outer {
	//- @struct defines/binding Anonymous
	//- Anonymous.node/kind record
	//- Anonymous childof Outer
	struct {
		//- @first defines/binding First
		//- First childof Anonymous
		int first;
	};
	//- @union defines/binding Union
	//- Union.subkind union
	union {
		int a;
		float b;
	//- @named defines/binding Named
	//- Named typed Union
	} named;
};

//- @struct defines/binding Bare
//- @alias defines/binding Alias
//- Alias.node/kind talias
//- Alias aliases Bare
typedef struct { int q; } alias;

//- @enum defines/binding Enum
//- Enum.node/kind sum
//- @ONE defines/binding One
//- One childof Enum
enum { ONE = 1 };

// A macro that makes a record: its name is no keyword, and the record has no anchor there.
#define struct_of(type) struct { type held; }
//- !{ @struct defines/binding _Made }
typedef struct_of(int) made;

//- @get defines/binding Get
int get(struct outer *o)
{
	//- @inside defines/binding Inside
	//- Inside childof Get
	struct inside { int v; } in = { ONE };
	//- @#0alias ref Alias
	alias a;

	//- @q ref/writes _Q
	a.q = 1;
	//- @first ref First
	//- @named ref Named
	return o->first + o->named.a + in.v + a.q;
}
