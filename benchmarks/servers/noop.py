"""The ceiling: a grpc.aio server that takes the raw bytes of an export and answers at once.

`python -m benchmarks.servers.noop --port 4317` prints `READY 4317` once it serves.
"""

from __future__ import annotations

import argparse
import asyncio

import grpc

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
LOGS_SERVICE = "opentelemetry.proto.collector.logs.v1.LogsService"
MAX_REQUEST_BYTES = 64 * 1024 * 1024


async def export(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    return b""


async def serve(port: int) -> None:
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", MAX_REQUEST_BYTES)])
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {"Export": grpc.unary_unary_rpc_method_handler(export)}
    server.add_generic_rpc_handlers(
        tuple(grpc.method_handlers_generic_handler(service, handlers) for service in (SERVICE, LOGS_SERVICE))
    )
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    print(f"READY {bound}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers.noop", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().port))
