import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { createFile } from "../contract/knowledge.ts";
import { duringDaemon } from "../testing/daemons.ts";
import { storeKinds } from "../testing/organization.ts";
import { storeDatabase } from "../testing/postgres.ts";
import { telemetryIn } from "./telemetry-settings.ts";
import { keepTelemetry } from "./telemetry.ts";
import { callersSpan } from "./trace-context.ts";

const Attributes = z.array(
  z.strictObject({ key: z.string(), value: z.strictObject({ stringValue: z.string() }) }),
);
const Nanoseconds = z.string().regex(/^\d{19}$/);
const Scope = z.strictObject({ name: z.literal("agency"), version: z.string() });
const Resource = z.strictObject({ attributes: Attributes });
const Span = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().regex(/^[a-z_]+\.[a-z_]+$/),
  kind: z.literal(2),
  startTimeUnixNano: Nanoseconds,
  endTimeUnixNano: Nanoseconds,
  attributes: Attributes,
  status: z.strictObject({ code: z.literal(2).optional(), message: z.string().optional() }),
});
const Traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: Resource,
      scopeSpans: z.array(z.strictObject({ scope: Scope, spans: z.array(Span) })),
    }),
  ),
});
const Point = z.looseObject({
  attributes: Attributes,
  timeUnixNano: Nanoseconds,
  startTimeUnixNano: Nanoseconds,
});
const Numbers = z.array(Point.extend({ asDouble: z.number() }));
const Metric = z.union([
  z.strictObject({
    name: z.string(),
    description: z.string(),
    gauge: z.strictObject({ dataPoints: Numbers }),
  }),
  z.strictObject({
    name: z.string(),
    description: z.string(),
    sum: z.strictObject({
      aggregationTemporality: z.literal(2),
      isMonotonic: z.literal(true),
      dataPoints: Numbers,
    }),
  }),
  z.strictObject({
    name: z.string(),
    description: z.string(),
    unit: z.literal("s"),
    histogram: z.strictObject({
      aggregationTemporality: z.literal(2),
      dataPoints: z.array(
        Point.extend({
          count: z.string(),
          sum: z.number(),
          explicitBounds: z.array(z.number()),
          bucketCounts: z.array(z.string()),
        }),
      ),
    }),
  }),
]);
const Metrics = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({
      resource: Resource,
      scopeMetrics: z.array(z.strictObject({ scope: Scope, metrics: z.array(Metric) })),
    }),
  ),
});

/** A receiver that decodes the requests. */
async function startReceiver(answer: (server: Server) => number | "never" = () => 200) {
  const [spans, metrics, texts, headers] = [
    [] as z.infer<typeof Span>[],
    [] as z.infer<typeof Metric>[],
    [] as string[],
    [] as unknown[],
  ];
  const wrong: unknown[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      headers.push(request.headers["x-key"]);
      texts.push(body);
      try {
        const sent: unknown = JSON.parse(body);
        if (request.url === "/v1/traces")
          for (const { scopeSpans } of Traces.parse(sent).resourceSpans)
            spans.push(...scopeSpans.flatMap((scope) => scope.spans));
        else if (request.url === "/v1/metrics")
          for (const { scopeMetrics } of Metrics.parse(sent).resourceMetrics)
            metrics.push(...scopeMetrics.flatMap((scope) => scope.metrics));
        else throw new Error(`unknown path ${request.url ?? ""}`);
      } catch (error) {
        wrong.push(error);
      }
      const code = answer(server);
      if (code !== "never") response.writeHead(code).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    metrics,
    texts,
    headers,
    wrong,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await sleep(10);
};

for (const kind of storeKinds)
  describe(`telemetry on ${kind}`, () => {
    test("calls arrive as spans and figures, without any text that people wrote", async () => {
      const home = mkdtempSync(join(tmpdir(), "agency-telemetry-"));
      const database = kind === "postgres" ? await storeDatabase() : undefined;
      const receiver = await startReceiver();
      const env: NodeJS.ProcessEnv = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-key=very%20secret",
        OTEL_BSP_SCHEDULE_DELAY: "20",
        OTEL_METRIC_EXPORT_INTERVAL: "20",
      };
      const options = { home, databaseUrl: database?.url, telemetry: telemetryIn(env) };
      assert.equal(env["OTEL_EXPORTER_OTLP_HEADERS"], undefined, "programs of agents don't inherit it");
      try {
        await duringDaemon(options, async (daemon) => {
          const board = createClient(daemon);
          const { id: companyId } = await board.call(createCompany, { name: "Marzipan" });
          await board.call(createFile, { companyId, description: "Nougat", content: "Praline" });
          await assert.rejects(
            createClient({ url: daemon.url, token: "agb_wrong" }).call(createCompany, { name: "Fudge" }),
          );
          await until(() => receiver.spans.some(({ name }) => name === "knowledge.create"));
          await until(() =>
            receiver.metrics.some(
              (metric) => "histogram" in metric && metric.histogram.dataPoints.length > 0,
            ),
          );
          await until(() =>
            receiver.metrics.some(({ name }) => name === "agency_companies" || name === "agency_outcomes"),
          );
        });
      } finally {
        await receiver.stop();
        await database?.drop();
        rmSync(home, { recursive: true, force: true });
      }
      assert.deepEqual(receiver.wrong, []);
      assert.ok(receiver.headers.every((header) => header === "very secret"));
      assert.doesNotMatch(receiver.texts.join("\n"), /Marzipan|Nougat|Praline|Fudge|agb_|very secret/);
      const span = receiver.spans.find(({ name }) => name === "knowledge.create");
      assert.ok(span !== undefined && span.endTimeUnixNano >= span.startTimeUnixNano);
      const histogram = receiver.metrics.findLast((metric) => "histogram" in metric);
      assert.ok(histogram !== undefined && "histogram" in histogram);
      for (const { count, bucketCounts, explicitBounds } of histogram.histogram.dataPoints) {
        assert.equal(bucketCounts.length, explicitBounds.length + 1);
        assert.equal(
          bucketCounts.reduce((sum, each) => sum + Number(each), 0),
          Number(count),
        );
      }
    });
  });

