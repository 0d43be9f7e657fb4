// Comments that document.
//- Doc.node/kind anchor
//- Doc.loc/start @^:7"/** Opens"
//- Doc.loc/end @$:8"*/"
//- Doc documents Open
//- @+3open defines/binding Open
/** Opens the door.
 *  Slowly. */
void open(void);

struct door {
	//- @width defines/binding Width
	//- WidthDoc documents Width
	//- WidthDoc.node/kind anchor
	int width; /**< how wide */
};

/* Not for documentation. */
//- @closed defines/binding Closed
//- !{ _ documents Closed }
int closed;

//- @count ref/doc Count
//- @open ref/doc Open
//- @fill ref/doc Fill
//- !{ @nobody ref/doc _ }
//- @+3"fill" defines/binding Fill
//- @+2"count" defines/binding Count
/// Fills `count` buckets, other than `open`; `nobody` knows why. See `fill()`.
int fill(int count);
