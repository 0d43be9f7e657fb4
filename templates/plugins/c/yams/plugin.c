#include <string.h>

#include <tenon/tenon.h>

/* The first line of a note is its title. */
static int extract(tenon_call *call)
{
	size_t len, title;
	const char *text = tenon_source(call, 16 << 20, &len);

	if (!text)
		return -1; /* the library has said why */
	title = strcspn(text, "\n");
	tenon_object(call, NULL);
	tenon_put_str(call, "content", text + title + (text[title] == '\n'));
	tenon_object(call, "metadata");
	tenon_put_text(call, "title", text, title);
	tenon_end(call);
	tenon_end(call);
	return tenon_done(call);
}

int main(void)
{
	return tenon_run(&(tenon_plugin){ "@NAME@", "0.1.0", "The text of notes", .extract = extract,
					  .formats = "text/x-note", .extensions = ".note" });
}
