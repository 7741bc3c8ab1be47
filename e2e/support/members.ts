// Agents that a test plays over MCP: with a key, or with the token of a running session that does nothing itself.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createKey } from "../../src/contract/agents.ts";
import { updateCompany } from "../../src/contract/companies.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { sendMessage } from "../../src/contract/mail.ts";
import { listAgentSessions, viewTranscript } from "../../src/contract/sessions.ts";
import { sleeper, tokenIn } from "./agents.ts";
import { McpWorld } from "./mcp.ts";

type Answer = Record<string, unknown>;
export interface Caller {
  /** Calls a tool and returns its answer. */
  ask(server: string, tool: string, input?: Answer): Promise<Answer>;
  /** Calls a tool that must be refused with this code. Returns the text of the refusal. */
  refused(code: string, server: string, tool: string, input: Answer): Promise<string>;
}

type Session = Caller & { readonly id: string; readonly session: string; readonly workspace: string };

/** A daemon with room for many agents and sessions, and no approvals. */
export class Members {
  readonly world: McpWorld;
  #hired = 0;

  static async open(): Promise<Members> {
    const members = new Members(await McpWorld.open());
    await members.change({
      maxSessions: 100,
      maxAgents: 1000,
      requireBoardApprovalForNewAgents: false,
      defaultAdapterType: "human",
    });
    return members;
  }

  private constructor(world: McpWorld) {
    this.world = world;
  }

  async change(settings: Record<string, unknown>): Promise<void> {
    const { board, companyId } = this.world.daemon;
    await board.call(updateCompany, { companyId, ...settings });
  }

  async keyOf(id: string): Promise<Caller> {
    return this.callerWith((await this.world.daemon.board.call(createKey, { id })).key);
  }

  callerWith(token: string): Caller {
    const clients = new Map<string, ReturnType<McpWorld["connect"]>>();
    const at = (server: string): ReturnType<McpWorld["connect"]> => {
      const client = clients.get(server) ?? this.world.connect(server, token);
      clients.set(server, client);
      return client;
    };
    // A session may also get a notice with an answer, in a second block of text.
    const answer = async (server: string, tool: string, input: Answer): Promise<[boolean, Answer]> => {
      const { isError, structuredContent } = await (
        await at(server)
      ).callTool({ name: tool, arguments: input });
      return [isError === true, z.record(z.string(), z.unknown()).parse(structuredContent)];
    };
    return {
      ask: async (server, tool, input = {}) => {
        const [isError, said] = await answer(server, tool, input);
        assert.ok(!isError, `${tool}: ${JSON.stringify(said)}`);
        return said;
      },
      refused: async (code, server, tool, input) => {
        const [isError, said] = await answer(server, tool, input);
        assert.ok(isError && Object(said["error"])["code"] === code, `${tool}: ${JSON.stringify(said)}`);
        return String(Object(said["error"])["message"]);
      },
    };
  }

  /** An agent without a program. The test calls as this agent with its key. */
  async hire(reportsTo?: string): Promise<Caller & { id: string; name: string }> {
    const { board, companyId } = this.world.daemon;
    const name = `Member ${++this.#hired}`;
    const boss = reportsTo === undefined ? {} : { reportsTo };
    const made = { companyId, name, role: "worker", adapterType: "human", ...boss };
    const { id } = await board.call(createAgent, made);
    return { id, name, ...(await this.keyOf(id)) };
  }

  /** An agent with a running session. The test calls as this session. */
  async hireWithSession(reportsTo?: string): Promise<Session> {
    const { board, companyId } = this.world.daemon;
    const boss = reportsTo === undefined ? {} : { reportsTo };
    const made = { companyId, name: `Member ${++this.#hired}`, role: "worker", ...sleeper, ...boss };
    const config = { ...sleeper.adapterConfig, args: [...sleeper.adapterConfig.args] };
    const { id } = await board.call(createAgent, { ...made, adapterConfig: config });
    await board.call(sendMessage, { companyId, to: id, body: "begin" });
    return this.sessionOf(id);
  }

  /** The running session of an agent, once it has printed its token. `after` demands another session than this one. */
  async sessionOf(id: string, after?: string): Promise<Session> {
    const { board, home } = this.world.daemon;
    for (let tries = 0; tries < 900; tries++, await sleep(100)) {
      const { sessions } = await board.call(listAgentSessions, { id });
      const session = sessions[0]?.id;
      if (session === undefined || session === after) continue;
      const token = tokenIn((await board.call(viewTranscript, { id: session })).transcript);
      if (token !== undefined)
        return { id, session, workspace: join(home, "workspaces", session), ...this.callerWith(token) };
    }
    throw new Error("no session has started");
  }
}
