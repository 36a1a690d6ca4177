"""Which folders others have mounted, too, as the kernel tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.state.stores.mounts import is_mounted

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /data rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2
31 30 8:2 / /data/local rw,relatime - xfs /dev/sdb1 rw
32 22 0:26 / /with\\040space rw - cifs //server/share rw
33 22 0:27 / /bucket rw,nosuid - fuse.s3fs s3fs rw
34 22 0:28 / /layers rw - fuse.fuse-overlayfs fuse-overlayfs rw
35 22 8:3 / /stick rw - fuseblk /dev/sdc1 rw
36 22 0:29 / /covered rw - nfs server:/export rw
37 36 0:30 / /covered rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/", False),
        ("/srv/jobs", False),
        ("/data", True),
        ("/data/jobs/not/there/yet", True),
        ("/database", False),
        ("/data/local/jobs", False),
        ("/with space/jobs", True),
        ("/bucket/jobs", True),
        ("/layers/jobs", False),
        ("/stick/jobs", False),
        ("/covered/jobs", False),
    ],
)
def test_by_the_file_system_that_the_folder_is_on(tmp_path: Path, folder: str, expected: bool) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert is_mounted(folder, mounts) is expected


def test_a_link_is_where_it_leads(tmp_path: Path) -> None:
    mounts, link = tmp_path / "mountinfo", tmp_path / "link"
    mounts.write_text(MOUNTS)
    link.symlink_to("/data/jobs")
    assert is_mounted(str(link), mounts)


def test_where_the_kernel_does_not_tell(tmp_path: Path) -> None:
    assert not is_mounted("/data", tmp_path / "none")
    assert not is_mounted(str(tmp_path)), "a folder for temporary files is this machine's"
