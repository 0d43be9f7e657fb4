// Who reads and who writes.
//- @counter defines/binding Counter
static int counter;

struct pair {
	//- @left defines/binding Left
	int left;
	//- @right defines/binding Right
	int right;
};

int change(struct pair *p, int *q)
{
	//- @local defines/binding Local
	//- Local.subkind local
	int local;

	//- @counter ref/writes Counter
	//- !{ @counter ref Counter }
	counter = 1;
	//- @counter ref Counter
	//- @counter ref/writes Counter
	counter += 2;
	//- @counter ref Counter
	//- @counter ref/writes Counter
	counter++;
	//- @counter ref/writes Counter
	--counter;
	//- @counter ref Counter
	//- !{ @counter ref/writes Counter }
	//- @local ref/writes Local
	local = counter;
	//- @left ref/writes Left
	//- !{ @left ref Left }
	//- @right ref Right
	p->left = p->right;
	//- @local ref/writes Local
	//- @counter ref/writes Counter
	(local) = counter = 3;
	//- @local ref Local
	//- !{ @local ref/writes Local }
	q[local] = 4;
	//- @local ref Local
	//- !{ @local ref/writes Local }
	return local == 5;
}

struct rows {
	//- @cell defines/binding Cell
	int cell[4];
};

//- @through defines/binding _
//- @target defines/binding Target
void through(int *target, struct rows *rows, int i)
{
	// What a pointer points to is written, and the pointer is read.
	//- @target ref/writes Target
	//- @target ref Target
	*target = 1;
	//- @target ref/writes Target
	*target += 1;
	// Of an array a part.
	//- @target ref/writes/partial Target
	//- @target ref Target
	//- !{ @target ref/writes _ }
	//- @i ref _
	target[i] = 2;
	//- @cell ref/writes/partial Cell
	//- !{ @rows ref/writes _ }
	//- !{ @rows ref/writes/partial _ }
	rows->cell[i] = 3;
	//- @cell ref/writes/partial Cell
	rows[0].cell[i]++;
	// Nobody knows what this writes.
	//- @target ref Target
	//- !{ @target ref/writes _ }
	*(target + 1) = 4;
}
