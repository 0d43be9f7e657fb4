// Structs and unions: fields, forward declarations, anonymous ones, initialisers.
//- @list defines/binding ListDecl
//- ListDecl.node/kind record
//- ListDecl.complete incomplete
//- ListDecl completedby List
struct list;

//- @list defines/binding List
//- List.node/kind record
//- List.subkind struct
//- List.complete definition
struct list {
	//- @next defines/binding Next
	//- @list ref List
	//- Next.node/kind variable
	//- Next.subkind field
	//- Next childof List
	//- Next typed PtrList
	//- PtrList.node/kind tapp
	//- PtrList param.0 vname("ptr#builtin", _, _, _, _)
	//- PtrList param.1 List
	struct list *next;
	//- @value defines/binding Value
	//- Value childof List
	//- Value typed vname("int#builtin", "", "", "", _)
	int value;
	//- @union defines/binding Choice
	//- Choice.node/kind record
	//- Choice.subkind union
	//- Choice childof List
	union {
		//- @number defines/binding Number
		//- Number childof Choice
		long number;
	};
};

//- @never defines/binding NeverDecl
//- NeverDecl.complete incomplete
struct never;
//- @opaque defines/binding Opaque
//- Opaque typed PtrNever
//- PtrNever param.1 Never
//- Never.node/kind tnominal
struct never *opaque;

//- @first defines/binding _
//- @#0value ref/writes Value
//- @"41 + 1" ref/init Value
struct list first = { .value = 41 + 1 };

int get(struct list *l)
{
	//- @value ref Value
	//- @number ref Number
	return l->value + (int)l->number;
}

//- @outer defines/binding _
struct outer {
	//- @inner defines/binding Inner
	struct list inner;
};
//- @inner ref/writes Inner
//- @"{ .value = 7 }" ref/init Inner
//- @value ref/writes Value
//- @"7" ref/init Value
struct outer both = { .inner = { .value = 7 } };
