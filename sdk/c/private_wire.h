/* SPDX-License-Identifier: Apache-2.0 */
/* stdin and stdout moved out of everybody's reach, and reading them. */
#ifndef TENON_PRIVATE_WIRE_H
#define TENON_PRIVATE_WIRE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/slice.h"

/* Private numbers, close-on-exec: no child of a plugin inherits the wire. fd 1 becomes stderr, fd 0
 * /dev/null. 0 or -errno. */
int tn_private_wire(int *ret_in, int *ret_out);
/* Appends what there is, at most one step. Bytes read, 0 at the end, -errno; -EINTR after a signal. */
ssize_t tn_read_some(int fd, struct mor_buf *input);

#endif
