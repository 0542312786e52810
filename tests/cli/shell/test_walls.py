"""What would help where a layer of the system is missing."""

from __future__ import annotations

import sys

import pytest

from muniment_cli.diagnosis import layer_advice

OLD = layer_advice.MachineFacts(release="5.10.0-30-amd64")
NEW = layer_advice.MachineFacts(release="6.8.0")
CONTAINED = layer_advice.MachineFacts(release="6.8.0", contained=True)
RESTRICTED = layer_advice.MachineFacts(release="6.8.0", restricted=True)


@pytest.mark.parametrize(
    ("level", "missing", "around", "expected"),
    [
        ("os-partial", {"landlock": "ENOSYS"}, OLD, "this is 5.10.0-30-amd64"),
        ("os-partial", {"landlock": "ENOSYS"}, NEW, "CONFIG_SECURITY_LANDLOCK"),
        ("os-partial", {"landlock": "ENOSYS"}, CONTAINED, "Docker 23"),
        ("os-partial", {"landlock": "EPERM"}, OLD, "Docker 23"),
        ("os-partial", {"landlock": "EOPNOTSUPP"}, NEW, "lsm="),
        ("process", {"seccomp": "EINVAL"}, NEW, "CONFIG_SECCOMP_FILTER"),
        ("process", {"seccomp": "EPERM"}, CONTAINED, "let prctl, capset and seccomp"),
        ("process", {"no_new_privs": "EPERM"}, CONTAINED, "let prctl, capset"),
        ("process", {"wall": "none is made for this system"}, NEW, "AArch64"),
        ("process", {"bounding": "EPERM"}, NEW, "hidepid"),
        ("os-strong", {"namespaces": "EPERM"}, NEW, "unprivileged_userns_clone"),
        ("os-strong", {"namespaces": "EPERM"}, RESTRICTED, "AppArmor"),
        ("os-strong", {"namespaces": "EPERM"}, CONTAINED, "not needed for os-strong"),
        ("os-strong", {"namespaces": "ENOSPC"}, NEW, "max_user_namespaces"),
        ("os-partial", {}, layer_advice.MachineFacts("darwin"), "Linux container"),
        ("process", {"wall": "none"}, layer_advice.MachineFacts("win32"), "WSL2"),
    ],
)
def test_each_missing_wall_has_its_remedy(
    level: str,
    missing: dict[str, str],
    around: layer_advice.MachineFacts,
    expected: str,
) -> None:
    """The answer of the system and the system itself decide what would help."""
    ((_, remedy),) = layer_advice.remedies(level, missing, around)
    assert expected in remedy


def test_walls_that_stand_need_no_remedy() -> None:
    """What counts for no level is not asked for; each missing wall has its own line."""
    assert list(layer_advice.remedies("os-strong", {"bounding": "EPERM"}, NEW)) == []
    both = {"landlock": "ENOSYS", "seccomp": "ENOSYS"}
    assert [name for name, _ in layer_advice.remedies("process", both, NEW)] == [
        "landlock ENOSYS",
        "seccomp ENOSYS",
    ]
    ((name, _),) = layer_advice.remedies("process", {}, NEW, ["udp"])
    assert name == "hold on udp"
    assert layer_advice.MachineFacts.here().platform == sys.platform
