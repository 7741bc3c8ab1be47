import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { z } from "zod";
import { invalid, Refusal } from "../contract/refusal.ts";
import { setSecret } from "../contract/secrets.ts";
import { putMcpServer } from "../contract/servers.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import * as texts from "./texts.ts";

/**
 * `agency servers import` adds the servers of a `.mcp.json`, which other programs write. Their values become secrets by name.
 */
const Values = z.record(z.string(), z.string()).default({});
const McpFile = z.looseObject({
  mcpServers: z.record(
    z.string(),
    z.looseObject({
      type: z.string().optional(),
      command: z.string().optional(),
      args: z.array(z.string()).optional(),
      env: Values,
      url: z.string().optional(),
      headers: Values,
    }),
  ),
});

interface Plan {
  readonly name: string;
  readonly config: unknown;
  /** Values to store, by the name of the secret. */
  readonly values: Readonly<Record<string, string>>;
  /** Secrets that the file only refers to, as `${NAME}`. */
  readonly named: readonly string[];
}

export function addServerImport(program: Command, context: Context): void {
  nounOf(program, "servers")
    .command("import")
    .description("Add the MCP servers of a .mcp.json file. Values of variables and headers become secrets.")
    .argument("<file>", "The file, such as .mcp.json.")
    .option("--yes", "Store the values as secrets without asking.")
    .option(...texts.companyFlag)
    .option(...texts.jsonFlag)
    .addHelpText("after", texts.example("agency servers import .mcp.json"))
    .action(async (file: string, flags: { company?: string; json?: true; yes?: true }) => {
      const client = clientOf(context.env);
      const companyId = await companyOf(client, flags.company);
      const plans = plansIn(file);
      const names = plans.flatMap(({ values }) => Object.keys(values));
      const { ask } = context.terminal;
      if (names.length > 0 && ask !== undefined && flags.yes !== true) {
        const answer = await ask(texts.storesAsSecrets(names));
        if (!/^y(es)?$/i.test(answer.trim()))
          return print(context, flags, { imported: [] }, texts.nothingImported);
      }
      const imported = [];
      const refused = [];
      for (const { name, config, values, named } of plans)
        try {
          // The record first: if the server is refused, no secret is left behind.
          const input = putMcpServer.input.safeParse({ companyId, name, config });
          if (!input.success) throw invalid(texts.notAServer(name), "");
          const server = await client.call(putMcpServer, input.data);
          for (const [secret, value] of Object.entries(values))
            await client.call(setSecret, { companyId, name: secret, value });
          imported.push({ name: server.name, secrets: Object.keys(values), named });
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          refused.push({ name, says: error.message });
        }
      print(context, flags, { imported, refused }, texts.importedServers(imported, refused));
    });
}

function plansIn(file: string): Plan[] {
  const parsed = McpFile.safeParse(jsonIn(file));
  if (!parsed.success) throw invalid(texts.notAnMcpFile(file), texts.mcpFileLooks);
  return Object.entries(parsed.data.mcpServers).map(([name, { type, command, args, env, url, headers }]) => {
    const values: Record<string, string> = {};
    const named: string[] = [];
    const referring = (given: Readonly<Record<string, string>>): Record<string, { secret: string }> =>
      Object.fromEntries(
        Object.entries(given).map(([key, value]) => {
          const [, variable] = /^\$\{(\w+)\}$/.exec(value) ?? [];
          const secret = variable ?? `${name}_${key}`.replaceAll(/\W/g, "_").toUpperCase();
          if (variable === undefined) values[secret] = value;
          else named.push(variable);
          return [key, { secret }];
        }),
      );
    const config =
      url === undefined
        ? { command, ...(args && { args }), env: referring(env) }
        : { type: type === "sse" ? type : "http", url, headers: referring(headers) };
    return { name, config, values, named };
  });
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    throw invalid(texts.notAnMcpFile(file), texts.mcpFileLooks);
  }
}
