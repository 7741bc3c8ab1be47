import { once } from "node:events";
import type { Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../contract/installation.ts";
import { Limits } from "../contract/limits.ts";
import type { Resolve } from "../capabilities/hosts.ts";
import { ownUrl, originsFor } from "../doors/host.ts";
import { gaugesIn } from "../readers/gauges.ts";
import { redactText } from "../redaction/redact.ts";
import { diskFull } from "../store/texts.ts";
import { kernelLimits } from "../processes/cgroups.ts";
import { keepMirrors } from "../repos/mirrors.ts";
import { sweepMirrors } from "../repos/salvage.ts";
import { keepSecrets } from "../secrets/secrets.ts";
import type { Store } from "../store/store.ts";
import { keepBrainHealth } from "./brain-health.ts";
import { keepTrials } from "./trial-sessions.ts";
import { failPoint } from "../runtime/fail-points.ts";
import { callFiles } from "../gateway/call-files.ts";
import { keepCourier } from "../gateway/courier.ts";
import { keepLostCalls } from "../gateway/lost-calls.ts";
import { keepCodexLogins } from "../brains/codex/login.ts";
import type { SessionNote } from "../processes/processes.ts";
import { storedTranscript } from "../processes/shared-transcripts.ts";
import { localTranscript, readTranscript } from "../processes/transcript.ts";
import { keepSandbox, type SandboxKeeper } from "../processes/sandbox.ts";
import { type Addresses, addressesOf } from "./addresses.ts";
import { keepAnchor } from "./anchor.ts";
import { admitBoard, createCore } from "./core.ts";
import {
  announceDaemon,
  boardToken,
  type DatabaseSources,
  type Home,
  lockHome,
  openHome,
  retract,
  systemUserName,
} from "./home.ts";
import { newId, newSecret } from "./ids.ts";
import { keepReports, type ReportsTo } from "./reports.ts";
import { keepMetrics } from "./metrics.ts";
import { type LocalName, takeLocalName } from "./local-name.ts";
import { keepOutages } from "./outages.ts";
import { keepRosterFiles } from "./roster-file.ts";
import { type BrainSources, keepStartingBrain } from "./starting-brain.ts";
import { type Space, watchSpace } from "./space.ts";
import { spaceIsBack, spaceIsLow } from "./texts.ts";
import { secretsFrom, type SecretSources } from "./secret-sources.ts";
import type { TelemetrySettings } from "./telemetry.ts";
import { openSealed, whenThereIsSpace } from "./opening.ts";
import { ownNode } from "./own-node.ts";
import { openDoors } from "./open-doors.ts";
import { keepServers } from "./server-keeper.ts";
import { startWork } from "./session-work.ts";
import { closeDoor, listeningOn } from "./serving.ts";
import { keepTidy } from "./tidying.ts";

/**
 * Starts, drains and stops a daemon. All its state is in the object, so one process can run several daemons on several homes.
 */
export interface DaemonOptions extends DatabaseSources {
  readonly home: string;
  readonly port: number;
  /** The IP address to listen on. Default: 127.0.0.1. */
  readonly address?: string | undefined;
  /** Other origins of the daemon, such as `https://agency.example`. Links use the first one. */
  readonly origins?: readonly string[] | undefined;
  /**
   * Resolves a name on this machine. If the daemon's local name leads here, links use it. Default: links use the plain address.
   */
  readonly resolve?: Resolve | undefined;
  /** Start sessions of agents. Default true. */
  readonly schedule?: boolean;
  /** The most sessions that run on this node at the same time. Default: no limit. */
  readonly maxSessions?: number | undefined;
  /** Run programs in a sandbox. Default true. */
  readonly sandbox?: boolean;
  /** Run programs even without a sandbox. Default false. */
  readonly allowUnsandboxed?: boolean;
  /** Asked at the start if there is no sandbox and running without one is not allowed yet. */
  readonly mayRunUnsandboxed?: (found: Sandbox) => Promise<boolean>;
  /** The key that seals the ledger. Default: the one in the home folder. */
  readonly auditKey?: string | undefined;
  /** A second place for the anchor of the ledger: a file or an address. */
  readonly anchorCopy?: string | undefined;
  /** The sources of secrets and their key. Default: no secrets; a key only if the home folder has one. */
  readonly secrets?: SecretSources;
  /** Where to look for the brain of a new company. Default: nowhere, so a new company gets the rehearsal. */
  readonly brain?: BrainSources;
  /** The step at which to die, for tests (runtime/fail-points.ts). */
  readonly failAt?: string | undefined;
  /** Where traces and metrics are sent. Default: nowhere. */
  readonly telemetry?: TelemetrySettings | undefined;
  /** Values that differ from the default limits. */
  readonly limits?: Partial<Limits>;
  readonly log: (line: Record<string, unknown>) => void;
  /** Called if a newer version has changed the data while this node stood still. Its process should end at once. */
  readonly tooOld?: (error: unknown) => void;
  /** Reports for the person who runs the daemon. Default: none. */
  readonly reports?: ReportsTo | undefined;
}

export interface Daemon {
  /** The address for programs of this machine. */
  readonly url: string;
  /** The address for people. */
  readonly origin: string;
  readonly token: string;
  readonly store: Store;
  /** Frees memory that calls can do without. */
  readonly rest: () => void;
  readonly sandbox: () => Sandbox;
  /**
   * Starts no new sessions, and lets running ones save their state for this long. A second call without a time ends the wait.
   */
  stop(drainMilliseconds?: number): Promise<void>;
}

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const addresses = addressesOf(options);
  const home = openHome(options.home);
  const lock = lockHome(home);
  const space = watchSpace(home, (isLow) =>
    options.log({ level: isLow ? "error" : "info", about: "disk", says: isLow ? spaceIsLow : spaceIsBack }),
  );
  const parts: Opened[] = [space];
  try {
    // A start may take long, while it waits for disk space or migrates the tables. A person must be able to stop it.
    await whenThereIsSpace(options, () => announceDaemon(home));
    const sandbox = await whenThereIsSpace(options, () =>
      keepSandbox({
        folder: home.sandbox,
        wanted: options.sandbox !== false,
        unsandboxedAllowed: options.allowUnsandboxed === true,
      }),
    );
    parts.push(sandbox);
    const store = await whenThereIsSpace(options, () => openSealed(options, home));
    space.keepReserve();
    return await startLocked({ options, addresses, home, sandbox, space, store, release: lock.release });
  } catch (error) {
    for (const part of parts) part.stop();
    retract(home);
    lock.release();
    throw error;
  }
}

