import type { ProviderConfig } from "../contract/providers.ts";
import { writeIn } from "../dispatch/context.ts";
import { tellOnce } from "../mail/notices.ts";
import type { Store, Tx } from "../store/store.ts";
import type { ModelCredential } from "./model-credentials.ts";
import {
  forgetState,
  hasState,
  noteRefused,
  noteWaiting,
  noteWindows,
  type UsageWindow,
  windowsOf,
} from "./states.ts";
import * as texts from "./texts.ts";

/**
 * The gateway learns three things from a provider's answer: that the key is not accepted, that it must wait, and how much of a
 * subscription is used. A subscription allows an amount of use in a window of time, such as five hours or a week. While a
 * window is used up, nothing is asked, and all agents of the company that use the provider wait together.
 */
interface Learning {
  readonly store: Store;
  readonly newId: () => string;
}

interface Asked {
  readonly companyId: string;
  readonly provider: string;
  readonly config: ProviderConfig;
  readonly credential: ModelCredential;
}

/** No provider means a longer wait, and the sum must stay a valid date. */
const longestWait = 31 * 86_400_000;

/** How many milliseconds to wait before the request is made again. Undefined if this answer is final. */
export async function learnFrom(
  parts: Learning,
  asked: Asked,
  answer: Response,
  tries: number,
): Promise<number | undefined> {
  const { companyId, provider, config } = asked;
  const { now, isKnown, before } = await parts.store.read(async (tx) => ({
    now: tx.now,
    isKnown: await hasState(tx, companyId, provider),
    before: await windowsOf(tx, companyId, provider),
  }));
  const write = (change: (tx: Tx) => Promise<void>): Promise<void> =>
    writeIn(parts.store, companyId, parts.newId, ({ tx }) => change(tx));
  if (answer.ok && isKnown) await write((tx) => forgetState(tx, companyId, provider));
  if (answer.status === 401) await refusedKey(parts, asked, messageIn(await answer.clone().text()));
  const windows = windowsIn(answer.headers, now);
  if (windows.length > 0 && !areSame(windows, before))
    await write((tx) => noteWindows(tx, companyId, provider, windows));
  const usedUp = windows.filter(({ used, until }) => used >= (config.mostOfWindows ?? 100) && until > now);
  if (answer.ok && usedUp.length > 0) {
    const longest = usedUp.reduce((one, other) => (other.until > one.until ? other : one));
    await waitsFor(parts, asked, longest.until - now, texts.windowUsedUp(longest.name, longest.used));
  }
  if (answer.status !== 429 && answer.status !== 529 && answer.status !== 503) return undefined;
  if (usedUp.length > 0) return Math.max(1000, ...usedUp.map(({ until }) => until - now));
  const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds)
    ? Math.min(longestWait, Math.max(0, Math.ceil(seconds * 1000)))
    : Math.min(30_000, 500 * 2 ** tries);
}

/** Almost every answer reports the same as the last one. Some give the time as seconds until a window begins again. */
const areSame = (some: readonly UsageWindow[], others: readonly UsageWindow[]): boolean =>
  some.length === others.length &&
  some.every(({ name, used, until }) =>
    others.some(
      (other) => other.name === name && other.used === used && Math.abs(other.until - until) < 60_000,
    ),
  );

/** Makes all agents that use the provider wait from now on. */
export async function waitsFor(
  parts: Learning,
  { companyId, provider, config, credential: used }: Asked,
  wait: number,
  says: string,
): Promise<void> {
  await writeIn(parts.store, companyId, parts.newId, async (writing) => {
    const until = writing.tx.now + wait;
    await noteWaiting(writing.tx, companyId, provider, { says, until, used });
    if (wait > 5 * 60_000)
      await tellOnce(writing, {
        about: provider,
        kind: "waits",
        to: null,
        text: texts.providerWaits(provider, config, new Date(until).toISOString(), says),
      });
  });
}

async function refusedKey(
  parts: Learning,
  { companyId, provider, config, credential: { key } }: Asked,
  says: string,
): Promise<void> {
  await writeIn(parts.store, companyId, parts.newId, async (writing) => {
    const until = await noteRefused(writing.tx, companyId, provider, { says, key });
    await tellOnce(writing, {
      about: provider,
      kind: "key refused",
      to: null,
      text: texts.keyRefused(provider, config, says, new Date(until).toISOString()),
    });
  });
}

