import { randomBytes } from "node:crypto";
import type { CallReading, MeasuredCall, MetricFamily, Metrics } from "./metrics.ts";
import { type CallersSpan, callersSpan } from "./trace-context.ts";
import { version } from "./version.ts";

/**
 * Traces and metrics for OpenTelemetry, sent as JSON over HTTP (OTLP) to the endpoint that the host names. This file is loaded
 * only then. A span is a call: the name of the operation, its code and its times. It belongs to the span of the caller, if the
 * caller names one. It has no input, no answer and no name, for the reasons in metrics.ts.
 *
 * Nothing waits for the endpoint. Spans wait in a queue of fixed length; those that don't fit are dropped and counted. One request
 * is under way at a time, and is given up after a while.
 */
export interface TelemetrySettings {
  readonly traces?: string | undefined;
  readonly metrics?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  /** How often spans and metrics are sent, and when a request is given up, in milliseconds. */
  readonly spanInterval: number;
  readonly metricInterval: number;
  readonly timeout: number;
}

export interface Telemetry {
  readonly called: (call: MeasuredCall) => void;
  readonly begin: (read: () => Promise<ReturnType<Metrics["readings"]>>) => void;
  /** Sends the waiting spans, unless the endpoint does not answer soon. */
  readonly stop: () => Promise<void>;
}

type Kind = "traces" | "metrics";

interface Span {
  readonly operation: string;
  readonly code: string;
  readonly from: number;
  readonly to: number;
  readonly within: CallersSpan | undefined;
}

const mostSpans = 2048;
const spansAtOnce = 512;

export function keepTelemetry(
  settings: TelemetrySettings,
  nodeId: string,
  log: (line: Record<string, unknown>) => void,
): Telemetry {
  const resource = {
    attributes: attributesOf({
      "service.name": "agency",
      "service.version": version,
      "service.instance.id": nodeId,
      ...settings.resource,
    }),
  };
  const scope = { name: "agency", version };
  const started = Date.now();
  const spans: Span[] = [];
  let dropped = 0;
  const failing = new Set<Kind>();
  let sending: Promise<void> | undefined;
  let read: (() => Promise<ReturnType<Metrics["readings"]>>) | undefined;

  const send = async (kind: Kind, url: string, body: unknown, timeout: number): Promise<void> => {
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...settings.headers },
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.timeout(timeout),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`It answered ${answer.status}.`);
      if (failing.delete(kind))
        log({
          level: "info",
          about: "telemetry",
          says: `The OpenTelemetry endpoint for ${kind} answers again.`,
        });
    } catch (error) {
      // Logged once, not for each request. The message of fetch could contain the address with its credentials.
      const why =
        error instanceof Error && error.message.startsWith("It answered")
          ? error.message
          : "It did not answer.";
      if (!failing.has(kind))
        log({
          level: "warn",
          about: "telemetry",
          says: `The OpenTelemetry endpoint for ${kind} fails: ${why} What is not sent is lost.`,
        });
      failing.add(kind);
    }
  };
  const sendSpans = async (timeout: number): Promise<void> => {
    if (settings.traces === undefined) return;
    for (let sent = 0; spans.length > 0 && sent < mostSpans; sent += spansAtOnce) {
      const some = spans.splice(0, spansAtOnce);
      await send(
        "traces",
        settings.traces,
        { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: some.map(spanOf) }] }] },
        timeout,
      );
      if (failing.has("traces")) return;
    }
  };
  const sendMetrics = async (timeout: number): Promise<void> => {
    if (settings.metrics === undefined || read === undefined) return;
    // Without the database, there are no figures of the companies now.
    const readings = await read().catch(() => undefined);
    if (readings === undefined) return;
    const metrics = metricsOf(readings, { from: started, to: Date.now(), dropped });
    await send(
      "metrics",
      settings.metrics,
      { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] },
      timeout,
    );
  };
  /** One run at a time. A turn during a run is left out. */
  const inTurn = (work: () => Promise<void>): void => {
    sending ??= work().finally(() => (sending = undefined));
  };
  const timers = [
    setInterval(() => inTurn(() => sendSpans(settings.timeout)), settings.spanInterval),
    setInterval(() => inTurn(() => sendMetrics(settings.timeout)), settings.metricInterval),
  ];
  for (const timer of timers) timer.unref();
  return {
    called: ({ operation, code, milliseconds, trace }) => {
      if (settings.traces === undefined) return;
      const within = callersSpan(trace);
      if (within === null) return;
      if (spans.length >= mostSpans) return void dropped++;
      const to = Date.now();
      spans.push({ operation, code, from: to - milliseconds, to, within });
    },
    begin: (from) => (read = from),
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      const last = Math.min(settings.timeout, 2000);
      await Promise.race([sending, new Promise((resolve) => setTimeout(resolve, last).unref())]);
      if (!failing.has("traces")) await sendSpans(last);
      if (!failing.has("metrics")) await sendMetrics(last);
    },
  };
}

const attributesOf = (given: Readonly<Record<string, string>>) =>
  Object.entries(given).map(([key, value]) => ({ key, value: { stringValue: value } }));

const nanoseconds = (milliseconds: number): string => `${BigInt(Math.round(milliseconds * 1000))}000`;

/** Codes that mean that Agency itself failed. All others are answers to the caller. */
const faults = new Set(["bug", "unavailable", "damaged"]);

const spanOf = ({ operation, code, from, to, within }: Span) => ({
  traceId: within?.traceId ?? randomBytes(16).toString("hex"),
  spanId: randomBytes(8).toString("hex"),
  ...(within && { parentSpanId: within.spanId }),
  name: operation,
  kind: 2,
  startTimeUnixNano: nanoseconds(from),
  endTimeUnixNano: nanoseconds(to),
  attributes: attributesOf({ "agency.operation": operation, "agency.code": code }),
  status: faults.has(code) ? { code: 2, message: code } : {},
});

interface Moment {
  readonly from: number;
  readonly to: number;
  readonly dropped: number;
}

function metricsOf({ families, calls }: ReturnType<Metrics["readings"]>, { from, to, dropped }: Moment) {
  const times = { startTimeUnixNano: nanoseconds(from), timeUnixNano: nanoseconds(to) };
  const spansDropped: MetricFamily = {
    name: "agency_spans_dropped_total",
    type: "counter",
    help: "Spans that were not sent because too many waited.",
    samples: [{ name: "agency_spans_dropped_total", value: dropped }],
  };
  return [
    ...[...families, spansDropped].map(({ name, type, help, samples }) => {
      const dataPoints = samples.map(({ label, value }) => ({
        ...times,
        attributes: attributesOf(labelsIn(label ?? "")),
        asDouble: value,
      }));
      const data =
        type === "counter"
          ? { sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints } }
          : { gauge: { dataPoints } };
      return { name, description: help, ...data };
    }),
    {
      name: "agency_call_seconds",
      description: "How long calls took, by operation and by the code of the refusal.",
      unit: "s",
      histogram: {
        aggregationTemporality: 2,
        dataPoints: calls.map((call) => ({ ...times, ...pointOf(call) })),
      },
    },
  ];
}

/** OTLP counts each bucket separately; those of Prometheus include all below. */
function pointOf({ operation, code, count, seconds, bounds, buckets }: CallReading) {
  return {
    attributes: attributesOf({ operation, code }),
    count: String(count),
    sum: seconds,
    explicitBounds: bounds,
    bucketCounts: [...buckets, count].map((upTo, index, all) => String(upTo - (all[index - 1] ?? 0))),
  };
}

/** Labels in the text format of Prometheus, such as `state="open",kind="x"`. */
function labelsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
  );
}
