"""What SpanJudge is compared with: the least and the most obvious thing that a gRPC server can do."""
