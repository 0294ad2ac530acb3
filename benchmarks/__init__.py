"""How much one CPU second of SpanJudge takes in, beside a no-op and a naive receiver. See `docs/performance.md`."""
