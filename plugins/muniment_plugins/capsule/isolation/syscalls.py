"""The system calls that a program may make once it is locked in, by name.

    openat   257   56  reading         number on x86-64, on AArch64, and the answer

Rules:

- Calls that are not in the table are answered with EPERM.
- ``allow`` lets a call pass; ``trap`` ends the process (SIGSYS): nobody makes these
  calls by accident. An errno's name is the answer if callers have a fallback for it:
  after ENOSYS for ``clone3`` the C library tries ``clone``, which is refused.
- ``reading``, ``flags``, ``query`` and ``signals`` depend on the arguments; `seccomp`
  says how.
- ``-`` marks a call that the architecture does not have. The numbers are those of
  the kernel's ``arch/x86/entry/syscalls/syscall_64.tbl`` and
  ``include/uapi/asm-generic/unistd.h``, which never change.
"""

from __future__ import annotations

__all__ = ["ARCHITECTURES", "TABLE", "answers", "name_of"]

ARCHITECTURES = ("x86_64", "aarch64")

TABLE = """
brk                      12   214  allow
clock_getres            229   114  allow
clock_gettime           228   113  allow
clock_nanosleep         230   115  allow
close                     3    57  allow
dup                      32    23  allow
dup2                     33     -  allow
dup3                    292    24  allow
exit                     60    93  allow
exit_group              231    94  allow
fadvise64               221   223  allow
fstat                     5    80  allow
fstatfs                 138    44  allow
futex                   202    98  allow
getcpu                  309   168  allow
getcwd                   79    17  allow
getdents64              217    61  allow
getegid                 108   177  allow
geteuid                 107   175  allow
getgid                  104   176  allow
getpgid                 121   155  allow
getpgrp                 111     -  allow
getpid                   39   172  allow
getppid                 110   173  allow
getrandom               318   278  allow
getresgid               120   150  allow
getresuid               118   148  allow
getrusage                98   165  allow
getsid                  124   156  allow
gettid                  186   178  allow
gettimeofday             96   169  allow
getuid                  102   174  allow
lseek                     8    62  allow
lstat                     6     -  allow
madvise                  28   233  allow
membarrier              324   283  allow
mincore                  27   232  allow
mmap                      9   222  allow
mprotect                 10   226  allow
mremap                   25   216  allow
munmap                   11   215  allow
nanosleep                35   101  allow
newfstatat              262    79  allow
poll                      7     -  allow
ppoll                   271    73  allow
pread64                  17    67  allow
preadv                  295    69  allow
pselect6                270    72  allow
read                      0    63  allow
readlink                 89     -  allow
readlinkat              267    78  allow
readv                    19    65  allow
restart_syscall         219   128  allow
rseq                    334   293  allow
rt_sigpending           127   136  allow
rt_sigprocmask           14   135  allow
rt_sigreturn             15   139  allow
rt_sigtimedwait         128   137  allow
sched_getaffinity       204   123  allow
sched_getparam          143   121  allow
sched_getscheduler      145   120  allow
sched_yield              24   124  allow
select                   23     -  allow
set_robust_list         273    99  allow
set_tid_address         218    96  allow
sigaltstack             131   132  allow
stat                      4     -  allow
statfs                  137    43  allow
statx                   332   291  allow
sysinfo                  99   179  allow
time                    201     -  allow
times                   100   153  allow
uname                    63   160  allow
write                     1    64  allow
writev                   20    66  allow

openat                  257    56  reading
fcntl                    72    25  flags
prlimit64               302   261  query
rt_sigaction             13   134  signals
clone3                  435   435  ENOSYS
ioctl                    16    29  ENOTTY

acct                    163    89  trap
add_key                 248   217  trap
bpf                     321   280  trap
chroot                  161    51  trap
delete_module           176   106  trap
execve                   59   221  trap
execveat                322   281  trap
finit_module            313   273  trap
fsconfig                431   431  trap
fsmount                 432   432  trap
fsopen                  430   430  trap
fspick                  433   433  trap
init_module             175   105  trap
io_uring_enter          426   426  trap
io_uring_register       427   427  trap
io_uring_setup          425   425  trap
ioperm                  173     -  trap
iopl                    172     -  trap
kcmp                    312   272  trap
kexec_file_load         320   294  trap
kexec_load              246   104  trap
keyctl                  250   219  trap
memfd_create            319   279  trap
memfd_secret            447   447  trap
mount                   165    40  trap
mount_setattr           442   442  trap
move_mount              429   429  trap
name_to_handle_at       303   264  trap
open_by_handle_at       304   265  trap
open_tree               428   428  trap
perf_event_open         298   241  trap
pidfd_getfd             438   438  trap
pidfd_open              434   434  trap
pivot_root              155    41  trap
process_madvise         440   440  trap
process_vm_readv        310   270  trap
process_vm_writev       311   271  trap
ptrace                  101   117  trap
quotactl                179    60  trap
reboot                  169   142  trap
request_key             249   218  trap
setns                   308   268  trap
swapoff                 168   225  trap
swapon                  167   224  trap
umount2                 166    39  trap
unshare                 272    97  trap
userfaultfd             323   282  trap
"""


def answers(architecture: str) -> dict[int, str]:
    """Return the answer to each call of *architecture* that is not refused, by number."""
    return {number: row[-1] for number, row in _rows(architecture).items()}


def name_of(architecture: str, number: int) -> str:
    """Return the name of call *number* on *architecture*, if the table has it."""
    row = _rows(architecture).get(number)
    return row[0] if row is not None else f"system call {number}"


def _rows(architecture: str) -> dict[int, list[str]]:
    if architecture not in ARCHITECTURES:
        return {}
    column = 1 + ARCHITECTURES.index(architecture)
    rows: list[list[str]] = [[*line.split()] for line in TABLE.split("\n") if line]
    return {int(row[column]): row for row in rows if row[column] != "-"}
