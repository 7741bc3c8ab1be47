import { notAnEndpoint, otherProtocol } from "./texts.ts";
import type { TelemetrySettings } from "./telemetry.ts";

/**
 * The settings of OpenTelemetry from the environment. Undefined without an endpoint, and then nothing is loaded. Headers often
 * contain a key. So they are removed from the environment, which programs of the daemon may inherit.
 */
export function telemetryIn(env: NodeJS.ProcessEnv): TelemetrySettings | undefined {
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "";
  const traces = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? (base === "" ? "" : below(base, "v1/traces"));
  const metrics =
    env["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"] ?? (base === "" ? "" : below(base, "v1/metrics"));
  const headers = pairsIn(env["OTEL_EXPORTER_OTLP_HEADERS"]);
  delete env["OTEL_EXPORTER_OTLP_HEADERS"];
  if ((traces === "" && metrics === "") || env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true")
    return undefined;
  const protocol = env["OTEL_EXPORTER_OTLP_PROTOCOL"] ?? "http/json";
  if (protocol !== "http/json") throw otherProtocol(protocol);
  for (const address of [traces, metrics])
    if (address !== "" && !/^https?:\/\//.test(address)) throw notAnEndpoint(address);
  const name = env["OTEL_SERVICE_NAME"];
  return {
    traces: traces === "" ? undefined : traces,
    metrics: metrics === "" ? undefined : metrics,
    headers,
    resource: { ...pairsIn(env["OTEL_RESOURCE_ATTRIBUTES"]), ...(name && { "service.name": name }) },
    spanInterval: millisecondsIn(env["OTEL_BSP_SCHEDULE_DELAY"], 5000),
    metricInterval: millisecondsIn(env["OTEL_METRIC_EXPORT_INTERVAL"], 60_000),
    timeout: millisecondsIn(env["OTEL_EXPORTER_OTLP_TIMEOUT"], 10_000),
  };
}

const below = (base: string, path: string): string => `${base.replace(/\/+$/, "")}/${path}`;

function millisecondsIn(text: string | undefined, otherwise: number): number {
  const given = Number(text);
  return text !== undefined && Number.isInteger(given) && given > 0 && given < 2 ** 31 ? given : otherwise;
}

/** `key=value,other=value`, with values encoded as in a URL or plain. */
function pairsIn(text = ""): Record<string, string> {
  return Object.fromEntries(
    text
      .split(",")
      .map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair))
      .flatMap((found) => (found === null ? [] : [[found[1] ?? "", decoded(found[2] ?? "")]])),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    return text.trim();
  }
}
