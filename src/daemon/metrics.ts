import { monitorEventLoopDelay } from "node:perf_hooks";
import { measureInstallation } from "../contract/installation.ts";
import { Refusal } from "../contract/refusal.ts";
import type { Dispatch } from "../dispatch/dispatch.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { type Gauge, gaugesIn } from "../readers/gauges.ts";
import type { Store } from "../store/store.ts";
import { version } from "./version.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * Figures of this daemon for Prometheus, at `/metrics`. Labels are names of operations, codes and states of this program. No
 * label contains a word of a person or an agent: such a word could carry a secret, and each new one would cost the reader
 * another series.
 */
export interface Metrics {
  /** Measures every call of this dispatch, with the time that it waits for its turn. */
  readonly observing: (dispatch: Dispatch) => Dispatch;
  readonly text: (gauges: readonly Gauge[]) => string;
  /** The same figures as data. Histograms are in `calls`. */
  readonly readings: (gauges: readonly Gauge[]) => {
    families: readonly MetricFamily[];
    calls: readonly CallReading[];
  };
  readonly stop: () => void;
}

/** A call that was answered or refused. */
export interface MeasuredCall {
  readonly operation: string;
  readonly code: string;
  readonly milliseconds: number;
  readonly trace: string | undefined;
}

export interface CallReading {
  readonly operation: string;
  readonly code: string;
  readonly count: number;
  readonly seconds: number;
  readonly bounds: readonly number[];
  /** The number of calls up to each bound. */
  readonly buckets: readonly number[];
}

const delayWindow = 60_000;
/** Upper bounds in seconds. */
const bounds = [0.005, 0.025, 0.1, 0.5, 2.5, 10];

/** `called` is told of each call as well. */
export function keepMetrics(store: Store, called: (call: MeasuredCall) => void = () => undefined): Metrics {
  const calls = new Map<
    string,
    { operation: string; code: string; count: number; seconds: number; buckets: number[] }
  >();
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const lateNow = (): number => (delay.count === 0 ? 0 : delay.percentile(99) / 1e9);
  // Several readers may ask, such as Prometheus and OpenTelemetry. None of them may take a measurement away from the others.
  let lateBefore = 0;
  const turn = setInterval(() => {
    lateBefore = lateNow();
    delay.reset();
  }, delayWindow).unref();
  let commits = 0;
  const forget = store.onCommit(() => commits++);
  const note = (operation: string, code: string, seconds: number): void => {
    const call = inMap(calls, `operation="${operation}",code="${code}"`, () => ({
      operation,
      code,
      count: 0,
      seconds: 0,
      buckets: bounds.map(() => 0),
    }));
    call.count++;
    call.seconds += seconds;
    call.buckets = call.buckets.map((count, index) => count + (seconds <= (bounds[index] ?? 0) ? 1 : 0));
  };
  const familiesOf = (gauges: readonly Gauge[]): MetricFamily[] => {
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return [
      one("agency_info", "gauge", "The version of this daemon.", 1, `version="${version}"`),
      one("process_resident_memory_bytes", "gauge", "Memory of the process.", rss),
      one("process_cpu_seconds_total", "counter", "Computing time of the process.", (user + system) / 1e6),
      one("agency_heap_bytes", "gauge", "Memory that objects of the process use.", heapUsed),
      one(
        "agency_event_loop_delay_seconds",
        "gauge",
        "How late timers fire, the 99th percentile of the last one to two minutes.",
        Math.max(lateBefore, lateNow()),
      ),
      one("agency_commits_total", "counter", "Commits that this node made or heard of.", commits),
      ...[...Map.groupBy(gauges, ({ name }) => name)].map(([name, of]) => ({
        name,
        type: "gauge",
        help: of[0]?.help ?? "",
        samples: of.map(({ label, value }) => ({ name, label, value })),
      })),
    ];
  };
  return {
    readings: (gauges) => ({
      families: familiesOf(gauges),
      calls: [...calls.values()].map((call) => ({ ...call, bounds })),
    }),
    observing: (dispatch) => async (request) => {
      const begun = performance.now();
      let code = "ok";
      try {
        return await dispatch(request);
      } catch (error) {
        code = error instanceof Refusal ? error.code : "bug";
        throw error;
      } finally {
        const milliseconds = performance.now() - begun;
        const operation = request.operation.name;
        note(operation, code, milliseconds / 1000);
        called({ operation, code, milliseconds, trace: request.trace });
      }
    },
    text: (gauges) => {
      const families = [
        ...familiesOf(gauges),
        {
          name: "agency_call_seconds",
          type: "histogram",
          help: "How long calls took, by operation and by the code of the refusal.",
          samples: [...calls].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(histogram),
        },
      ];
      return `${families
        .filter(({ samples }) => samples.length > 0)
        .flatMap(linesOf)
        .join("\n")}\n`;
    },
    stop: () => {
      forget();
      clearInterval(turn);
      delay.disable();
    },
  };
}

interface Sample {
  readonly name: string;
  readonly label?: string | null;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const one = (name: string, type: string, help: string, value: number, label?: string): MetricFamily => ({
  name,
  type,
  help,
  samples: [{ name, label: label ?? null, value }],
});

function histogram([key, call]: [string, { count: number; seconds: number; buckets: number[] }]): Sample[] {
  const name = "agency_call_seconds";
  const bucket = (le: string, value: number) => ({
    name: `${name}_bucket`,
    label: `${key},le="${le}"`,
    value,
  });
  return [
    ...bounds.map((bound, index) => bucket(String(bound), call.buckets[index] ?? 0)),
    bucket("+Inf", call.count),
    { name: `${name}_sum`, label: key, value: call.seconds },
    { name: `${name}_count`, label: key, value: call.count },
  ];
}

const linesOf = ({ name, type, help, samples }: MetricFamily): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...samples.map(({ name: sample, label, value }) => `${sample}${label ? `{${label}}` : ""} ${value}`),
];

export const onMeasure = (measured: Metrics["text"]): Guarded =>
  guarded(measureInstallation, async ({ tx }) => ({ text: measured(await gaugesIn(tx)) }));
