/*
 * For people who want to see: without --verbose and --show-wire a run that goes well is silent. Whatever
 * comes from a plugin is made printable first.
 */
#include "cli/watch.h"

#include "base/alloc.h"
#include "base/text.h"
#include "cli/output.h"

#define WIRE_SHOWN 4096 /* bytes of a message without --verbose: files travel inside them */

static const char *printable(const char *text, char *out, size_t size)
{
	return mor_printable(mor_slice_of(text ? text : ""), out, size);
}

static void tell_note(struct mor_cli *cli, const char *name, const mortise_event *event)
{
	char shown[800];

	mor_printable((struct mor_slice){ event->params.text, event->params.len }, shown, sizeof(shown));
	mor_note(cli, "%s: note %s %s", name, event->method ? event->method : "", shown);
}

static void tell_state(struct mor_cli *cli, const char *name, const mortise_event *event)
{
	char why[400];

	printable(event->text, why, sizeof(why));
	mor_note(cli, "%s: %s -> %s%s%s%s", name, mortise_state_name(event->previous), mortise_state_name(event->state),
		 *why ? " (" : "", why, *why ? ")" : "");
}

/* Without --verbose: what a plugin says against itself, and, to whoever asked for the letter, what breaks it. */
bool mor_watch_shows(const struct mor_cli *cli, const mortise_event *event)
{
	if (cli->verbose)
		return true;
	if (event->type == MORTISE_EVENT_WARNING)
		return cli->strict || event->method;
	return event->type == MORTISE_EVENT_HEALTH && event->method && event->count == 0;
}

/* The workers of a pool all say the same: once is enough. */
static bool is_told(struct mor_cli *cli, const char *name, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;
	size_t room = sizeof(cli->told) / sizeof(cli->told[0]);

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	for (size_t i = 0; i < room && i < cli->told_count; i++)
		if (cli->told[i] == hash)
			return true;
	cli->told[cli->told_count++ % room] = hash;
	return false;
}

static void warn(struct mor_cli *cli, const char *name, const mortise_event *event)
{
	char shown[800];

	printable(event->text, shown, sizeof(shown));
	if (!is_told(cli, name, shown))
		mor_note(cli, "%swarning%s: %s: %s%s", mor_style_err(cli, MOR_STYLE_WARN), mor_style_err_end(cli), name,
			 event->type == MORTISE_EVENT_HEALTH ? "health: " : "", shown);
}

/* A bar, not a colon, before the plugin's own stderr: those words are not ours. */
void mor_watch_event(const mortise_event *event, void *arg)
{
	struct mor_cli *cli = arg;
	const char *name = event->plugin ? mortise_plugin_name(event->plugin) : "mortise";
	char shown[2000];

	if (!cli->verbose && mor_watch_shows(cli, event))
		warn(cli, name, event);
	if (!cli->verbose)
		return;
	switch (event->type) {
	case MORTISE_EVENT_STATE:
		tell_state(cli, name, event);
		break;
	case MORTISE_EVENT_NOTE:
		tell_note(cli, name, event);
		break;
	case MORTISE_EVENT_VIOLATION: /* in words it comes once, with what fails */
		mor_note(cli, "%s: %.*s", name, (int)event->params.len, event->params.text);
		break;
	case MORTISE_EVENT_STDERR:
		mor_note(cli, "%s| %s", name, printable(event->text, shown, sizeof(shown)));
		break;
	default:
		mor_note(cli, "%s: %s%s%s: %s", name, mortise_event_name(event->type), event->level ? " " : "",
			 event->level ? event->level : "", printable(event->text, shown, sizeof(shown)));
	}
}

void mor_watch_frame(const mortise_tap_frame *frame, void *arg)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	struct mor_cli *cli = arg;
	struct mor_slice body = { frame->body.text, frame->body.len };
	size_t shown = cli->verbose || body.len <= WIRE_SHOWN ? body.len : WIRE_SHOWN;

	mor_buf_text(&line, frame->direction == MORTISE_TO_PLUGIN ? "> " : "< ");
	for (size_t i = 0; i < shown; i++) {
		/* A terminal must not be steered by what a plugin sends. */
		unsigned char byte = (unsigned char)body.ptr[i];

		mor_buf_byte(&line, byte < 0x20 || byte == 0x7f ? ' ' : (char)byte);
	}
	if (shown < body.len)
		mor_buf_printf(&line, "... (%zu bytes)", body.len);
	if (!mor_buf_failed(&line))
		mor_note_slice(cli, mor_buf_view(&line));
}