const anyCall = { operation: "outcome.create", code: "ok", milliseconds: 1, trace: undefined };

describe("an endpoint of telemetry that fails", () => {
  const settings = (url: string, metrics?: string, timeout = 100) => ({
    traces: `${url}/v1/traces`,
    metrics: metrics === undefined ? undefined : `${metrics}/v1/metrics`,
    headers: {},
    resource: {},
    spanInterval: 10,
    metricInterval: 10,
    timeout,
  });

  // On a busy machine, even a working endpoint may take a second.
  for (const [name, answer, timeout] of [
    ["hangs", "never", 1500],
    ["refuses", 503, 30_000],
  ] as const)
    test(`that ${name} is named once, holds nothing up, and what waits for it stays few`, async () => {
      const receiver = await startReceiver(() => answer);
      const lines: Record<string, unknown>[] = [];
      const figures = await startReceiver();
      const telemetry = keepTelemetry(settings(receiver.url, figures.url, timeout), "node", (line) =>
        lines.push(line),
      );
      telemetry.begin(async () => ({ families: [], calls: [] }));
      try {
        const from = performance.now();
        for (let call = 0; call < 100_000; call++) telemetry.called(anyCall);
        assert.ok(performance.now() - from < 5000, "a call does not wait for the endpoint");
        await until(() => receiver.texts.length >= 3);
        // Of 100,000 spans, only those that fit into the queue waited.
        await until(() =>
          figures.metrics.some(
            (metric) =>
              metric.name === "agency_spans_dropped_total" &&
              "sum" in metric &&
              (metric.sum.dataPoints[0]?.asDouble ?? 0) > 90_000,
          ),
        );
        const why = answer === "never" ? "It did not answer." : "It answered 503.";
        assert.deepEqual(lines.slice(0, 1), [
          {
            level: "warn",
            about: "telemetry",
            says: `The OpenTelemetry endpoint for traces fails: ${why} What is not sent is lost.`,
          },
        ]);
        assert.equal(lines.length, 1, "it is named once");
      } finally {
        const from = performance.now();
        await telemetry.stop();
        assert.ok(performance.now() - from < 10_000);
        await receiver.stop();
        await figures.stop();
      }
    });

  test("that does not exist does not delay the end of the process", async () => {
    const receiver = await startReceiver();
    await receiver.stop();
    const lines: unknown[] = [];
    const telemetry = keepTelemetry(settings(receiver.url), "node", (line) => lines.push(line));
    telemetry.called(anyCall);
    await until(() => lines.length === 1);
    await telemetry.stop();
    assert.equal(lines.length, 1);
  });
});

