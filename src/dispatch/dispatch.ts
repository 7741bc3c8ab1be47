import { type TableName, tables } from "../store/schema.ts";
import { hash } from "node:crypto";
import { sql } from "kysely";
import { z } from "zod";
import { canonicalJson } from "../contract/canonical.ts";
import type { Operation } from "../contract/operation.ts";
import { problemsIn, sentencesOf } from "../contract/problems.ts";
import { invalid, notFound, Refusal } from "../contract/refusal.ts";
import { resourceId, resourceKind } from "../contract/resources.ts";
import { JsonObject } from "../contract/words.ts";
import { aboutSubject, type Actor, append } from "../events/ledger.ts";
import { redact, redactText } from "../redaction/redact.ts";
import { insertion } from "../store/inserts.ts";
import { query, type Query, selection } from "../store/query.ts";
import { agentRow, companyRow, fileRow, outcomeRow, sessionRow } from "../store/row-by-id.ts";
import { type ReadTx, readOnly, type Store, type Tx } from "../store/store.ts";
import { bySystem, callContext, type Writing } from "./context.ts";
import { type Accepted, type Guarded, Outside } from "./guarded.ts";
import { type Caller, callerAhead, identify } from "./identity.ts";
import { demand } from "../capabilities/visible.ts";
import { type KnownHome, Homes, keyOfHome, OtherHome } from "./homes.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { unarchiveCompany } from "../contract/companies.ts";
import { companyState } from "./company-settings.ts";
import {
  agentsOnly,
  boardOnly,
  companyArchived,
  companyIsFrozen,
  companyIdMissing,
  keyInvalid,
  keyReused,
} from "./texts.ts";

/**
 * The one way in. Every door passes its calls to dispatch(), which does all of this in one transaction:
 *   1. identify the caller, find the company and, for a write, wait for the company's lock
 *   2. identify the caller again, because its credential may have been revoked while the lock was awaited. If the company was
 *      known from an earlier call, the lock comes first, and one look is enough
 *   3. answer a repeated idempotency key with the first result
 *   4. check that the company is not frozen or archived, and the rights that the operation needs
 *   5. run the handler, which appends its events to the ledger
 * An operation that has to wait for something outside does all of this twice (Outside in guarded.ts).
 * A refusal rolls everything back and is then recorded in a second transaction.
 */
export interface DispatchRequest {
  readonly operation: Operation;
  readonly token: string | undefined;
  /** Id or slug of the position from which a person acts. */
  readonly as?: string | undefined;
  readonly input: unknown;
  readonly key?: string | undefined;
  /** Tags of the versions that the caller already has. */
  readonly has?: readonly string[];
  /** Size of the request in bytes. A door counts a large request as long work. */
  readonly bytes?: number;
  /** Aborts when the caller hangs up before it has its answer. */
  readonly gone?: AbortSignal;
  /** Called with the number of the last event that the answer to a person's read reflects. Agents never learn these numbers. */
  readonly reflects?: (seq: number) => void;
  /** Called if the answer is that of an earlier call with the same idempotency key. */
  readonly repeats?: () => void;
  /** The company whose events the caller follows. An answer about no single company reports this company's event number. */
  readonly follows?: string | undefined;
  /** `traceparent` of W3C Trace Context: the span of the caller that this call belongs to. */
  readonly trace?: string | undefined;
  /** The caller sends the answer on as text. If the operation has kept answers, the caller gets a KeptAnswer. */
  readonly takesText?: true;
}

export interface DispatcherParts {
  readonly store: Store;
  readonly handlers: readonly Guarded[];
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** The reason if nothing can be changed now, for example because the disk is nearly full. */
  readonly refusesWrites?: () => Refusal | undefined;
  /** Takes secrets out of the input of a write. `undo` is called if the write is rolled back. */
  readonly conceal?: (call: Writing, input: unknown) => Promise<{ input: unknown; undo: () => void }>;
  readonly hideIn?: (companyId: string, text: string) => string;
  /** Called when an agent reaches a limit of the organization, in the transaction that records the refusal. */
  readonly onLimit?: (call: Writing, agentId: string, refusal: Refusal) => Promise<void>;
}

