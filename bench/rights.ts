import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { revoke } from "../src/capabilities/grants.ts";
import { holds } from "../src/capabilities/rights.ts";
import { shiftHolder, shiftScope } from "../src/capabilities/table.ts";
import { createCompany } from "../src/contract/companies.ts";
import { admitBoard, createCore } from "../src/daemon/core.ts";
import { newId, newSecret } from "../src/daemon/ids.ts";
import { openPostgres } from "../src/store/postgres.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import type { Store } from "../src/store/store.ts";
import { type Bench, type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { type Chain, fillAgents, fillChains, lookAtRows, type Place } from "./fill.ts";
import { inTurns, medianMilliseconds, ratePerSecond, ratePerSecondSync, sequence } from "./timing.ts";

/**
 * Checks rights with the function that every operation uses. The store is full of grants, in chains six deep, in a tree of
 * agents six deep. The baseline is a select by key on the same rows.
 */
export const rights: Entry = {
  name: "rights",
  about: "effective-right checks; revoking and closing a chain",
  run: async (bench) => {
    const [few, many] = sizes(bench, 1_000_000, 1200);
    const small = await openFilled(bench, few);
    const large = await openFilled(bench, many);
    try {
      const checks = async (who: (subject: Subject, index: number) => [string, Chain]) => {
        const slice = (subject: Subject) => () => checkRate(bench, subject, who);
        return inTurns(rounds(bench), {
          small: slice(small),
          large: slice(large),
          rawSmall: () => small.rawRate(sliceMilliseconds(bench)),
          raw: () => large.rawRate(sliceMilliseconds(bench)),
        });
      };
      const figures = [];
      for (const [name, who] of [
        ["granted", holderOf],
        ["not granted", strangerTo],
        ["mixed", (subject: Subject, n: number) => (n % 2 === 0 ? holderOf : strangerTo)(subject, n)],
      ] as const) {
        const { small: fewRows, large: value, raw, rawSmall } = await checks(who);
        figures.push({
          name: `right check, ${name}`,
          unit: "/s" as const,
          rows: `${many} grants`,
          value,
          small: fewRows,
          baseline: { what: "point select", value: raw, small: rawSmall },
          aim: { atLeast: 100_000 },
        });
      }
      for (const [name, act] of [
        ["revoke a chain of 6", revokeChain],
        ["end the scope of a chain of 6", endScope],
      ] as const) {
        const slice = (subject: Subject) => () =>
          medianMilliseconds(bench.quick ? 5 : 50, () => act(subject));
        const {
          small: fewRows,
          large: value,
          raw,
        } = await inTurns(rounds(bench), {
          small: slice(small),
          large: slice(large),
          raw: () => large.rawUpdate(bench.quick ? 5 : 50),
        });
        figures.push({
          name,
          unit: "ms" as const,
          rows: `${many} grants`,
          value,
          small: fewRows,
          baseline: { what: "one update by key", value: raw },
        });
      }
      const { small: fewRows, large: value } = await inTurns(rounds(bench), {
        small: () => leaveRate(small),
        large: () => leaveRate(large),
      });
      figures.push({
        name: "grants ended with a departing agent",
        unit: "/s" as const,
        rows: `${many} grants`,
        value,
        small: fewRows,
      });
      return figures;
    } finally {
      await small.close();
      await large.close();
    }
  },
};

interface Subject {
  readonly store: Store;
  readonly companyId: string;
  readonly places: readonly Place[];
  readonly chains: readonly Chain[];
  readonly untouched: Chain[];
  rawRate(milliseconds: number): Promise<number>;
  rawUpdate(repetitions: number): Promise<number>;
  close(): Promise<void>;
}

async function openFilled(bench: Bench, grants: number): Promise<Subject> {
  bench.say(`filling a store with ${grants} grants`);
  const path = join(mkdtempSync(join(bench.folder, "rights-")), "agency.db");
  const url = bench.store === "postgres" ? await bench.newDatabase() : undefined;
  const store = url === undefined ? openSqlite({ path, clock: Date.now }) : await openPostgres({ url });
  const token = newSecret();
  await admitBoard(store, token, newId);
  const company = createCompany.output.parse(
    await createCore({ store, newId, newSecret }).dispatch({
      operation: createCompany,
      token,
      input: { name: "Bench" },
    }),
  );
  const places = await fillAgents(store, company.id, company.rootAgentId, bench.quick ? 100 : 1000, 6);
  const chains = await fillChains(store, company.id, places, grants);
  await lookAtRows(store);
  const raw = url === undefined ? rawSqlite(path, chains) : await rawPostgres(url, chains);
  return {
    store,
    companyId: company.id,
    places,
    chains,
    untouched: chains.slice(0, Math.floor(chains.length / 2)),
    ...raw,
    close: async () => {
      await raw.close();
      await store.close();
    },
  };
}

/** Runs the checks one after another in one read transaction, as an operation does. */
function checkRate(
  bench: Bench,
  subject: Subject,
  who: (subject: Subject, index: number) => [string, Chain],
): Promise<number> {
  const pick = sequence(1);
  return subject.store.read((tx) =>
    ratePerSecond(sliceMilliseconds(bench), async () => {
      const [agentId, chain] = who(subject, pick(2 ** 31));
      return holds(tx, agentId, chain.resource, "read");
    }),
  );
}

/** Uses only the second half of the chains, because the first half gets revoked. */
function chainAt(subject: Subject, number: number): Chain {
  const half = Math.floor(subject.chains.length / 2);
  const chain = subject.chains[half + (number % (subject.chains.length - half))];
  if (chain === undefined) throw new Error("no chain");
  return chain;
}

function holderOf(subject: Subject, number: number): [string, Chain] {
  const chain = chainAt(subject, number);
  return [chain.holders[number % chain.holders.length] ?? "", chain];
}

function strangerTo(subject: Subject, number: number): [string, Chain] {
  const chain = chainAt(subject, number);
  for (let n = number; ; n++) {
    const place = subject.places[n % subject.places.length];
    if (place !== undefined && !chain.holders.includes(place.id)) return [place.id, chain];
  }
}

async function revokeChain(subject: Subject): Promise<void> {
  const grantId = nextUntouched(subject).grants[0] ?? "";
  await subject.store.write((tx) => revoke(tx, subject.companyId, grantId, null));
}

async function endScope(subject: Subject): Promise<void> {
  const { scopeId } = nextUntouched(subject);
  await subject.store.write((tx) => shiftScope(tx, scopeId, 1));
}

/** An agent near the top leaves, with all rights it had passed on, and comes back for the next round. */
async function leaveRate({ store, places, chains }: Subject): Promise<number> {
  const { id } = places.find(({ path }) => path.length === 3) ?? { id: "" };
  const ended = chains
    .map(({ holders }) => holders.length - holders.indexOf(id))
    .filter((links) => links <= 6)
    .reduce((sum, links) => sum + links, 0);
  const start = performance.now();
  await store.write((tx) => shiftHolder(tx, id, 1));
  const seconds = (performance.now() - start) / 1000;
  await store.write((tx) => shiftHolder(tx, id, -1));
  return ended / seconds;
}

function nextUntouched(subject: Subject): Chain {
  const chain = subject.untouched.pop();
  if (chain === undefined) throw new Error("every chain is used up");
  return chain;
}

const select = "select level from grants where grantee_id = ? and resource = ? and broken = 0";
const update = "update grants set broken = broken + 0 where id = ?";

function rawSqlite(path: string, chains: readonly Chain[]) {
  const db = new DatabaseSync(path, { timeout: 5000 });
  db.exec("pragma synchronous = full; pragma cache_size = -32768; pragma mmap_size = 1073741824");
  const one = db.prepare(select);
  const change = db.prepare(update);
  const pick = sequence(2);
  const chain = () => chains[pick(chains.length)];
  return {
    rawRate: async (milliseconds: number) => {
      db.exec("begin");
      const rate = ratePerSecondSync(milliseconds, () => {
        const { holders, resource } = chain() ?? {};
        one.get(holders?.[3] ?? "", resource ?? "");
      });
      db.exec("commit");
      return rate;
    },
    rawUpdate: (repetitions: number) =>
      medianMilliseconds(repetitions, async () => change.run(chain()?.grants[0] ?? "")),
    close: async () => db.close(),
  };
}

async function rawPostgres(url: string, chains: readonly Chain[]) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const numbered = (sql: string): string => {
    let n = 0;
    return sql.replaceAll("?", () => `$${++n}`);
  };
  const pick = sequence(2);
  const chain = () => chains[pick(chains.length)];
  return {
    rawRate: (milliseconds: number) =>
      ratePerSecond(milliseconds, () => {
        const { holders, resource } = chain() ?? {};
        return client.query({ name: "one", text: numbered(select), values: [holders?.[3], resource] });
      }),
    rawUpdate: (repetitions: number) =>
      medianMilliseconds(repetitions, () =>
        client.query({ name: "change", text: numbered(update), values: [chain()?.grants[0]] }),
      ),
    close: () => client.end(),
  };
}
