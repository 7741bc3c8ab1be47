import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { runToEnd, tell, SessionEnd } from "../own-program.ts";
import { modelFor } from "./asking.ts";
import { openConversation } from "./conversation.ts";
import { runLoop } from "./loop.ts";
import { connectServers } from "./mcp-tools.ts";
import { ownTools } from "./own-tools.ts";
import { continued, serverFailed } from "../texts.ts";
import { ApiSession, brainTypes } from "./api-session.ts";
import * as texts from "./texts.ts";

/** The process of a session with an API brain. It gets the briefing on standard input and its settings in the environment. */
const url = process.env["AGENCY_URL"] ?? "";
const token = process.env["AGENCY_TOKEN"] ?? "";
const session = ApiSession.parse(JSON.parse(process.env["AGENCY_SESSION_SETTINGS"] ?? ""));
const own = ownTools(process.env["AGENCY_WORKSPACE"] ?? process.cwd());

// The conversation is saved before every step, so nothing is lost.
process.once("SIGTERM", () => {
  own.stop();
  process.exit(143);
});

const Offer = z.object({
  dialect: z.enum(["anthropic", "openai"]),
  model: z.string(),
  contextTokens: z.number(),
});

const Refused = z.object({ error: z.object({ message: z.string() }) });

await runToEnd(async () => {
  const gateway = `${url}/model/${session.provider}`;
  const [briefing, offer, servers] = await Promise.all([
    text(process.stdin),
    offerOf(gateway),
    connectServers(session.mcpConfigFile),
  ]);
  if (offer.dialect !== session.dialect)
    throw new SessionEnd(
      "failed",
      texts.otherDialect(session.provider, offer.dialect, brainTypes[offer.dialect]),
    );
  const broken = servers.failed.find(({ isOwn }) => isOwn);
  if (broken !== undefined) throw new SessionEnd("failed", serverFailed(broken.name, broken.says));

  const conversation = openConversation(process.env["HOME"] ?? "", session.thread);
  tell({ kind: "thread", id: session.thread });
  if (session.isResumed && conversation.resumed === 0) tell({ kind: "output", text: texts.noConversation });
  const missing = servers.failed.map(({ name }) => name);
  const told = missing.length === 0 ? briefing : `${briefing}\n${texts.missingServers(missing)}\n`;
  conversation.add({ role: "user", content: conversation.resumed > 0 ? `${continued}\n\n${told}` : told });
  const tools = [...own.tools, ...servers.tools];
  const { effort, api } = session;
  const prompt = readFileSync(session.systemPromptFile, "utf8");
  const ask = await modelFor({ ...offer, url: gateway, api, token, effort }, prompt, tools);
  await runLoop({ ask, tools, conversation, contextTokens: offer.contextTokens, briefing: told });
});

/** The models and limits that the gateway offers to this session. */
async function offerOf(gateway: string): Promise<z.infer<typeof Offer>> {
  const response = await fetch(gateway, { headers: { authorization: `Bearer ${token}` } });
  const body: unknown = await response.json();
  if (response.ok) return Offer.parse(body);
  const says = Refused.safeParse(body).data?.error.message ?? `status ${response.status}`;
  throw new SessionEnd(
    response.status === 401 ? "signed_out" : response.status === 429 ? "overloaded" : "failed",
    says,
  );
}
