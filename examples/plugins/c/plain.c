/* SPDX-License-Identifier: Apache-2.0 */
#include <tenon/tenon.h>

static int mean(tenon_call *call)
{
	const tenon_value *numbers = tenon_get(tenon_params(call), "numbers");
	double sum = 0;

	if (tenon_size(numbers) == 0)
		return tenon_fail(call, TENON_EPARAMS, "numbers: there are none");
	for (size_t i = 0; i < tenon_size(numbers); i++)
		sum += tenon_as_double(tenon_item(numbers, i), 0);
	return tenon_reply(call, TENON("mean", sum / (double)tenon_size(numbers)));
}

int main(void)
{
	static const tenon_field fields[] = { { "numbers", TENON_FIELD_ARRAY, .required = 1 }, { 0 } };
	static const tenon_command commands[] = { { "mean", mean, "The mean of numbers", .fields = fields },
						  { 0 } };

	return tenon_run(&(tenon_plugin){ "statistics", "1.0.0", .dialect = "plain", .commands = commands });
}
