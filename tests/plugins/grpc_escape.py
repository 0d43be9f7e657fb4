#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin that may listen on one socket, and tries to get more out of it. GRPC_ATTEMPT names the attempt. It
ends with 42 if that worked, with 41 if it was refused."""
import os
import socket
import sys

PLACE = os.environ["MORTISE_GRPC_SOCKET"]
HOME = os.path.dirname(PLACE)
WORK = os.environ["SUNSCREEN_WORKSPACE_ROOT"]


def stream():
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def bound(address):
    one = stream()
    one.bind(address)
    return one


def allowed():
    bound(PLACE).listen(1)


def other_name():
    """Libraries that print a line choose the name: this is allowed."""
    bound(HOME + "/other.sock").listen(1)


def elsewhere():
    bound(WORK + "/x.sock")


def relative():
    os.chdir(HOME)
    bound("x.sock")


def climbing():
    bound(HOME + "/../" + os.path.basename(HOME) + "/x.sock")


def below():
    os.mkdir(HOME + "/d")
    bound(HOME + "/d/x.sock")


def longer_directory():
    bound(HOME + "x/x.sock")


def abstract():
    bound("\0mortise-escape")


def abstract_alike():
    bound("\0" + PLACE)


def autobind():
    bound("")


def twice():
    bound(PLACE)
    bound(HOME + "/second.sock")


def again_after_close():
    bound(PLACE).close()
    os.unlink(PLACE)
    bound(PLACE)


def listen_unbound():
    one = stream()
    one.listen(1)


def listen_on_another():
    bound(PLACE)
    stream().listen(1)


def listen_on_a_pair():
    bound(PLACE)
    socket.socketpair()[0].listen(1)


def datagrams():
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].bind(HOME + "/d.sock")


def mknod():
    os.mknod(HOME + "/x", 0o140600)


def tcp():
    """Refused quietly, as gRPC's own look at the machine is; but it must be refused."""
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).bind(("127.0.0.1", 0))


def tcp6():
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM).bind(("::1", 0))


def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 0))


def out_of_its_own():
    """The one socket, connected to instead: to a socket of another program."""
    one = bound(PLACE)
    one.connect(os.environ["GRPC_OTHER"])


try:
    globals()[os.environ["GRPC_ATTEMPT"]]()
except OSError as error:
    print(error, file=sys.stderr, flush=True)
    sys.exit(41)
sys.exit(42)