export type Dispatch = (request: DispatchRequest) => Promise<unknown>;

/** `rest` frees memory that calls can do without. */
export function createDispatcher(parts: DispatcherParts): { dispatch: Dispatch; rest: () => void } {
  const handlers = new Map<Operation, Guarded>();
  for (const handler of parts.handlers) {
    if (handlers.has(handler.operation)) throw new Error(`${handler.operation.name} has two handlers`);
    handlers.set(handler.operation, handler);
  }
  const answers = new KeptAnswers(parts.store);
  const homes = new Homes();

  const dispatch: Dispatch = async (request) => {
    const handler = handlers.get(request.operation);
    if (handler === undefined) throw new Error(`${request.operation.name} has no handler`);
    const accepted = handler.accept(request.input);
    const badKey = request.key !== undefined && !isKey(request.key);
    if (accepted instanceof z.ZodError || badKey) {
      // A refusal lists the arguments of the operation. Only identified callers may see them.
      const { operation, as } = request;
      const { actor } = await parts.store.read((tx) => identify(tx, operation, tokenIn(request), as));
      throw accepted instanceof z.ZodError
        ? redactedRefusal(wrongInput(request.operation, accepted, actor))
        : keyInvalid();
    }
    const seen: Seen = {};
    const inOne = (once: Accepted): Promise<unknown> =>
      request.operation.effect === "read"
        ? answers.read(request, once.input, async (tx) => ({
            output: await run({ ...parts, homes }, request, once, readOnly(tx), seen),
            ...seen,
          }))
        : parts.store.write((tx) => run({ ...parts, homes }, request, once, tx, seen));
    const attempt = (once: Accepted): Promise<unknown> =>
      inOne(once).catch((thrown: unknown) => {
        if (thrown instanceof OtherHome) return inOne(once);
        throw thrown;
      });
    try {
      return await attempt(accepted).catch(async (thrown: unknown) => {
        if (!(thrown instanceof Outside)) throw thrown;
        const { run: again, end } = await thrown.work();
        let isCommitted = false;
        try {
          const answer = await attempt({ ...accepted, run: again });
          isCommitted = true;
          return answer;
        } finally {
          await end(isCommitted);
        }
      });
    } catch (thrown) {
      seen.undo?.();
      // After a refused credential, the next call with it must not wait for a company's lock.
      if (seen.caller === undefined) homes.forget(keyOfHome(tokenIn(request), request.as, accepted.input));
      const error = thrown instanceof Refusal ? redactedRefusal(thrown) : thrown;
      if (error instanceof Refusal && seen.caller !== undefined && isOnRecord(error, seen.caller)) {
        const { caller, companyId } = seen;
        const within = companyId || caller.companyId || "";
        const { agentId } = caller.actor;
        const isLimit = error.code === "limited" && agentId !== null && within !== "";
        await parts.store.write(async (tx) => {
          await tx.lock(within === "" ? "installation" : within);
          if (error.code === "damaged") return recordDamage(tx, within, caller.actor, error);
          append(tx, {
            companyId: within,
            actor: caller.actor,
            operation: "access.refused",
            subject: null,
            data: { operation: request.operation.name, code: error.code, message: error.message },
          });
          if (isLimit) await parts.onLimit?.(bySystem(tx, within, parts.newId), agentId, error);
        });
      }
      throw error;
    }
  };
  return { dispatch, rest: () => answers.rest() };
}

/** The credential of a call. Most calls send it with the request; a sign-in sends it as an argument. */
function tokenIn({ operation, token, input }: DispatchRequest): string | undefined {
  if (operation.credentialIn === undefined) return token;
  const given: unknown = Object(input)[operation.credentialIn];
  return typeof given === "string" ? given : undefined;
}

