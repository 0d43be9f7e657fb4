// Which expression initialises what.
struct inner {
	//- @a defines/binding A
	int a;
	//- @b defines/binding B
	int b;
};

struct outer {
	//- @first defines/binding First
	int first;
	//- @nested defines/binding Inner
	struct inner nested;
	//- @name defines/binding Name
	char name[8];
	//- @last defines/binding Last
	int last;
};

//- @"1" ref/init First
//- @"{ 2, 3 }" ref/init Inner
//- @"2" ref/init A
//- @"3" ref/init B
//- @"\"four\"" ref/init Name
//- @"5" ref/init Last
//- @positional defines/binding Positional
//- @"{ 1, { 2, 3 }, \"four\", 5 }" ref/init Positional
struct outer positional = { 1, { 2, 3 }, "four", 5 };

// What follows a designator is the field behind it.
//- @"\"six\"" ref/init Name
//- @"7" ref/init Last
struct outer designated = { .name = "six", 7 };

// Without braces the text alone does not tell; what came before is certain.
//- @"8" ref/init First
//- !{ @"9" ref/init _ }
//- !{ @"10" ref/init _ }
struct outer without_braces = { 8, 9, 10, "x" };

//- @"11" ref/init A
//- @"12" ref/init B
//- @"13" ref/init A
struct inner array[] = { { 11, 12 }, [4] = { 13 } };

int use(struct inner given)
{
	//- @given ref/init Inner
	//- @"14" ref/init First
	struct outer whole = { 14, given };
	//- @"15" ref/init A
	//- @"16" ref/init B
	struct inner *literal = &(struct inner){ 15, 16 };
	//- @"17" ref/init Scalar
	//- @scalar defines/binding Scalar
	int scalar = 17;

	return whole.first + literal->a + scalar;
}