/**
 * Whether this answer means that the account behind the key can't be used, for example because it is not paid. Such an answer
 * is treated like a refused key. An answer about the model or the content of a request concerns only that request.
 */
export function refusesAccount(status: number, body: string): boolean {
  const says = messageIn(body);
  if (status === 402) return true;
  if (status === 400) return ofBalance.test(says);
  // Waiting does not help: the account must be paid.
  if (status === 429) return [fieldIn(body, "code"), fieldIn(body, "type")].some((one) => unpaid.has(one));
  return status === 403 && ofAccount.test(says) && !ofRequest.test(says);
}

/** Anthropic sends this text with status 400, OpenAI with 429. */
const ofBalance = /^your credit balance is too low/i;
const unpaid = new Set(["insufficient_quota", "billing_not_active", "billing_hard_limit_reached"]);

const ofAccount =
  /api[ _-]?key|accounts?\b|organi[sz]ation|billing|payment|credits?\b|balance|quota|subscription|oauth|suspended|country|region\b|territory/i;
const ofRequest = /\bmodels?\b|moderation|flagged|policy|safety|content|max_tokens/i;

/** The windows of a subscription that an answer reports. */
export function windowsIn(headers: Headers, now: number): UsageWindow[] {
  const numberIn = (name: string): number => Number(headers.get(name) ?? Number.NaN);
  const found: UsageWindow[] = [];
  for (const [header] of headers) {
    // A window for one model only, such as 7d_opus, does not stop the others.
    const claude = /^anthropic-ratelimit-unified-(\d+[hd])-utilization$/.exec(header)?.[1];
    if (claude !== undefined) {
      const of = `anthropic-ratelimit-unified-${claude}`;
      const isRejected = headers.get(`${of}-status`) === "rejected";
      const used = Math.round(numberIn(header) * 100);
      found.push({
        name: named(Number.parseInt(claude, 10) * (claude.endsWith("h") ? 60 : 1440)),
        used: isRejected ? Math.max(100, used) : used,
        until: numberIn(`${of}-reset`) * 1000,
      });
    }
    const codex = /^(x-codex-(?:primary|secondary))-used-percent$/.exec(header)?.[1];
    if (codex !== undefined) {
      const inSeconds = numberIn(`${codex}-reset-after-seconds`);
      found.push({
        name: named(numberIn(`${codex}-window-minutes`)),
        used: Math.round(numberIn(header)),
        until: Number.isFinite(inSeconds) ? now + inSeconds * 1000 : numberIn(`${codex}-reset-at`) * 1000,
      });
    }
  }
  const rejected = numberIn("anthropic-ratelimit-unified-reset") * 1000;
  if (headers.get("anthropic-ratelimit-unified-status") === "rejected" && rejected > now)
    if (!found.some(({ used, until }) => used >= 100 && until >= rejected))
      found.push({ name: texts.subscription, used: 100, until: rejected });
  return found
    .filter(({ used, until }) => Number.isFinite(used) && Number.isFinite(until))
    .map(({ name, used, until }) => ({
      name,
      used: Math.min(1000, Math.max(0, used)),
      until: Math.min(now + longestWait, Math.max(0, Math.round(until))),
    }));
}

function named(minutes: number): string {
  if (minutes === 10_080) return "week";
  const [count, unit] = minutes % 1440 === 0 ? [minutes / 1440, "day"] : [minutes / 60, "hour"];
  if (!Number.isFinite(count)) return texts.subscription;
  return `${Math.round(count * 10) / 10} ${unit}${count === 1 ? "" : "s"}`;
}

/** The provider's own sentence, or else the whole text. */
export const messageIn = (body: string): string =>
  (fieldIn(body, "message") || body).slice(0, 500).toWellFormed();

/** A field of the error in an answer. Empty if there is none. */
function fieldIn(body: string, name: string): string {
  try {
    const found: unknown = Object(Object(JSON.parse(body)).error)[name];
    return typeof found === "string" ? found : "";
  } catch {
    return "";
  }
}