interface Seen {
  caller?: Caller;
  companyId?: string;
  undo?: () => void;
}

const ownerOfKeys = ({ agentId, personId, kind }: Caller["actor"]): string => agentId ?? personId ?? kind;

async function run(
  parts: DispatcherParts & { readonly homes: Homes },
  request: DispatchRequest,
  accepted: Accepted,
  tx: Tx,
  seen: Seen,
): Promise<unknown> {
  const { operation } = request;
  const { input, needs } = accepted;
  // The store may run a write more than once. Each new run first undoes what the run before left.
  seen.undo?.();
  const writes = operation.effect !== "read";
  const token = tokenIn(request);
  // SQLite has one writer, so nothing changes while a lock is awaited.
  const waits = writes && tx.dialect !== "sqlite";
  const homeKey = waits && operation.within !== "installation" ? keyOfHome(token, request.as, input) : "";
  const home = parts.homes.of(homeKey);
  if (home !== undefined) {
    callAhead(tx, operation, home, accepted);
    callerAhead(tx, token);
    await tx.lock(home.companyId);
  }
  let caller = await identify(tx, operation, token, request.as);
  seen.caller = caller;
  const key = operation.effect === "write" ? request.key : undefined;
  const inputHash = key === undefined ? "" : hash("sha256", canonicalJson(input));
  /** The result of the first call with this key, if there was one. */
  const firstAnswer = async ({ actor }: Caller): Promise<{ output: unknown } | undefined> => {
    if (key === undefined) return undefined;
    const first = await tx.first(firstResult, { actor: ownerOfKeys(actor), key });
    if (first === undefined) return undefined;
    if (first.operation !== operation.name || first.input_hash !== inputHash) throw keyReused();
    request.repeats?.();
    return { output: tables.idempotency.output.parse(first.output) };
  };
  let companyId: string;
  try {
    companyId = await findCompany(tx, operation, caller, input);
  } catch (error) {
    // The first call may have deleted the thing that the input names. Its answer is then repeated.
    const first = await firstAnswer(caller);
    if (first !== undefined) return first.output;
    throw error;
  }
  seen.companyId = companyId;
  parts.homes.keep(homeKey, { companyId, agentId: caller.actor.agentId });
  if (operation.effect === "write") {
    const refusal = parts.refusesWrites?.();
    if (refusal !== undefined) throw refusal;
  }
  if (waits && home !== undefined && companyId !== home.companyId) throw new OtherHome();
  if (writes && home === undefined) {
    await tx.lock(companyId === "" ? "installation" : companyId);
    callAhead(tx, operation, { companyId, agentId: caller.actor.agentId }, accepted);
    if (waits) caller = await identify(tx, operation, token, request.as);
  }
  const { actor } = caller;

  const who = ownerOfKeys(actor);
  const first = await firstAnswer(caller);
  if (first !== undefined) return first.output;

  if (operation.effect === "write" && companyId !== "") await demandOpen(tx, companyId, operation, actor);
  if (needs === "board") {
    if (actor.kind === "agent") throw boardOnly(operation);
  } else if (typeof needs !== "string") await demand(tx, actor, needs);

  // Each company numbers its own events. A recorded read reflects the state before its own record.
  const numbered = companyId === "" ? request.follows : companyId;
  if (
    request.reflects !== undefined &&
    actor.kind === "board" &&
    operation.effect !== "write" &&
    numbered !== undefined
  )
    request.reflects((await tx.first(headOf, { company_id: numbered }))?.seq ?? 0);

  const call = callContext(tx, {
    ...parts,
    caller,
    companyId,
    operation: operation.name,
    has: request.has ?? [],
  });
  const output = await accepted.run(call, async (whole) => {
    if (parts.conceal === undefined || operation.effect !== "write" || operation.takesSecret === true)
      return whole;
    const concealed = await parts.conceal(call, whole);
    seen.undo = concealed.undo;
    return concealed.input;
  });
  if (key !== undefined)
    await tx.run(keepResult, {
      actor: who,
      key,
      operation: operation.name,
      input_hash: inputHash,
      output: JSON.stringify(withoutSecrets(operation, output)),
      created_at: tx.now,
    });
  return output;
}

