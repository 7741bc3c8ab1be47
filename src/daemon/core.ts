import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher, type Dispatch } from "../dispatch/dispatch.ts";
import type { Writing } from "../dispatch/context.ts";
import { operations } from "../contract/operation-table.ts";
import { type CodexLogins, keepCodexLogins } from "../brains/codex/login.ts";
import { rehearsing, type StartingBrain } from "../brains/finding.ts";
import { keepCredential } from "../agents/keys.ts";
import { tellOfLimit } from "../mail/notices.ts";
import { boardPeople } from "../capabilities/people.ts";
import { hashToken } from "../dispatch/identity.ts";
import { append, system } from "../events/ledger.ts";
import { addPerson, boardTokenLabel, markSignedIn } from "../people/table.ts";
import { selection } from "../store/query.ts";
import type { Sandbox } from "../contract/installation.ts";
import type { DispatcherParts } from "../dispatch/dispatch.ts";
import { keepMirrors, type Mirrors } from "../repos/mirrors.ts";
import { keepSecrets, type SecretStore } from "../secrets/secrets.ts";
import type { ProbeServer } from "../servers/checking.ts";
import { keepSignIns } from "../servers/signing-in.ts";
import type { SigningIn } from "../servers/sign-in-operation.ts";
import type { Store } from "../store/store.ts";
import { readTranscript } from "../processes/transcript.ts";
import type { Transcripts } from "../runtime/operations.ts";
import type { TroubleOf } from "../runtime/work.ts";
import type { AnchorReader } from "../readers/activity.ts";
import type { BrainTesting } from "./brain-test.ts";
import { handlersFor } from "./handlers.ts";
import type { Metrics } from "./metrics.ts";

/** The program without its doors: a store and the dispatch of every operation. Tests and benchmarks start here. */
export interface Core {
  readonly store: Store;
  readonly dispatch: Dispatch;
  /** Frees memory that calls can do without. */
  readonly rest: () => void;
}

export interface CoreParts
  extends
    Pick<BrainTesting, "runTrial" | "reportBug" | "track" | "closing">,
    Pick<DispatcherParts, "store" | "newId" | "newSecret" | "refusesWrites"> {
  /** The output of sessions. Tests leave it out: every transcript is then empty. */
  readonly transcripts?: Transcripts;
  /** The isolation of sessions. Tests leave it out: every session then has a sandbox. */
  readonly sandbox?: () => Sandbox;
  /** Which limits of sessions the kernel enforces. Tests leave it out: all of them. */
  readonly kernelLimits?: () => { readonly processes: boolean; readonly memory: boolean };
  /** The notes about the ledger outside the database. Tests may leave it out. */
  readonly anchor?: AnchorReader;
  /** The logins of people's own programs. Tests may leave it out. */
  readonly logins?: CodexLogins;
  /** Finds what keeps an agent's brain from working now. Tests leave it out: every brain can work. */
  readonly troubleOf?: TroubleOf;
  /** The brain of a new company. Tests leave it out and get the rehearsal. */
  readonly startingBrain?: () => Promise<StartingBrain>;
  /** Tests leave it out: secrets are then only in memory. */
  readonly secrets?: SecretStore;
  /** Tests an MCP server. Tests leave it out: no server works then. */
  readonly probeServer?: ProbeServer;
  /** Signs in for MCP servers. Tests may leave it out. */
  readonly signIns?: SigningIn;
  /** Tests may leave it out: mirrors are then in this machine's temporary folder. */
  readonly mirrors?: Mirrors;
  /** The daemon's address for links. Tests leave it out. */
  readonly origin?: () => string;
  /** Writes the figures of this process. Tests leave it out and have no figures. */
  readonly measured?: Metrics["text"];
  /** The id of this node. Tests may leave it out. */
  readonly nodeId?: string;
}

export function createCore(parts: CoreParts): Core {
  const secrets = parts.secrets ?? keepSecrets();
  const origin = parts.origin ?? (() => "http://127.0.0.1:4600");
  const handlers = handlersFor({
    transcripts: parts.transcripts ?? { read: () => readTranscript(undefined) },
    sandbox: parts.sandbox ?? (() => ({ status: "works", unsandboxedAllowed: false, says: "", remedy: "" })),
    kernelLimits: parts.kernelLimits ?? (() => ({ processes: true, memory: true })),
    anchor: parts.anchor ?? { read: () => new Map() },
    secrets,
    store: parts.store,
    mirrors:
      parts.mirrors ?? keepMirrors({ folder: join(tmpdir(), "agency-mirrors"), enclose: () => undefined }),
    logins: parts.logins ?? keepCodexLogins(),
    troubleOf: parts.troubleOf ?? (async () => undefined),
    ...(parts.runTrial && { runTrial: parts.runTrial }),
    ...(parts.reportBug && { reportBug: parts.reportBug }),
    track: parts.track,
    closing: parts.closing,
    startingBrain: parts.startingBrain ?? (async () => rehearsing),
    probeServer: parts.probeServer ?? (async () => ({ works: false, says: "", tools: [] })),
    signIns: parts.signIns ?? keepSignIns({ ...parts, secrets, origin }),
    origin,
    measured: parts.measured ?? (() => ""),
    nodeId: parts.nodeId,
  });
  const handled = new Set(handlers.map(({ operation }) => operation));
  const missing = operations.filter((operation) => !handled.has(operation));
  if (missing.length > 0)
    throw new Error(`operations without a handler: ${missing.map(({ name }) => name).join(", ")}`);
  const conceal = (call: Writing, input: unknown) => secrets.conceal(call, input);
  const hideIn = (companyId: string, text: string) => secrets.hideIn(companyId, text);
  const { dispatch, rest } = createDispatcher({ ...parts, handlers, conceal, hideIn, onLimit: tellOfLimit });
  return {
    store: parts.store,
    dispatch,
    rest: () => {
      rest();
      parts.store.rest();
    },
  };
}

/**
 * Registers the token of a home as a credential of the first board person. If there are no people yet, creates that person with
 * `name`. A known token stays its owner's: if the owner is removed, the token ends, and no other person gets it. Otherwise the
 * next start would act under the name of a person who did nothing.
 */
export async function admitBoard(
  store: Store,
  token: string,
  newId: () => string,
  name = "Owner",
): Promise<void> {
  await store.write(async (tx) => {
    await tx.lock("installation");
    if ((await tx.first(credentialByHash, { hash: hashToken(token) })) !== undefined) return;
    const [first] = await boardPeople(tx);
    const owner = first ?? (await addPerson(tx, system, { id: newId(), name, role: "board" }));
    // The owner has a credential now. From here on, only the owner can make a sign-in link.
    await tx.run(markSignedIn, { id: owner.id, signed_in_at: owner.signed_in_at ?? tx.now });
    const id = newId();
    const label = boardTokenLabel;
    await keepCredential(tx, { id, token, kind: "person", personId: owner.id, label });
    const data = { signIn: id, kind: "program", label };
    append(tx, { companyId: "", actor: system, operation: "person.sign_in", subject: owner.id, data });
  });
}

const credentialByHash = selection("credentials", ["hash"]);
