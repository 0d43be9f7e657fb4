/* SPDX-License-Identifier: Apache-2.0 */
/* Before every file of mortise-jail-inject (-include): see guard_inject.h. A macro does not expand itself. */
#ifndef TESTS_FAULT_GUARD_CALLS_H
#define TESTS_FAULT_GUARD_CALLS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "guard_inject.h"
#include "jail/direct.h"

#define OR(kind, call) (guard_fails(GUARD_##kind) ? -1 : call)

#define malloc(n)               (guard_fails(GUARD_malloc) ? NULL : malloc(n))
#define calloc(n, size)         (guard_fails(GUARD_calloc) ? NULL : calloc(n, size))
#define realloc(p, n)           (guard_fails(GUARD_realloc) ? NULL : realloc(p, n))
#define mmap(...)               (guard_fails(GUARD_mmap) ? MAP_FAILED : mmap(__VA_ARGS__))
#define pthread_create(...)     (guard_fails(GUARD_pthread_create) ? errno : pthread_create(__VA_ARGS__))
#define vfork()                 OR(vfork, vfork())
#define open(...)               OR(open, open(__VA_ARGS__))
#define openat(...)             OR(openat, openat(__VA_ARGS__))
#define socketpair(...)         OR(socketpair, socketpair(__VA_ARGS__))
#define eventfd(...)            OR(eventfd, eventfd(__VA_ARGS__))
#define inotify_init1(...)      OR(inotify_init1, inotify_init1(__VA_ARGS__))
#define inotify_add_watch(...)  OR(inotify_add_watch, inotify_add_watch(__VA_ARGS__))
#define dup2(...)               OR(dup2, dup2(__VA_ARGS__))
#define fcntl(...)              OR(fcntl, fcntl(__VA_ARGS__))
#define close_range(...)        OR(close_range, close_range(__VA_ARGS__))
#define pread(...)              OR(pread, pread(__VA_ARGS__))
#define read(...)               OR(read, read(__VA_ARGS__))
#define write(...)              OR(write, write(__VA_ARGS__))
#define pwrite(...)             OR(pwrite, pwrite(__VA_ARGS__))
#define send(...)               OR(send, send(__VA_ARGS__))
#define sendmsg(...)            OR(sendmsg, sendmsg(__VA_ARGS__))
#define recv(...)               (guard_fails(GUARD_recv_again) ? -1 : OR(recv, recv(__VA_ARGS__)))
#define recvmsg(...)            OR(recvmsg, recvmsg(__VA_ARGS__))
#define ppoll(...)              (guard_fails(GUARD_ppoll_again) ? -1 : OR(ppoll, ppoll(__VA_ARGS__)))
#define poll(...)               OR(poll, poll(__VA_ARGS__))
#define process_vm_readv(...)   OR(process_vm_readv, process_vm_readv(__VA_ARGS__))
#define fstat(...)              OR(fstat, fstat(__VA_ARGS__))
#define stat(...)               OR(stat, stat(__VA_ARGS__))
#define fstatat(...)            OR(fstatat, fstatat(__VA_ARGS__))
#define statx(...)              OR(statx, statx(__VA_ARGS__))
#define fstatfs(...)            OR(fstatfs, fstatfs(__VA_ARGS__))
#define readlink(...)           OR(readlink, readlink(__VA_ARGS__))
#define readlinkat(...)         OR(readlinkat, readlinkat(__VA_ARGS__))
#define lseek(...)              OR(lseek, lseek(__VA_ARGS__))
#define chdir(...)              OR(chdir, chdir(__VA_ARGS__))
#define fchdir(...)             OR(fchdir, fchdir(__VA_ARGS__))
#define mkdirat(...)            OR(mkdirat, mkdirat(__VA_ARGS__))
#define unlinkat(...)           OR(unlinkat, unlinkat(__VA_ARGS__))
#define symlinkat(...)          OR(symlinkat, symlinkat(__VA_ARGS__))
#define mknodat(...)            OR(mknodat, mknodat(__VA_ARGS__))
#define flock(...)              OR(flock, flock(__VA_ARGS__))
#define ftruncate(...)          OR(ftruncate, ftruncate(__VA_ARGS__))
#define prctl(...)              OR(prctl, prctl(__VA_ARGS__))
#define setsid()                OR(setsid, setsid())
#define setpgid(...)            OR(setpgid, setpgid(__VA_ARGS__))
#define getrlimit(...)          OR(getrlimit, getrlimit(__VA_ARGS__))
#define setrlimit(...)          OR(setrlimit, setrlimit(__VA_ARGS__))
#define unshare(...)            OR(unshare, unshare(__VA_ARGS__))
#define setns(...)              OR(setns, setns(__VA_ARGS__))
#define mount(...)              OR(mount, mount(__VA_ARGS__))
#define umount2(...)            OR(umount2, umount2(__VA_ARGS__))
#define open_tree(...)          OR(open_tree, open_tree(__VA_ARGS__))
#define move_mount(...)         OR(move_mount, move_mount(__VA_ARGS__))
#define mount_setattr(...)      OR(mount_setattr, mount_setattr(__VA_ARGS__))
#define fsopen(...)             OR(fsopen, fsopen(__VA_ARGS__))
#define fsconfig(...)           OR(fsconfig, fsconfig(__VA_ARGS__))
#define fsmount(...)            OR(fsmount, fsmount(__VA_ARGS__))
#define sethostname(...)        OR(sethostname, sethostname(__VA_ARGS__))
#define execve(...)             OR(execve, execve(__VA_ARGS__))
#define mor_direct(number, ...) (guard_syscall_fails(number) ? -errno : mor_direct(number, __VA_ARGS__))
#define syscall(number, ...)    (guard_syscall_fails(number) ? -1 : syscall(number, ##__VA_ARGS__))

#endif