describe("the trace of the caller", () => {
  const [trace, span] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];

  test("calls at each door belong to it, and a caller that records nothing has no spans here", async () => {
    const home = mkdtempSync(join(tmpdir(), "agency-traces-"));
    const receiver = await startReceiver();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: "20" };
    try {
      await duringDaemon({ home, telemetry: telemetryIn(env) }, async ({ url, token }) => {
        const ask = async (path: string, headers: Record<string, string>, body?: unknown): Promise<void> => {
          const answer = await fetch(`${url}${path}`, {
            method: body === undefined ? "GET" : "POST",
            headers: {
              authorization: `Bearer ${token}`,
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              ...headers,
            },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          });
          const text = await answer.text();
          assert.equal(answer.status, 200, text);
          assert.doesNotMatch(text, /"isError":true/);
        };
        const traceparent = `00-${trace}-${span}-01`;
        await ask("/api/companies", { traceparent: `00-${trace}-${span}-00` });
        await ask("/api/companies", { traceparent });
        await ask("/api/batch", { traceparent }, { calls: [{ operation: "person.list", input: {} }] });
        const call = { name: "list_companies", arguments: {}, _meta: { traceparent } };
        await ask("/mcp", {}, { jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
        await ask("/api/companies", { traceparent: `00-${trace}-${span}-01-more` });
        await until(() => receiver.spans.length >= 4);
      });
    } finally {
      await receiver.stop();
      rmSync(home, { recursive: true, force: true });
    }
    assert.deepEqual(receiver.wrong, []);
    const own = receiver.spans.filter(({ traceId }) => traceId === trace);
    assert.deepEqual(own.map(({ name, parentSpanId }) => `${name} ${parentSpanId}`).toSorted(), [
      `company.list ${span}`,
      `company.list ${span}`,
      `person.list ${span}`,
    ]);
    const others = receiver.spans.filter(({ traceId }) => traceId !== trace);
    assert.deepEqual(
      others.map(({ name, parentSpanId }) => [name, parentSpanId]),
      [["company.list", undefined]],
    );
  });

  test("only a valid one counts", () => {
    const of = (text: string | undefined) => callersSpan(text);
    for (const good of [`00-${trace}-${span}-01`, `00-${trace}-${span}-03`, `01-${trace}-${span}-01-more`])
      assert.deepEqual(of(good), { traceId: trace, spanId: span }, good);
    for (const quiet of [`00-${trace}-${span}-00`, `00-${trace}-${span}-02`]) assert.equal(of(quiet), null);
    for (const bad of [
      undefined,
      "",
      `ff-${trace}-${span}-01`,
      `00-${trace}-${span}-01-more`,
      `00-${trace}-${span}-01,00-${trace}-${span}-01`,
      `00-${"0".repeat(32)}-${span}-01`,
      `00-${trace}-${"0".repeat(16)}-01`,
      `00-${trace.toUpperCase()}-${span}-01`,
      `00-${trace}-${span}`,
    ])
      assert.equal(of(bad), undefined, String(bad));
  });
});

describe("the settings of telemetry", () => {
  test("there are none without an endpoint, or when it is turned off", () => {
    assert.equal(telemetryIn({}), undefined);
    assert.equal(
      telemetryIn({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318", OTEL_SDK_DISABLED: "true" }),
      undefined,
    );
  });

  test("they follow the rules of OpenTelemetry for addresses, headers and attributes", () => {
    const found = telemetryIn({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/base/",
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://other:4318/own",
      OTEL_EXPORTER_OTLP_HEADERS: "a=1,b=x%3Dy",
      OTEL_SERVICE_NAME: "bakery",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
    });
    assert.equal(found?.traces, "http://collector:4318/base/v1/traces");
    assert.equal(found?.metrics, "http://other:4318/own");
    assert.deepEqual(found?.headers, { a: "1", b: "x=y" });
    assert.deepEqual(found?.resource, { "deployment.environment": "test", "service.name": "bakery" });
  });

  test("a protocol or an address that can't be used is refused", () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" };
    assert.throws(() => telemetryIn({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }), /grpc/);
    assert.throws(() => telemetryIn({ OTEL_EXPORTER_OTLP_ENDPOINT: "collector" }), /collector/);
  });
});
