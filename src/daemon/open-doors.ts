import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { compacts, mayAskFor } from "../brains/registry.ts";
import type { CodexLogins } from "../brains/codex/login.ts";
import { holds } from "../capabilities/rights.ts";
import type { Limits } from "../contract/limits.ts";
import type { Audience } from "../contract/operation.ts";
import type { Dispatch } from "../dispatch/dispatch.ts";
import { authenticate } from "../dispatch/identity.ts";
import { batchDoor } from "../doors/batch.ts";
import { Callers } from "../doors/callers.ts";
import { createHttpDoor } from "../doors/http.ts";
import { modelDoor } from "../doors/model.ts";
import { signInDoor } from "../doors/sign-in-page.ts";
import { openSite } from "../doors/site.ts";
import { eventStream } from "../doors/stream.ts";
import { transcriptStream } from "../doors/transcript-stream.ts";
import { patient } from "../doors/waiting.ts";
import type { CallFiles } from "../gateway/call-files.ts";
import type { Courier } from "../gateway/courier.ts";
import { internetRelay } from "../gateway/relay.ts";
import { audiencesOf } from "../readers/audiences.ts";
import { noticesFor } from "../runtime/tool-notices.ts";
import { callbackPath } from "../servers/signing-in.ts";
import type { Store } from "../store/store.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { newId } from "./ids.ts";
import type { Metrics } from "./metrics.ts";
import { askInTime } from "./outages.ts";
import type { keepServers } from "./server-keeper.ts";
import { lazily, somethingChanged } from "./serving.ts";
import type { TrialSessions } from "./trial-sessions.ts";
import { version } from "./version.ts";

interface DoorWork {
  readonly store: Store;
  readonly node: string;
  readonly dispatch: Dispatch;
  readonly limits: Limits;
  /** The origins of the daemon, which are known once it listens. */
  readonly origins: () => readonly string[];
  readonly metrics: Metrics;
  readonly trials: TrialSessions;
  readonly servers: ReturnType<typeof keepServers>;
  readonly secrets: Pick<SecretStore, "valueFor">;
  readonly logins: CodexLogins;
  readonly courier: Courier & { readonly files: CallFiles };
  readonly used: (sessionId: string, text: string) => void;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly track: (work: Promise<void>) => void;
  readonly reportBug: (error: unknown, about: string) => string;
  readonly closing: AbortSignal;
}

/**
 * The entrances for calls: HTTP, MCP, the model gateway, streams, the dashboard, and the proxy from sandboxes to the internet.
 */
export function openDoors(parts: DoorWork) {
  const { store, limits, metrics, trials, servers, secrets, logins, courier, track, reportBug, closing } =
    parts;
  const check = async (given: string | undefined) =>
    trials.callerOf(given) ?? store.read((tx) => authenticate(tx, given));
  const notices = (given: string | undefined, wasRefused: boolean) =>
    noticesFor(store, newId, given, wasRefused);
  const audiences = async (given: string | undefined, as: string | undefined) => {
    if (trials.callerOf(given) !== undefined) return new Set<Audience>();
    return store.read(async (tx) => {
      const { agentId } = (await authenticate(tx, given, as)).actor;
      return agentId === null ? undefined : audiencesOf(tx, agentId);
    });
  };
  const callers = new Callers({
    limits,
    authenticate: check,
    clock: () => performance.now(),
    sleep: (milliseconds) => sleep(milliseconds, undefined, { ref: false }),
    closing,
  });
  const dispatch = patient(
    metrics.observing(callers.fairly(parts.dispatch)),
    () => somethingChanged(store, closing),
    closing,
    (given) => callers.mayWait(given),
  );
  const gateway = {
    store,
    newId,
    nodeId: parts.node,
    authenticate: check,
    secretOf: (companyId: string, name: string) => store.read((tx) => secrets.valueFor(tx, companyId, name)),
    logins,
    isOutside: (agentId: string) => store.read((tx) => holds(tx, agentId, "net:*", "use")),
    compacts,
    mayAskFor,
    used: parts.used,
    reportBug,
    courier,
    trialOf: trials.trialOf,
    closing,
    track,
  };
  const doorParts = {
    dispatch,
    authenticate: check,
    reportBug,
    version,
    notices,
    audiences,
    limits,
    outside: servers.outside,
  };
  const admit = (given: string | undefined, socket: Socket) => callers.admit(given, socket);
  const relay = internetRelay({
    store,
    newId,
    authenticate: check,
    admit,
    serverWith: servers.hostsOf,
    reportBug,
  });
  const resting = (milliseconds: number) => parts.sleep(milliseconds, closing);
  const server = createHttpDoor({
    ...doorParts,
    relay,
    admit,
    admitStranger: (socket, asks) => callers.admitStranger(socket, asks),
    site: openSite(join(import.meta.dirname, "../web")),
    origins: parts.origins,
    isReady: () => askInTime(store),
    others: [
      lazily("/mcp", async () => (await import("../doors/mcp.ts")).mcpDoor(doorParts)),
      lazily("/model", async () => modelDoor((await import("../gateway/gateway.ts")).modelGateway(gateway))),
      batchDoor({ ...doorParts, admit }),
      signInDoor(callbackPath, (answer) => servers.signIns.finish(answer)),
      eventStream(store, closing, resting),
      transcriptStream(store, doorParts.dispatch, closing, resting),
    ],
  });
  return { server, relay };
}
