// Where names stand in expressions that are not everyday ones.
enum colour {
	//- @RED defines/binding Red
	//- Red.node/kind constant
	//- Red.text 0
	//- Red childof Colour
	RED,
	//- @BLUE defines/binding Blue
	//- Blue.text 7
	BLUE = 7,
	//- @NEGATIVE defines/binding Negative
	//- Negative.text "-1"
	NEGATIVE = -1
};
//- @colour ref Colour
//- @favourite defines/binding Favourite
//- Favourite typed Colour
enum colour favourite;

//- @point defines/binding Point
struct point {
	//- @x defines/binding X
	int x;
	//- @y defines/binding Y
	int y;
	//- @+2deep defines/binding Deep
	struct {
		int deep;
	} inner;
};

//- @global defines/binding Global
struct point global = {
	//- @x ref/writes X
	//- !{ @x ref X }
	.x = 1,
	//- @y ref/writes Y
	//- @"2" ref/init Y
	.y = 2,
};

//- @nested defines/binding _
struct point nested = {
	//- @deep ref/writes Deep
	.inner = { .deep = 3 },
};

//- @points defines/binding _
struct point points[] = {
	//- @x ref/writes X
	[1] = { .x = 4 },
	//- @y ref/writes Y
	[BLUE].y = 5,
};

//- @length defines/binding Length
int length(struct point *p)
{
	//- @x ref X
	//- @y ref Y
	return p->x + p->y;
}

//- @whole defines/binding _
int whole(enum colour c)
{
	//- @local defines/binding Local
	//- Local.subkind local
	int local = 0;

	switch (c) {
	//- @RED ref Red
	case RED: break;
	//- @BLUE ref Blue
	case BLUE:
		//- @local ref/writes Local
		local = 1;
		break;
	//- @NEGATIVE ref Negative
	case NEGATIVE: break;
	}
	//- @point ref Point
	//- @x ref/writes X
	//- @"length(&(struct point){ .x = 6 })" ref/call Length
	local += length(&(struct point){ .x = 6 });
	//- @#1local ref Local
	//- @global ref Global
	//- @"length(&global)" ref/call Length
	local += _Generic(local, int: length(&global), default: 0);
	//- @#0shadow defines/binding Shadow
	//- @#1shadow ref Shadow
	local += ({ int shadow = 1; shadow; });
	return local + (int)sizeof(struct point);
}
