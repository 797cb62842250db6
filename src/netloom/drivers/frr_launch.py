"""Start a daemon of FRR that sees no namespaces but those made for it.

Run as a program, ``frr_launch.py DAEMON ARGUMENT...``, in a mount namespace of its own: zebra
takes every name in /run/netns for a VRF of its switch, so an empty folder is laid over those of
the machine.
"""

from __future__ import annotations

import ctypes
import os
import sys

FOLDER = b"/run/netns"


def main(argv: list[str]) -> None:
    """Lay an empty folder over the machine's namespaces, and become the daemon."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"netloom", FOLDER, b"tmpfs", 0, None):
        sys.exit(f"{FOLDER.decode()}: cannot be covered ({os.strerror(ctypes.get_errno())})")
    os.execv(argv[0], argv)  # noqa: S606  (an argument list, never a shell)


if __name__ == "__main__":
    main(sys.argv[1:])
