#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An analyzer asks for work, so its test needs a driver: mortise. */
int main(void)
{
	char line[4096], all[65536] = "";
	FILE *entries;

	assert(system("mortise kzip create -o test.kzip --language note --source example.note") == 0);
	entries = popen("mortise index test.kzip --analyzer . --format json", "r");
	assert(entries);
	while (fgets(line, sizeof(line), entries) && strlen(all) + strlen(line) < sizeof(all))
		strcat(all, line);
	assert(pclose(entries) == 0);
	assert(strstr(all, "/kythe/text") && strstr(all, "Shopping") && strstr(all, "/kythe/edge/childof"));
	remove("test.kzip");
	puts("passed");
	return 0;
}
