import { growingWaits } from "./growing-waits.ts";

/**
 * Whether providers can be used now. `refused`: the provider did not accept the key, or the account it belongs to. It is tried
 * again after waits that grow, and at once if the key or the configuration changes. `waiting`: it asked to wait, for example
 * because a subscription's window is used up. All agents wait together. Only in memory: after a restart, the first call finds
 * out again.
 */
export interface ProviderState {
  readonly cause: "refused" | "waiting";
  readonly says: string;
  /** Milliseconds on the database's clock. */
  readonly until: number;
  /** The key that was refused. Another one is tried at once. */
  readonly key?: string | undefined;
}

/** How much of a subscription's window is used. */
export interface UsageWindow {
  /** Such as "5 hours" or "week". */
  readonly name: string;
  readonly used: number;
  /** When it begins again, in milliseconds. */
  readonly until: number;
}

export interface ProviderStates {
  /** Undefined if the provider can be used. */
  of(companyId: string, provider: string, now: number, key: string | undefined): ProviderState | undefined;
  /** The last thing known is that its key was refused. After the wait, one session finds out whether that has changed. */
  isRefused(companyId: string, provider: string): boolean;
  wait(companyId: string, provider: string, says: string, until: number): void;
  /** Returns when it may be asked again. */
  refuse(
    companyId: string,
    provider: string,
    now: number,
    refused: { says: string; key: string | undefined },
  ): number;
  clear(companyId: string, provider: string): void;
  /** What the last answer said about the windows that are still open. */
  windowsOf(companyId: string, provider: string, now: number): readonly UsageWindow[];
  setWindows(companyId: string, provider: string, windows: readonly UsageWindow[]): void;
}

export function keepProviderStates(): ProviderStates {
  const states = new Map<string, ProviderState>();
  const windows = new Map<string, readonly UsageWindow[]>();
  const waits = growingWaits();
  const keyOf = (companyId: string, provider: string): string => `${companyId} ${provider}`;
  return {
    of: (companyId, provider, now, key) => {
      const state = states.get(keyOf(companyId, provider));
      if (state === undefined || state.until <= now) return undefined;
      return state.cause === "refused" && state.key !== key ? undefined : state;
    },
    isRefused: (companyId, provider) => states.get(keyOf(companyId, provider))?.cause === "refused",
    wait: (companyId, provider, says, until) =>
      void states.set(keyOf(companyId, provider), { cause: "waiting", says, until }),
    refuse: (companyId, provider, now, refused) => {
      const place = keyOf(companyId, provider);
      const last = states.get(place);
      if (last?.cause === "refused" && last.key !== refused.key) waits.clear(place);
      const until = waits.failed(place, now);
      states.set(place, { cause: "refused", until, ...refused });
      return until;
    },
    clear: (companyId, provider) => {
      states.delete(keyOf(companyId, provider));
      waits.clear(keyOf(companyId, provider));
    },
    windowsOf: (companyId, provider, now) =>
      (windows.get(keyOf(companyId, provider)) ?? []).filter(({ until }) => until > now),
    setWindows: (companyId, provider, found) => void windows.set(keyOf(companyId, provider), found),
  };
}
