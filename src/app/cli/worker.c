/* SPDX-License-Identifier: Apache-2.0 */
/* mortise worker: analyzes for the owners of a farm. */
#include "crew/worker.h"
#include "base/error.h"
#include "cli/inside.h"
#include "console/report.h"

int mor_cli_worker(struct mor_cli *cli)
{
	const struct worker_args *args = cli->args;
	struct mor_crew_worker_options opt = { .console = cli->console,
					       .url = args->farm,
					       .store = args->store,
					       .cache = args->cache,
					       .jobs = args->jobs,
					       .confine = args->confine,
					       .once = args->once };
	mortise_error err = { 0 };

	if (cli->words.count || cli->words.tail)
		mor_fail(&err, MORTISE_EINVAL, "worker takes no words: the farm says what to do");
	else if (!args->farm || !args->store)
		mor_fail(&err, MORTISE_EINVAL, "name the farm and its store: --farm URL --store DIR");
	return err.code ? mor_report_usage(cli->console, &err) : mor_crew_work(&opt);
}
