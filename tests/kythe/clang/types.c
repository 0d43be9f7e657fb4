// Types: built-in ones, pointers, arrays, functions, qualifiers, aliases, enums.
//- @"unsigned long" ref ULong
//- ULong.node/kind tbuiltin
//- ULong = vname("unsigned long#builtin", "", "", "", _)
//- @size defines/binding Size
//- Size.node/kind talias
//- Size aliases ULong
typedef unsigned long size;

//- @"long unsigned int" ref ULong
//- @same defines/binding Same
//- Same typed ULong
long unsigned int same;

//- @size ref Size
//- @count defines/binding Count
//- Count typed Size
//- Count.node/kind variable
//- Count.complete definition
size count;

//- @int ref Int
//- @array defines/binding Array
//- Array typed ArrayType
//- ArrayType.node/kind tapp
//- ArrayType param.0 vname("carr#builtin", _, _, _, _)
//- ArrayType param.1 Int
int array[4];

//- @char ref Char
//- @text defines/binding Text
//- Text typed PtrConstChar
//- PtrConstChar param.0 vname("ptr#builtin", _, _, _, _)
//- PtrConstChar param.1 ConstChar
//- ConstChar param.0 vname("const#builtin", _, _, _, _)
//- ConstChar param.1 Char
const char *text;

//- @print defines/binding Print
//- Print typed PrintType
//- PrintType.node/kind tapp
//- PrintType param.0 vname("fnvararg#builtin", _, _, _, _)
//- PrintType param.1 Void
//- @void ref Void
//- PrintType param.2 PtrConstChar
void print(const char *format, ...);

//- @old defines/binding Old
//- Old typed vname("knrfn#builtin", _, _, _, _)
int old();

//- @exact defines/binding Exact
//- Exact typed ExactType
//- ExactType param.0 vname("fn#builtin", _, _, _, _)
//- ExactType param.1 Int
//- !{ ExactType param.2 _ }
int exact(void);

//- @color defines/binding Color
//- Color.node/kind sum
//- Color.subkind enum
//- Color.complete definition
enum color {
	//- @RED defines/binding Red
	//- Red.node/kind constant
	//- Red.text 0
	//- Red childof Color
	RED,
	//- @GREEN defines/binding Green
	//- Green.text 5
	GREEN = 5,
};

//- @color ref Color
//- @paint defines/binding Paint
//- Paint typed Color
//- @GREEN ref Green
enum color paint = GREEN;

//- @#1size ref Size
unsigned long bytes(void) { return sizeof(size); }

//- @announced defines/binding Announced
//- Announced.complete incomplete
extern int announced;

//- @first_alias defines/binding FirstAlias
//- FirstAlias aliases Int
//- FirstAlias aliases/root Int
//- @int ref Int
typedef int first_alias;
//- @second_alias defines/binding SecondAlias
//- SecondAlias aliases FirstAlias
//- SecondAlias aliases/root Int
typedef first_alias second_alias;
