/**
 * Whether providers can be used now. `refused`: the provider did not accept the key; nothing is asked until the key or the
 * configuration changes, or a try succeeds. `waiting`: it asked to wait, for example because a subscription's window is used
 * up. All agents wait together. Only in memory: after a restart, the first call finds out again.
 */
export interface ProviderState {
  readonly cause: "refused" | "waiting";
  readonly says: string;
  /** Milliseconds on the database's clock. Null: until something changes. */
  readonly until: number | null;
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
  set(companyId: string, provider: string, state: ProviderState): void;
  clear(companyId: string, provider: string): void;
  /** What the last answer said about the windows that are still open. */
  windowsOf(companyId: string, provider: string, now: number): readonly UsageWindow[];
  setWindows(companyId: string, provider: string, windows: readonly UsageWindow[]): void;
}

export function keepProviderStates(): ProviderStates {
  const states = new Map<string, ProviderState>();
  const windows = new Map<string, readonly UsageWindow[]>();
  const keyOf = (companyId: string, provider: string): string => `${companyId} ${provider}`;
  return {
    of: (companyId, provider, now, key) => {
      const state = states.get(keyOf(companyId, provider));
      if (state === undefined || (state.until !== null && state.until <= now)) return undefined;
      return state.cause === "refused" && state.key !== key ? undefined : state;
    },
    set: (companyId, provider, state) => void states.set(keyOf(companyId, provider), state),
    clear: (companyId, provider) => void states.delete(keyOf(companyId, provider)),
    windowsOf: (companyId, provider, now) =>
      (windows.get(keyOf(companyId, provider)) ?? []).filter(({ until }) => until > now),
    setWindows: (companyId, provider, found) => void windows.set(keyOf(companyId, provider), found),
  };
}
