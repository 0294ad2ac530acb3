"""Can anybody connect? A handshake in memory with a client as most are, before certificates are shown to real ones."""

from __future__ import annotations

import ssl

_FLIGHTS = 10  # more than any handshake takes


def tried(server: ssl.SSLContext) -> None:
    """Raises `ssl.SSLError` where it fails: OpenSSL loads keys (of rare curves, say) that it then cannot use. The
    context must not ask clients for a certificate yet."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)]
    for _ in range(_FLIGHTS):
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)
    if ends:
        raise ssl.SSLError("the handshake does not end")
