// One agent run by the Node SDK: node say.mjs <grpc|proto|http> <endpoint> <session id>
import { context, trace } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [kind, url, session] = process.argv.slice(2);
const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${kind}`);
const exporter = new OTLPTraceExporter({ url, compression: kind === "grpc" ? undefined : "gzip" });

// The exporter reports failures to a callback only; a test wants them in the exit code.
let failure;
const send = exporter.export.bind(exporter);
exporter.export = (spans, done) =>
  send(spans, (result) => {
    if (result.code !== 0) failure = result.error ?? new Error("not exported");
    done(result);
  });

const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": "shop" }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
const tracer = provider.getTracer("shop.agent");
const root = tracer.startSpan("invoke_agent clerk", {
  attributes: {
    "session.id": session,
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "clerk",
  },
});
const tool = tracer.startSpan(
  "execute_tool look_up",
  {
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look_up",
      "gen_ai.tool.call.id": "call-1",
    },
  },
  trace.setSpan(context.active(), root),
);
tool.end();
root.end();
await provider.forceFlush().catch((error) => (failure ??= error));
await provider.shutdown();
if (failure) {
  console.error(failure);
  process.exit(1);
}