/** In a frozen company, agents can change nothing. In an archived company, people can only take it out of the archive. */
async function demandOpen(tx: ReadTx, companyId: string, { name }: Operation, actor: Actor): Promise<void> {
  const company = await companyState(tx, companyId);
  if (company.state === "archived" && name !== unarchiveCompany.name) throw companyArchived(company);
  if (company.state === "frozen" && actor.kind === "agent") throw companyIsFrozen(company);
}

/** The company of a call. The id of a thing in another company is refused like an id that does not exist. */
async function findCompany(
  tx: ReadTx,
  operation: Operation,
  caller: Caller,
  input: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (operation.within === "installation") return "";
  if (operation.within !== "company") {
    for (const [noun, key] of Object.entries(operation.within)) {
      const given = input[key];
      // If the input names several things, the handler says which are missing. A refusal here would tell whether the first one
      // exists.
      if (Array.isArray(given) && caller.companyId !== null) return caller.companyId;
      // For a person, the first thing decides which company is meant.
      const thing = thingIn(noun, given);
      if (thing === undefined) continue;
      const { owned, id } = thing;
      const owner = (await tx.first(owned, { id }))?.company_id;
      if (owner === undefined || (caller.companyId !== null && owner !== caller.companyId))
        throw notFound(noun, id);
      return owner;
    }
  }
  const named = typeof input["companyId"] === "string" ? input["companyId"] : undefined;
  if (caller.companyId !== null) {
    if (named !== undefined && named !== caller.companyId) throw notFound("company", named);
    return caller.companyId;
  }
  const canName = named !== undefined || "companyId" in operation.input.shape;
  return companyNamed(tx, named, canName ? undefined : () => agentsOnly(operation));
}

/**
 * Most calls read the company and the things that they are about or need a right on. These reads travel with that of the
 * credential.
 */
function callAhead(
  tx: ReadTx,
  { within }: Operation,
  home: KnownHome,
  { input, needs, ahead }: Accepted,
): void {
  tx.ahead(companyRow, { id: home.companyId });
  const named = typeof within === "string" ? [] : Object.entries(within);
  const needed = typeof needs === "string" ? [] : needs;
  for (const thing of [
    ...named.map(([noun, argument]) => thingIn(noun, input[argument])),
    ...needed.map(({ on }) => thingIn(resourceKind(on), resourceId(on))),
  ])
    if (thing !== undefined) tx.ahead(thing.owned, { id: thing.id });
  ahead?.(tx, home);
}

/** The thing that an argument names by its id, or the first of several. */
function thingIn(noun: string, given: unknown): { owned: Owner; id: string } | undefined {
  const [named] = [given].flat();
  const owned = owners.get(noun);
  if (typeof named !== "string" || owned === undefined || !z.uuid().safeParse(named).success)
    return undefined;
  return { owned, id: named.toLowerCase() };
}

/** The company that the board names, or the only one. */
export async function companyNamed(
  tx: ReadTx,
  named: string | undefined,
  unnamed?: () => Refusal,
): Promise<string> {
  if (named !== undefined) {
    if ((await tx.first(companyRow, { id: named })) === undefined) throw notFound("company", named);
    return named;
  }
  const companies = await tx.all(someCompanies, {});
  const [only] = companies;
  if (only !== undefined && companies.length === 1) return only.id;
  throw unnamed?.() ?? companyIdMissing(companies);
}

function wrongInput(operation: Operation, error: z.ZodError, actor: Actor): Refusal {
  const problems = problemsIn(operation.input, error);
  const hints = [...new Set(problems.flatMap(({ hint }) => hint ?? []))];
  const name = actor.kind === "agent" ? (operation.mcp?.tool ?? operation.name) : operation.name;
  const keys = Object.keys(operation.input.shape).filter((key) => key !== "companyId");
  const takes =
    keys.length === 0
      ? `${name} takes no arguments.`
      : `${name} takes ${keys.join(", ")}. GET /api/openapi.json describes them.`;
  return invalid(sentencesOf(problems), hints.length > 0 ? hints.join(" ") : takes);
}

