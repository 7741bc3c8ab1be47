import { sql } from "kysely";
import { writeIn } from "../dispatch/context.ts";
import { checksIn } from "../store/checks.ts";
import { textQuery } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { Store } from "../store/store.ts";
import type { CallFate, CallFiles } from "./call-files.ts";
import { bookedEnd, closeCall, trialSpender } from "./calls.ts";
import { noTokens, type TokensUsed } from "./dialects.ts";
import { type Priced, priceOf } from "./prices.ts";
import { providerOf } from "./providers.ts";

/**
 * The calls that no daemon waits for any more. They are booked with the usage that their courier noted (courier-process.ts).
 */
export interface LostCallParts {
  readonly store: Store;
  readonly newId: () => string;
  readonly files: CallFiles;
  readonly nodeId: string;
  readonly reportBug: (error: unknown, about: string) => string;
}

export function keepLostCalls({ store, newId, files, nodeId, reportBug }: LostCallParts) {
  let timer: NodeJS.Timeout | undefined;
  const end = async (calls: readonly LostCall[], fateOf: (id: string) => CallFate): Promise<LostCall[]> => {
    const left: LostCall[] = [];
    for (const call of calls) {
      const fate = fateOf(call.id);
      if (fate === "asking") left.push(call);
      else {
        await book(store, newId, call, fate);
        files.forget(call.id);
      }
    }
    return left;
  };
  const endAsAnswered = async (calls: readonly LostCall[]): Promise<void> => {
    const left = await end(calls, files.fateOf);
    if (left.length === 0) return;
    timer = setTimeout(
      () => void endAsAnswered(left).catch((error: unknown) => reportBug(error, "model calls")),
      500,
    );
    timer.unref();
  };
  return {
    /**
     * Called when a daemon starts. Finds the calls that an earlier run of this node left open, and returns a function that ends
     * them. Some may still be answered.
     */
    ofEarlierRun: async (): Promise<() => Promise<void>> => {
      const calls = await store.read((tx) =>
        tx.all(callsOfNode, { nodeId, trials: trialSpender(nodeId, "") }),
      );
      files.keepOnly(new Set(calls.map(({ id }) => id)));
      return () => endAsAnswered(calls);
    },
    /** The calls of any node that are older than a call can be. */
    tooOld: async (): Promise<void> => {
      const calls = await store.read((tx) => tx.all(oldCalls, { before: tx.now - oldestCall }));
      // The couriers of another node have their files there, not here.
      await end(calls, (id) => {
        const fate = files.fateOf(id);
        return typeof fate === "string" ? "lost" : fate;
      });
    },
    stop: (): void => clearTimeout(timer),
  };
}

type LostCall = Row<"model_calls">;

async function book(
  store: Store,
  newId: () => string,
  call: LostCall,
  fate: Exclude<CallFate, "asking">,
): Promise<void> {
  const config = await store.read((tx) => providerOf(tx, call.company_id, call.provider));
  const price = config === undefined ? undefined : await priceOf(call.provider, config, call.model);
  const { status, tokens } = endOf(call, fate);
  const cost = status === "failed" ? 0 : (costOf(call, fate, tokens, price) ?? call.most_usd);
  await writeIn(store, call.company_id, newId, (writing) =>
    closeCall(writing, call.id, { status, tokens, cost }),
  );
}

function endOf(call: LostCall, fate: Exclude<CallFate, "asking">): ReturnType<typeof bookedEnd> {
  if (fate === "unasked") return { status: "failed", tokens: noTokens };
  const { input_tokens: input, cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite } = call;
  const most = { input, output: call.most_tokens - input - cacheRead - cacheWrite };
  if (fate !== "lost") return bookedEnd(fate, most);
  // An answer that did not report its output counts as the longest possible.
  return {
    status: "cut",
    tokens: { input, cacheRead, cacheWrite, output: call.output_tokens || most.output },
  };
}

/** Noted usage already has a cost, which includes how long a cache keeps what was written to it. */
function costOf(
  call: LostCall,
  fate: CallFate,
  tokens: TokensUsed,
  price: Priced | undefined,
): number | undefined {
  if (fate !== "lost" || call.cost === 0) return price?.(tokens);
  return call.output_tokens === 0 ? call.most_usd : call.cost;
}

/** The gateway waits 15 minutes for an answer, and a streamed answer may take another 15 minutes. */
const oldestCall = 60 * 60_000;

const callsOfNode = textQuery(
  (p: { nodeId: string; trials: string }) =>
    sql<LostCall>`select c.* from model_calls c left join sessions s on s.id = c.session_id
      where c.status = 'open' and (s.node_id = ${p.nodeId} or c.session_id = ${p.trials} || c.company_id)`,
  { checks: checksIn("model_calls") },
);
const oldCalls = textQuery(
  (p: { before: number }) =>
    sql<LostCall>`select * from model_calls where status = 'open' and started_at < ${p.before}`,
  { checks: checksIn("model_calls") },
);
