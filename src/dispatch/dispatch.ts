import { type TableName, tables } from "../store/schema.ts";
import { hash } from "node:crypto";
import { sql } from "kysely";
import { z } from "zod";
import { canonicalJson } from "../contract/canonical.ts";
import type { Operation } from "../contract/operation.ts";
import { problemsIn, sentencesOf } from "../contract/problems.ts";
import { invalid, notFound, Refusal } from "../contract/refusal.ts";
import { JsonObject } from "../contract/words.ts";
import { aboutSubject, type Actor, append } from "../events/ledger.ts";
import { redact, redactText } from "../redaction/redact.ts";
import { insertion, query } from "../store/query.ts";
import { type ReadTx, readOnly, type Store, type Tx } from "../store/store.ts";
import { bySystem, callContext, type Writing } from "./context.ts";
import type { Accepted, Guarded } from "./guarded.ts";
import { authenticate, type Caller } from "./identity.ts";
import { demand } from "../capabilities/visible.ts";
import { agentsOnly, boardOnly, keyInvalid, keyReused, companyIdMissing } from "./texts.ts";

/**
 * The one way in. Every door passes its calls to dispatch(), which does all of this in one transaction:
 *   1. identify the caller, find the company and, for a write, wait for the company's lock
 *   2. identify the caller again, because its credential may have been revoked while the lock was awaited
 *   3. answer a repeated idempotency key with the first result
 *   4. check the rights that the operation needs
 *   5. run the handler, which appends its events to the ledger
 * A refusal rolls everything back and is then recorded in a second transaction.
 */
export interface DispatchRequest {
  readonly operation: Operation;
  readonly token: string | undefined;
  readonly input: unknown;
  readonly key?: string | undefined;
  /** Size of the request. A door counts a large one as work that takes long. */
  readonly bytes?: number;
}

export interface DispatcherParts {
  readonly store: Store;
  readonly handlers: readonly Guarded[];
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** Why nothing can be changed now, for example because the disk is nearly full. */
  readonly refusesWrites?: () => Refusal | undefined;
  /** Takes secrets out of the input of a write. `undo` is called if the write is rolled back. */
  readonly conceal?: (call: Writing, input: unknown) => Promise<{ input: unknown; undo: () => void }>;
  readonly hideIn?: (companyId: string, text: string) => string;
  /** Called when an agent reaches a limit of the organization, in the transaction that records the refusal. */
  readonly onLimit?: (call: Writing, agentId: string, refusal: Refusal) => Promise<void>;
}

export type Dispatch = (request: DispatchRequest) => Promise<unknown>;

