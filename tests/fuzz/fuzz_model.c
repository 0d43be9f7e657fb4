/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the host (tests/model), with operations that libFuzzer chooses: three bytes each. */
#include "fuzz.h"

#include "model/model.h"

#define MOST_BYTES (100 * OP_BYTES) /* longer scripts find nothing that two shorter ones do not */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	model_run(data, size < MOST_BYTES ? size : MOST_BYTES);
	return 0;
}
