/** States as shapes with a colour, in a square of 14. Pages draw them as SVG, maps on a canvas. */
export interface MarkPart {
  readonly d: string;
  readonly isFilled?: true;
  readonly isDashed?: true;
  readonly isPulse?: true;
  readonly width?: number;
}

export interface StateMark {
  readonly tone: "run" | "idle" | "hold" | "stop" | "call" | "done";
  readonly parts: readonly MarkPart[];
}

const ring = (radius: number): string =>
  `M${7 - radius} 7a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;

export const stateMarks = {
  work: {
    tone: "run",
    parts: [
      { d: ring(5.6), isPulse: true, width: 1.2 },
      { d: ring(3.1), isFilled: true },
    ],
  },
  live: { tone: "run", parts: [{ d: ring(3), isFilled: true }] },
  idle: { tone: "idle", parts: [{ d: ring(4.5) }] },
  pause: { tone: "hold", parts: [{ d: "M5 3.6v6.8M9 3.6v6.8", width: 2 }] },
  stop: {
    tone: "stop",
    parts: [{ d: "M4.9 2.2h4.2l2.7 2.7v4.2l-2.7 2.7H4.9L2.2 9.1V4.9z" }, { d: "M5 7h4" }],
  },
  wait: { tone: "idle", parts: [{ d: ring(4.8) }, { d: "M7 4.4V7l1.6 1.2" }] },
  pending: { tone: "call", parts: [{ d: ring(4.6), isDashed: true }] },
  submitted: {
    tone: "hold",
    parts: [{ d: ring(4.8) }, { d: "M7 2.2a4.8 4.8 0 0 1 0 9.6z", isFilled: true }],
  },
  done: { tone: "done", parts: [{ d: ring(5) }, { d: "m4.7 7.2 1.7 1.7 3-3.4" }] },
  closed: { tone: "idle", parts: [{ d: ring(4.8) }, { d: "m3.8 10.2 6.4-6.4" }] },
  failed: { tone: "stop", parts: [{ d: ring(5) }, { d: "m5 5 4 4M9 5 5 9" }] },
} as const satisfies Record<string, StateMark>;

export type MarkName = keyof typeof stateMarks;