export function createDispatcher(parts: DispatcherParts): Dispatch {
  const handlers = new Map<Operation, Guarded>();
  for (const handler of parts.handlers) {
    if (handlers.has(handler.operation)) throw new Error(`${handler.operation.name} has two handlers`);
    handlers.set(handler.operation, handler);
  }

  return async (request) => {
    const handler = handlers.get(request.operation);
    if (handler === undefined) throw new Error(`${request.operation.name} has no handler`);
    const accepted = handler.accept(request.input);
    const badKey = request.key !== undefined && !isKey(request.key);
    if (accepted instanceof z.ZodError || badKey) {
      // A refusal says which arguments an operation takes, so the caller has to be known first.
      const { actor } = await parts.store.read((tx) => authenticate(tx, request.token));
      throw accepted instanceof z.ZodError
        ? redactedRefusal(wrongInput(request.operation, accepted, actor))
        : keyInvalid();
    }
    const seen: Seen = {};
    try {
      if (request.operation.effect === "read")
        return await parts.store.read((tx) => run(parts, request, accepted, readOnly(tx), seen));
      return await parts.store.write((tx) => run(parts, request, accepted, tx, seen));
    } catch (thrown) {
      seen.undo?.();
      const error = thrown instanceof Refusal ? redactedRefusal(thrown) : thrown;
      if (error instanceof Refusal && seen.caller !== undefined && isOnRecord(error, seen.caller)) {
        const { caller, companyId } = seen;
        const within = companyId || caller.companyId || "";
        const { agentId } = caller.actor;
        const isLimit = error.code === "limited" && agentId !== null && within !== "";
        await parts.store.write(async (tx) => {
          if (isLimit) await tx.lock(within);
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
}

interface Seen {
  caller?: Caller;
  companyId?: string;
  undo?: () => void;
}

async function run(
  parts: DispatcherParts,
  request: DispatchRequest,
  accepted: Accepted,
  tx: Tx,
  seen: Seen,
): Promise<unknown> {
  const { operation } = request;
  const { input, needs } = accepted;
  const writes = operation.effect !== "read";
  let caller = await authenticate(tx, request.token);
  seen.caller = caller;
  const companyId = await findCompany(tx, operation, caller, input);
  seen.companyId = companyId;
  if (operation.effect === "write") {
    const refusal = parts.refusesWrites?.();
    if (refusal !== undefined) throw refusal;
  }
  if (writes) {
    await tx.lock(companyId === "" ? "installation" : companyId);
    // SQLite has one writer, so nothing can have changed. On PostgreSQL the lock may have taken long.
    if (tx.dialect !== "sqlite") caller = await authenticate(tx, request.token);
  }
  const { actor } = caller;

  const key = operation.effect === "write" ? request.key : undefined;
  const who = actor.agentId ?? actor.kind;
  const inputHash = key === undefined ? "" : hash("sha256", canonicalJson([companyId, input]));
  if (key !== undefined) {
    const first = await tx.first(firstResult, { actor: who, key });
    if (first !== undefined) {
      if (first.operation !== operation.name || first.input_hash !== inputHash) throw keyReused();
      return tables.idempotency.output.parse(first.output);
    }
  }

  if (needs === "board") {
    if (actor.kind === "agent") throw boardOnly(operation);
  } else if (needs !== "member") await demand(tx, actor, needs);

  const call = callContext(tx, { ...parts, caller, companyId, operation: operation.name });
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

/** The company of a call. The id of another company's thing gets the same refusal as an id that does not exist. */
async function findCompany(
  tx: ReadTx,
  operation: Operation,
  caller: Caller,
  input: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (operation.within === "installation") return "";
  if (operation.within !== "company") {
    for (const [noun, key] of Object.entries(operation.within)) {
      const named = input[key];
      const owned = owners.get(noun);
      if (typeof named !== "string" || owned === undefined || !z.uuid().safeParse(named).success) continue;
      const id = named.toLowerCase();
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

/** A refusal repeats what the caller sent, and is put on record and in logs. */
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
 * Refusals that show what an agent tried to reach go on record. A stale version or an invalid input does not. For the board,
 * only "refused" does: it may look for things that don't exist.
 */
function isOnRecord(refusal: Refusal, caller: Caller): boolean {
  if (caller.actor.kind !== "agent") return ["refused", "damaged"].includes(refusal.code);
  return ["forbidden", "refused", "limited", "not_found", "gone", "damaged"].includes(refusal.code);
}

/** Once for each content: the board learns of it, however many readers meet it. */
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
  return { ...output, ...Object.fromEntries(operation.shownOnce.map((key) => [key, "[shown once]"])) };
}

/** Finds the company of a thing by its id, in the tables that may hold it. */
const ownerIn = (...places: readonly TableName[]) =>
  query((db, p: { id: string }) => {
    const parts = places.map((table) => sql`select company_id from ${sql.table(table)} where id = ${p.id}`);
    const text = sql<{ company_id: string }>`${sql.join(parts, sql` union `)}`;
    return { compile: () => text.compile(db) };
  }, []);

const owners = new Map([
  ["file", ownerIn("files")],
  ["agent", ownerIn("agents")],
  ["outcome", ownerIn("outcomes")],
  ["grant", ownerIn("grants")],
  ["message", ownerIn("messages")],
  ["session", ownerIn("sessions")],
  ["approval", ownerIn("approvals")],
  ["reorganization", ownerIn("reorganizations")],
  ["agent or outcome", ownerIn("outcomes", "agents")],
]);

const companyRow = query((db, p: { id: string }) =>
  db.selectFrom("companies").select("id").where("id", "=", p.id),
);

const someCompanies = query((db, _: Record<never, never>) =>
  db.selectFrom("companies").select(["id", "name"]).orderBy("created_at").limit(6),
);

const firstResult = query((db, p: { actor: string; key: string }) =>
  db.selectFrom("idempotency").selectAll().where("actor", "=", p.actor).where("key", "=", p.key),
);

const keepResult = insertion("idempotency");
