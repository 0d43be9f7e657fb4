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