interface Opened {
  stop(): void;
}

async function startLocked(opened: {
  options: DaemonOptions;
  addresses: Addresses;
  home: Home;
  sandbox: SandboxKeeper;
  space: Space;
  store: Store;
  release: () => void;
}): Promise<Daemon> {
  const { options, addresses, home, sandbox, space, release } = opened;
  const failing = failPoint(options.failAt, () => process.kill(process.pid, "SIGKILL"));
  const store = failing?.watch(opened.store) ?? opened.store;
  const sources = secretsFrom(options.secrets ?? {}, home);
  const secrets = keepSecrets(sources);
  const startingBrain = keepStartingBrain(
    options.brain,
    { ...sources.fallback, ...sources.given },
    sandbox.report,
  );
  const pause = (milliseconds: number, signal: AbortSignal) =>
    sleep(milliseconds, undefined, { ref: false, signal }).catch(() => undefined);
  const outages = keepOutages(store, options.log);
  const reportBug = (error: unknown, about: string): string => {
    const id = newId();
    if (outages.tellOf(error, about)) return id;
    options.log({
      level: "error",
      id,
      about,
      error: secrets.hide(
        redactText(error instanceof Error ? (error.stack ?? error.message) : String(error)),
      ),
    });
    return id;
  };
  const anchor = await keepAnchor({
    store,
    file: home.anchor,
    copy: options.anchorCopy,
    sleep: pause,
    reportBug,
  });
  const mirrors = keepMirrors({ folder: home.repos, enclose: (shows) => sandbox.enclose(shows) });
  await sweepMirrors({ store, mirrors }).catch((error: unknown) => reportBug(error, "mirrors"));
  const logins = keepCodexLogins({ home: home.path });
  const node = await ownNode({
    store,
    home,
    port: options.port,
    newId,
    pause: (milliseconds) => sleep(milliseconds),
    log: options.log,
  });
  /** Aborts when the daemon begins to stop: then it does not matter whether a brain could work. */
  const probing = new AbortController();
  const brains = keepBrainHealth({ secrets, logins, nodeId: node, closing: probing.signal });
  let url = "";
  let localName: LocalName | undefined;
  /** The address to which sign-in services send people back. They know the plain address of this machine, but not its names. */
  const returnOrigin = (): string => addresses.origins[0] ?? url;
  const origin = (): string => addresses.origins[0] ?? localName?.origin ?? url;
  const path = process.env["PATH"] ?? "/usr/bin:/bin";
  const onDoor = (door: Server): void =>
    void door.on("connection", (socket) => server.emit("connection", socket));
  const running = { home: home.path, url: () => url, sandbox, onDoor, path };
  const notes = new Map<string, (note: SessionNote) => void>();
  const servers = keepServers({
    store,
    folder: home.servers,
    running,
    secrets,
    origin: returnOrigin,
    failed: (sessionId, text) => notes.get(sessionId)?.({ kind: "error", text }),
    reportBug,
  });
  const trials = keepTrials({
    store,
    newId,
    newSecret,
    secrets,
    running,
    folder: join(home.path, "trials"),
  });
  const telemetry =
    options.telemetry &&
    (await import("./telemetry.ts")).keepTelemetry(options.telemetry, node, (line) => options.log(line));
  const metrics = keepMetrics(store, telemetry?.called);
  telemetry?.begin(async () => metrics.readings(await store.read(gaugesIn)));
  const closing = new AbortController();
  /** Requests of models that are not booked yet, and running tests of brains. */
  const asking = new Set<Promise<void>>();
  const track = (work: Promise<void>): void => {
    asking.add(work);
    void work.finally(() => asking.delete(work));
  };
  const core = createCore({
    store,
    closing: probing.signal,
    track,
    measured: metrics.text,
    nodeId: node,
    anchor,
    newId,
    newSecret,
    transcripts: {
      read: async (tx, id, after) =>
        readTranscript(localTranscript(home.transcripts, id) ?? (await storedTranscript(tx, id)), after),
    },
    sandbox: sandbox.report,
    kernelLimits,
    refusesWrites: () => (store.dialect === "sqlite" && space.isLow() ? diskFull() : undefined),
    secrets,
    mirrors,
    logins,
    troubleOf: brains.troubleOf,
    startingBrain,
    probeServer: servers.probe,
    signIns: servers.signIns,
    runTrial: trials.run,
    reportBug,
    origin,
  });
  await store.read((tx) => secrets.load(tx));
  const token = boardToken(home, newSecret);
  await admitBoard(store, token, newId, systemUserName());
  const files = callFiles(home.calls);
  const courier = { ...keepCourier(files.folder), files };
  const lostCalls = keepLostCalls({ store, newId, files, nodeId: node, reportBug });
  // Before new sessions make calls.
  const endCalls = await lostCalls.ofEarlierRun();
  let origins: readonly string[] = [];
  const { server, relay } = openDoors({
    store,
    node,
    dispatch: core.dispatch,
    limits: Limits.parse(options.limits ?? {}),
    origins: () => origins,
    metrics,
    trials,
    servers,
    secrets,
    logins,
    courier,
    used: (sessionId, text) => notes.get(sessionId)?.({ kind: "usage", text }),
    sleep: pause,
    track,
    reportBug,
    closing: closing.signal,
  });

  try {
    server.listen(options.port, addresses.address);
    await once(server, "listening");
  } catch (error) {
    await anchor.stop();
    await store.close();
    throw error;
  }
  const tidying = keepTidy({
    store,
    node,
    lostCalls: { atStart: endCalls, hourly: lostCalls.tooOld },
    closing: closing.signal,
    reportBug,
  });
  const { address, port } = listeningOn(server.address());
  origins = originsFor(address, port, addresses.origins);
  localName = await takeLocalName({ address, port }, options.resolve, onDoor);
  const rosterFiles = keepRosterFiles({
    store,
    folder: home.agents,
    sleep: pause,
    at: (step) => failing?.at(step),
    reportBug,
  });
  const reports =
    options.reports &&
    (await keepReports({
      store,
      ask: async (operation, input) =>
        operation.output.parse(await core.dispatch({ operation, token, input })),
      sleep: pause,
      reportBug,
      to: options.reports,
    }));
  url = ownUrl(address, port);
  try {
    announceDaemon(home, url);
  } catch (error) {
    reportBug(error, "daemon.json");
  }
  const found = await sandbox.tried;
  if (found.status !== "works" && !found.unsandboxedAllowed)
    if ((await options.mayRunUnsandboxed?.(found)) === true) sandbox.allowUnsandboxed();
  const work = await startWork({
    options,
    store,
    home,
    node,
    address: () => url,
    running: { ...running, notes },
    mirrors,
    courier,
    secrets,
    brains,
    sleep: pause,
    failing,
    reportBug,
    tooOld: (error) => options.tooOld?.(error),
  });

  let stopping: Promise<void> | undefined;
  const stop = async (drainMilliseconds: number): Promise<void> => {
    await work.drain(drainMilliseconds);
    probing.abort();
    outages.hurry();
    await trials.stop();
    await work.stop();
    await reports?.stop();
    await servers.stop();
    sandbox.stop();
    await rosterFiles.stop();
    closing.abort();
    relay.stop();
    tidying.stop();
    localName.stop();
    await closeDoor(server);
    await Promise.all(asking);
    lostCalls.stop();
    courier.stop();
    await anchor.stop();
    await telemetry?.stop();
    outages.stop();
    await store.close();
    metrics.stop();
    space.stop();
    retract(home);
    release();
  };
  return {
    url,
    origin: origin(),
    token,
    store,
    rest: core.rest,
    sandbox: sandbox.report,
    stop: (drainMilliseconds = 0) => {
      if (stopping !== undefined) void work.drain(drainMilliseconds);
      return (stopping ??= stop(drainMilliseconds));
    },
  };
}
