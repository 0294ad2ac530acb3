"""What can be wrong with files that hold certificates, keys and tokens."""

from __future__ import annotations


class CredentialsUnusable(OSError):
    """Files that were configured cannot be used. The text names the keys and the files, and repeats nothing of what is
    in them. An OSError, as for an address that cannot be had: both end the start."""
