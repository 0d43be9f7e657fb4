/* SPDX-License-Identifier: Apache-2.0 */
/* mortise_jail_run(): may it be called here, and what was asked for? The rest is src/lib/guard/jail_run.h. */
#include <mortise/jail.h>

#include "base/error.h"
#include "base/options.h"
#include "guard/jail_run.h"
#include "host/host.h"

static int check_jail_options(const mortise_jail_options *opt, mortise_error *err)
{
	if (opt->flags & ~(uint64_t)(MORTISE_JAIL_LEARN | MORTISE_JAIL_COMMAND_WORDS))
		return mor_fail(err, MORTISE_EINVAL, "jail options: unknown flags");
	if (!opt->argv || !opt->argv[0] || !*opt->argv[0])
		return mor_fail(err, MORTISE_EINVAL, "no program is named");
	return opt->host ? mor_host_check_outside(opt->host, err) : 0;
}

int mortise_jail_run(const mortise_jail_options *given, mortise_jail_result **ret_result, mortise_error *err)
{
	mortise_error own = { 0 };
	mortise_jail_options opt;
	int r;

	if (!err)
		err = &own;
	if (!ret_result)
		return mor_fail(err, MORTISE_EINVAL, "a place for the result must be given");
	*ret_result = NULL;
	r = mor_import_options(given, &opt, sizeof(opt), err);
	if (r < 0 || (r = check_jail_options(&opt, err)) < 0)
		return r;
	return mor_jail_run(&opt, opt.host ? opt.host->loop : NULL, ret_result, err);
}
