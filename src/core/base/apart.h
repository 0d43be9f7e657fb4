/* SPDX-License-Identifier: Apache-2.0 */
/* For functions beside the hot path. Inlined into it, their registers and their stack would have to be made
 * ready and put back by every call that does not need them. */
#ifndef MOR_BASE_APART_H
#define MOR_BASE_APART_H

#define MOR_APART __attribute__((noinline))

#endif
