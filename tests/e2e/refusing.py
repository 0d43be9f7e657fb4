# SPDX-License-Identifier: Apache-2.0
"""Programs under a filter that refuses system calls, as the one of a container does."""
import ctypes
import errno
import platform
import struct

# Names as in the kernel's table for this processor.
NUMBERS = {
    "x86_64": {"clone": 56, "mount": 165, "unshare": 272, "clone3": 435, "pidfd_getfd": 438},
    "aarch64": {"clone": 220, "mount": 40, "unshare": 97, "clone3": 435, "pidfd_getfd": 438},
}.get(platform.machine())
NOT_HERE = None if NUMBERS else f"the numbers of system calls on {platform.machine()} are not known"

NAMESPACES = 0x7E020000  # all CLONE_NEW... flags of the first argument
# What Docker refuses without --cap-add, of the calls that we use; what a namespace without rights refuses.
DOCKER = {"clone": errno.EPERM, "unshare": errno.EPERM, "clone3": errno.ENOSYS, "mount": errno.EPERM,
          "pidfd_getfd": errno.EPERM}  # fmt: skip
NO_RIGHTS = {"mount": errno.EACCES}

LOAD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def rules(refused):
    """BPF: one row of (code, jump if true, jump if false, value) each."""
    yield LOAD, 0, 0, 0  # the number
    for name, error in refused.items():
        if name == "clone":  # only with a flag that makes a namespace
            yield JEQ, 0, 4, NUMBERS[name]
            yield LOAD, 0, 0, 16
            yield JSET, 0, 1, NAMESPACES
            yield RET, 0, 0, ERRNO | error
            yield LOAD, 0, 0, 0
        else:
            yield JEQ, 0, 1, NUMBERS[name]
            yield RET, 0, 0, ERRNO | error
    yield RET, 0, 0, ALLOW


def refusing(refused):
    """A preexec_fn for subprocess."""
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules(refused))
    text = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        if libc.prctl(38, 1, 0, 0, 0) < 0 or libc.prctl(22, 2, program, 0, 0) < 0:  # no new privileges; filter
            raise OSError(ctypes.get_errno(), "no filter")
        assert text  # it must live until now

    return install
