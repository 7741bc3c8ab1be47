import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { agentById, saveAgent } from "../agents/table.ts";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { compacts, mayAskFor } from "../brains/registry.ts";
import { createAgent } from "../contract/hiring.ts";
import { type ProviderConfig, putProvider } from "../contract/providers.ts";
import { setSecret } from "../contract/secrets.ts";
import { newId } from "../daemon/ids.ts";
import { authenticate } from "../dispatch/identity.ts";
import { agentActor } from "../events/ledger.ts";
import { modelGateway } from "../gateway/gateway.ts";
import type { OpenTrial } from "../gateway/trial.ts";
import { keepSecrets } from "../secrets/secrets.ts";
import { startFakeModel } from "./fake-model/server.ts";
import type { ModelScript } from "./fake-model/script.ts";
import { withClock } from "./stage.ts";
import { createOrganization, openTestStore, type StoreKind } from "./organization.ts";

export const providerKey = "the-key-of-the-provider-1234";
export const sceneModel = "claude-opus-4-5";

/** A company with a provider that plays a script, an agent with a session, and the gateway in front of it. */
export async function gatewayScene(
  kind: StoreKind,
  script: ModelScript,
  change: Partial<ProviderConfig> = {},
  agentModel: string | null = sceneModel,
  logins = keepCodexLogins(),
  otherKeys: Readonly<Record<string, ModelScript>> = {},
) {
  const made = await openTestStore(kind);
  let shift = 0;
  const opened = { ...made, store: withClock(made.store, () => Date.now() + shift) };
  const secrets = keepSecrets();
  const org = await createOrganization(opened.store, { secrets, logins });
  const { companyId, board } = org;
  const fake = await startFakeModel({ [providerKey]: script, ...otherKeys });
  await board(setSecret, { companyId, name: "MODEL_KEY", value: providerKey });
  const config = {
    dialect: "anthropic" as const,
    baseUrl: fake.url,
    secret: "MODEL_KEY",
    models: { [sceneModel]: { price: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 } } },
    ...change,
  };
  await board(putProvider, { companyId, name: "fake", config });
  const agent = await board(createAgent, {
    companyId,
    name: "Ada",
    role: "writer",
    adapterType: "claude_local",
    adapterConfig: { provider: "fake" },
    ...(agentModel === null ? {} : { model: agentModel }),
  });
  const session = await org.session(agent.id);
  const bugs: unknown[] = [];
  const underWay = new Set<Promise<void>>();
  const trials = new Map<string, OpenTrial>();
  let onAnswer: () => void = () => undefined;
  const parts = {
    store: opened.store,
    newId,
    nodeId: "this",
    authenticate: async (token: string | undefined) =>
      trials.has(token ?? "")
        ? { actor: agentActor(org.rootId), companyId, workspace: null }
        : opened.store.read((tx) => authenticate(tx, token)),
    trialOf: (token: string | undefined) => trials.get(token ?? ""),
    secretOf: (company: string, name: string) =>
      opened.store.read((tx) => secrets.valueFor(tx, company, name)),
    logins,
    isOutside: async () => false,
    compacts,
    mayAskFor,
    used: () => onAnswer(),
    reportBug: (error: unknown) => {
      bugs.push(error);
      return "1";
    },
    track: (request: Promise<void>) => {
      underWay.add(request);
      void request.finally(() => underWay.delete(request));
    },
  };
  let gateway = modelGateway(parts);
  const server = createServer((request, response) => {
    void gateway(request, response, new URL(request.url ?? "/", "http://x").pathname, () => json(request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await fake.stop();
    await opened.close();
  });
  const ask = (
    body: Readonly<Record<string, unknown>> = {},
    how: { token?: string; path?: string; signal?: AbortSignal } = {},
  ) =>
    fetch(`http://127.0.0.1:${port}/model/${how.path ?? "fake/v1/messages"}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${how.token ?? session.token}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        model: sceneModel,
        ...(how.path?.endsWith("/responses") === true
          ? {}
          : {
              max_tokens: 100,
              messages: [{ role: "user", content: "Hello." }],
              tools: [{ name: "look" }],
            }),
        ...body,
      }),
      ...(how.signal === undefined ? {} : { signal: how.signal }),
    });
  /** Waits until all requests are booked, including those of programs that are gone. */
  const booked = async (): Promise<void> => {
    const connections = promisify(server.getConnections.bind(server));
    for (let open = 1; open > 0; open = await connections()) {
      server.closeIdleConnections();
      await Promise.all(underWay);
      await sleep(5);
    }
  };
  /** Calls this once, after the next answer. Its booking then takes a while. */
  const afterAnswer = (run: () => void): void => {
    onAnswer = () => {
      onAnswer = () => undefined;
      const { store } = opened;
      const write = store.write.bind(store);
      store.write = async (work, on) => {
        store.write = write;
        await sleep(200);
        return write(work, on);
      };
      run();
    };
  };
  /** Replaces the gateway by a new one, as on another node. The new one knows only what the database has. */
  const restart = (): void => void (gateway = modelGateway(parts));
  /** Advances the database's clock. */
  const advance = (milliseconds: number): void => void (shift += milliseconds);
  /** Starts a test of the agent's brain, whose calls the root agent pays. */
  const beginTrial = (token: string): OpenTrial => {
    const brain = { type: "claude_local", config: JSON.stringify({ provider: "fake" }), model: agentModel };
    const trial = { companyId, agentId: org.rootId, ...brain, calls: [] };
    trials.set(token, trial);
    return trial;
  };
  /** Gives the agent another brain. */
  const thinkWith = (agentId: string, type: string, brain: object): Promise<void> =>
    opened.store.write(async (tx) =>
      saveAgent(tx, await agentById(tx, agentId), {
        brain_type: type,
        brain_config: JSON.stringify(brain),
      }),
    );
  return {
    org,
    opened,
    fake,
    agent,
    session,
    thinkWith,
    beginTrial,
    ask,
    booked,
    afterAnswer,
    bugs,
    restart,
    advance,
  };
}
