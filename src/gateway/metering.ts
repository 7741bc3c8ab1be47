import type { ProviderConfig } from "../contract/providers.ts";
import { writeIn } from "../dispatch/context.ts";
import { type CallEnd, callEnd } from "./call-files.ts";
import { bookedEnd, closeCall, noteUse, openCall, type Spender } from "./calls.ts";
import { type Asked, type Listener, noTokens, type TokensUsed } from "./dialects.ts";
import { askProvider, type Exchange, type GatewayParts, pass, CallRefused } from "./forwarding.ts";
import type { ModelCredential } from "./model-credentials.ts";
import { contextTokensOf, type Priced } from "./prices.ts";
import * as texts from "./texts.ts";

/** After this many notes, an answer that reports its usage very often is noted less often. */
const mostNotes = 10;
const noteEvery = 2000;

interface MeteredCall {
  readonly spender: Spender;
  readonly credential: ModelCredential;
  readonly asked: Asked;
  readonly price: Priced;
  readonly listener: Listener | undefined;
  /** How often a provider that asks for it is tried again. */
  readonly mostTries?: number;
  /** Called with an answer that is a refusal, before the program gets it. */
  readonly onRefusal?: (answer: Response) => Promise<void>;
  readonly onBooked?: (tokens: TokensUsed, cost: number) => void;
}

/** Thrown if the budget does not cover a call. */
export class OverBudget extends CallRefused {
  constructor(lacks: string) {
    super(403, texts.budgetTooSmall(lacks));
  }
}

/** Reserves the most that the call can cost, forwards the call, and books its usage, even if the program is gone meanwhile. */
export async function metered(
  parts: GatewayParts,
  place: { readonly companyId: string; readonly provider: string; readonly config: ProviderConfig },
  exchange: Exchange,
  call: MeteredCall,
): Promise<void> {
  const { store, newId, courier } = parts;
  const { companyId, provider, config } = place;
  const { spender, asked, price, listener } = call;
  const id = newId();
  const most = { input: asked.mostInput, output: asked.mostOutput };
  const { input } = most;
  const atMost: TokensUsed = {
    ...noTokens,
    cacheWrite: input,
    output: most.output,
    ...(asked.writesForAnHour ? { hourWrite: input } : {}),
  };
  await parts.bookings.ended(spender.id);
  const lacks = await writeIn(store, companyId, newId, (writing) =>
    openCall(writing, {
      id,
      spender,
      provider,
      model: asked.model,
      input,
      mostTokens: input + most.output,
      mostUsd: Math.max(price(atMost), price({ ...noTokens, ...most })),
    }),
  );
  if (lacks !== undefined) throw new OverBudget(lacks);
  let status: CallEnd["status"] = "failed";
  // The usage of an answer is noted before the program hears it. So a killed daemon has booked everything that was answered.
  let noted: TokensUsed | undefined;
  let [notes, lastNote] = [0, 0];
  const note = async (): Promise<void> => {
    const used = listener?.used();
    if (used === undefined || used === noted) return;
    if (notes >= mostNotes && performance.now() < lastNote + noteEvery) return;
    [noted, notes, lastNote] = [used, notes + 1, performance.now()];
    const costs = { soFar: price(used), atMost: price({ ...used, output: most.output }) };
    await writeIn(store, companyId, newId, (writing) =>
      noteUse(writing, id, { used, mostOutput: most.output, costs }),
    ).catch((error: unknown) => parts.reportBug(error, `model call ${id}`));
  };
  try {
    const carried = courier?.fetchFor({ id, config, path: exchange.path });
    const asking = carried === undefined ? parts : { ...parts, fetch: carried };
    const answer = await askProvider(asking, place, exchange, call.credential, asked.body, call.mostTries);
    if (answer.ok) {
      status = "cut";
      await pass(answer, exchange.response, (data) => listener?.heard(data), note);
      status = "done";
    } else {
      await call.onRefusal?.(answer);
      await pass(answer, exchange.response, () => undefined);
    }
  } finally {
    const fate = courier?.files.fateOf(id);
    // Otherwise the courier tells the next daemon the usage.
    if (parts.closing?.aborted !== true || fate !== "asking")
      await parts.bookings.run(spender.id, async () => {
        // If this process stopped listening, the courier has heard the rest.
        const heard = status !== "done" && typeof fate === "object" ? fate : callEnd(status, listener);
        const { status: how, tokens } = bookedEnd(heard, most);
        const cost = price(tokens);
        if (how !== "failed") {
          call.onBooked?.(tokens, cost);
          parts.used?.(spender.id, texts.tokensUsed(tokens));
        }
        const context = {
          tokens: await contextTokensOf(provider, config, asked.model),
          compacts: parts.compacts,
        };
        const end = { status: how, tokens, cost, context };
        await writeIn(store, companyId, newId, (writing) => closeCall(writing, id, end)).then(
          () => courier?.files.forget(id),
          (error: unknown) => parts.reportBug(error, `model call ${id}`),
        );
      });
  }
}
