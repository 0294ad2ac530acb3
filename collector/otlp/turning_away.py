"""Calls that are refused before their request is received: it takes memory, and they have no claim to any."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import grpc
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class TurningAway(grpc.aio.ServerInterceptor):
    """`denial` says what to answer to a call, or None for one that may go on."""

    def __init__(self, denial: Callable[[grpc.HandlerCallDetails], Status | None]) -> None:
        self._denial = denial

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[_Request, _Response] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[_Request, _Response] | None:
        denial = self._denial(handler_call_details)
        if denial is None:
            return await continuation(handler_call_details)

        async def refuse(
            _requests: AsyncIterator[_Request], context: grpc.aio.ServicerContext[_Request, _Response]
        ) -> _Response:
            told = rpc_status.to_status(denial)
            await context.abort(told.code, told.details, told.trailing_metadata)
            raise AssertionError("abort raises")

        # For the one request of the call a stream is as good, and nobody has to read it.
        handler: grpc.RpcMethodHandler[_Request, _Response] = grpc.stream_unary_rpc_method_handler(refuse)
        return handler