/** A refusal repeats parts of the input, and is recorded and logged. So secrets are taken out first. */
function redactedRefusal(refusal: Refusal): Refusal {
  const { code, message, hint, details } = refusal;
  const [shown, shownHint] = [redactText(message), redactText(hint)];
  const shownDetails = details === undefined ? undefined : JsonObject.parse(redact(details).value);
  return new Refusal(code, shown, shownHint, shownDetails);
}

function isKey(key: string): boolean {
  return /^[\x21-\x7e]{1,200}$/.test(key);
}

/**
 * Which refusals are recorded: those that show what an agent tried to reach. A stale version or an invalid input is not
 * recorded. For the board, only "refused" is: the board may look for things that don't exist.
 */
function isOnRecord(refusal: Refusal, caller: Caller): boolean {
  if (caller.actor.kind !== "agent") return ["refused", "damaged"].includes(refusal.code);
  return ["forbidden", "refused", "limited", "not_found", "gone", "damaged"].includes(refusal.code);
}

/** Records damaged content once. The board learns of it, however many readers meet it. */
async function recordDamage(tx: Tx, companyId: string, actor: Actor, { details }: Refusal): Promise<void> {
  const subject = String(details?.["file"]);
  const known = await tx.all(aboutSubject, { subject, before: Number.MAX_SAFE_INTEGER, limit: 1000 });
  const data = { hash: details?.["hash"] };
  const operation = "knowledge.damaged";
  if (known.some((event) => event.operation === operation && event.data === JSON.stringify(data))) return;
  append(tx, { companyId, actor, operation, subject, data });
}

function withoutSecrets(operation: Operation, output: unknown): unknown {
  if (operation.shownOnce === undefined || typeof output !== "object" || output === null) return output;
  const secret = new Set(operation.shownOnce);
  return Object.fromEntries(
    Object.entries(output).map(([key, value]) => [key, secret.has(key) ? shownBefore(value) : value]),
  );
}

/** Replaces values but keeps the shape, because a repeated answer has the same fields as the first. */
const shownBefore = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shownBefore(inner)]))
    : "[shown once]";

/** Finds the company of a thing by its id, in the tables that may hold it. */
const ownerIn = (...places: readonly TableName[]) =>
  query((db, p: { id: string }) => {
    const parts = places.map((table) => sql`select company_id from ${sql.table(table)} where id = ${p.id}`);
    const text = sql<{ company_id: string }>`${sql.join(parts, sql` union `)}`;
    return { compile: () => text.compile(db) };
  });

type Owner = Query<{ id: string }, { company_id: string }>;
/** Most queries find the whole row. The handler reads it too, and on PostgreSQL a write reads a row only once. */
const owners: ReadonlyMap<string, Owner> = new Map<string, Owner>([
  ["file", fileRow],
  ["agent", agentRow],
  ["outcome", outcomeRow],
  ["grant", selection("grants", ["id"])],
  ["message", selection("messages", ["id"])],
  ["session", sessionRow],
  ["approval", selection("approvals", ["id"])],
  ["reorganization", selection("reorganizations", ["id"])],
  ["agent or outcome", ownerIn("outcomes", "agents")],
]);

const someCompanies = query((db, _: Record<never, never>) =>
  db
    .selectFrom("companies")
    .select(["id", "name"])
    .where("archived_at", "is", null)
    .orderBy("created_at")
    .limit(6),
);

const firstResult = query((db, p: { actor: string; key: string }) =>
  db.selectFrom("idempotency").selectAll().where("actor", "=", p.actor).where("key", "=", p.key),
);

const headOf = selection("ledger_heads", ["company_id"]);

const keepResult = insertion("idempotency");
