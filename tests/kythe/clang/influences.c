// What influences what, as the program runs.
//- @callee defines/binding CalleeDecl
//- @p defines/binding PDecl
int callee(int p);

//- @callee defines/binding Callee
//- @p defines/binding P
//- PDecl influences P
//- Callee influences CalleeDecl
int callee(int p)
{
	//- P influences Callee
	return p + 1;
}

struct pair {
	//- @left defines/binding Left
	int left;
	//- @right defines/binding Right
	int right;
};

//- @unused defines/binding Unused
int unused;

//- @flow defines/binding Flow
//- @given defines/binding In
//- @out defines/binding Out
int flow(int given, struct pair *pair, int *out)
{
	//- @x defines/binding X
	int x = 0;
	//- @y defines/binding Y
	//- X influences Y
	//- @x ref/init Y
	int y = x;
	//- @z defines/binding Z
	int z;
	//- @array defines/binding Array
	int array[3];

	//- In influences Z
	//- Z influences Y
	//- !{ In influences Y }
	//- !{ Y influences In }
	y = z = given;
	//- @w defines/binding W
	int w = 0;
	//- Y influences P
	//- Callee influences W
	//- !{ Y influences W }
	w = callee(y);
	//- In influences W
	//- !{ W influences In }
	w += given;
	//- Right influences Left
	//- !{ @#0pair ref/writes _ }
	pair->left = pair->right;
	//- Left influences Array
	array[x] = pair->left;
	//- !{ Unused influences _ }
	x = (int)sizeof(unused);
	// Pointers are not followed.
	//- @out ref/writes Out
	//- @out ref Out
	//- !{ X influences Out }
	*out = x;
	//- @value defines/binding V
	int value;
	//- @value ref/writes V
	//- !{ @value ref V }
	//- W influences V
	*(&value) = w;
	//- V influences Flow
	//- Array influences Flow
	return value ? array[0] : 1;
}
