"""The system calls that a replayed program may make besides a capsule's, by name.

    clone     56   220  threads        number on x86-64, on AArch64, and the answer
    mkdirat  258    34  files          only if Landlock restricts the directories

Rules:

- Calls in no table, and calls that a capsule traps, are answered with EPERM: the
  program gets the error and continues.
- It has threads, pipes, timers and loops of its own, and no socket, process or signal
  that leads out. ``threads``, ``pairs``, ``descriptor`` and ``locks`` depend on the
  arguments; `seccomp` says how.
- ``files`` passes if Landlock is active; without it files are opened only for reading.
- Landlock does not cover modes, owners, times and attributes of files, so changing them
  is refused, even in the program's own directory.
"""

from __future__ import annotations

from muniment_plugins.capsule.isolation import syscalls

__all__ = ["TABLE", "answers"]

TABLE = """
access                   21     -  allow
alarm                    37     -  allow
chdir                    80    49  allow
clone                    56   220  threads
epoll_create            213     -  allow
epoll_create1           291    20  allow
epoll_ctl               233    21  allow
epoll_pwait             281    22  allow
epoll_pwait2            441   441  allow
epoll_wait              232     -  allow
eventfd                 284     -  allow
eventfd2                290    19  allow
faccessat               269    48  allow
faccessat2              439   439  allow
fchdir                   81    50  allow
fcntl                    72    25  locks
fdatasync                75    83  allow
flock                    73    32  allow
fsync                    74    82  allow
get_mempolicy           239   236  allow
getdents                 78     -  allow
getgroups               115   158  allow
getitimer                36   102  allow
getpeername              52   205  allow
getpriority             140   141  allow
getrlimit                97   163  allow
getsockname              51   204  allow
getsockopt               55   209  allow
ioctl                    16    29  descriptor
mlock                   149   228  allow
msync                    26   227  allow
munlock                 150   229  allow
pause                    34     -  allow
pipe                     22     -  allow
pipe2                   293    59  allow
preadv2                 327   286  allow
pwrite64                 18    68  allow
pwritev                 296    70  allow
pwritev2                328   287  allow
recvfrom                 45   207  allow
recvmsg                  47   212  allow
rt_sigsuspend           130   133  allow
sched_get_priority_max  146   125  allow
sched_get_priority_min  147   126  allow
sendfile                 40    71  allow
sendmsg                  46   211  allow
sendto                   44   206  allow
setitimer                38   103  allow
setsockopt               54   208  allow
shutdown                 48   210  allow
socketpair               53   199  pairs
timerfd_create          283    85  allow
timerfd_gettime         287    87  allow
timerfd_settime         286    86  allow
umask                    95   166  allow
wait4                    61   260  allow
waitid                  247    95  allow

copy_file_range         326   285  files
creat                    85     -  files
fallocate               285    47  files
ftruncate                77    46  files
link                     86     -  files
linkat                  265    37  files
mkdir                    83     -  files
mkdirat                 258    34  files
open                      2     -  files
openat                  257    56  files
rename                   82     -  files
renameat                264    38  files
renameat2               316   276  files
rmdir                    84     -  files
symlink                  88     -  files
symlinkat               266    36  files
unlink                   87     -  files
unlinkat                263    35  files
"""


def answers(architecture: str, files: bool) -> dict[int, str]:
    """Return the answer to each call that is not refused, by number.

    *files* says whether Landlock is active, which restricts the files.
    """
    column = 1 + syscalls.ARCHITECTURES.index(architecture)
    known = syscalls.answers(architecture)
    found = {number: answer for number, answer in known.items() if answer != "trap"}
    rows: list[list[str]] = [[*line.split()] for line in TABLE.split("\n") if line]
    for row in rows:
        if row[column] != "-" and (files or row[-1] != "files"):
            answer = "allow" if row[-1] == "files" else row[-1]
            found[int(row[column])] = answer
    return found
