/** The span of the caller that a call belongs to. */
export interface CallersSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * Reads `traceparent` of W3C Trace Context. Null if the caller does not record its trace: then its calls are not recorded either. A
 * value that can't be read begins a new trace, as if there were none. A later version may append fields.
 */
export function callersSpan(traceparent: string | undefined): CallersSpan | null | undefined {
  const [, version = "ff", traceId = "", spanId = "", flags = "", more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(traceparent ?? "") ?? [];
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return (Number.parseInt(flags, 16) & 1) === 1 ? { traceId, spanId } : null;
}
