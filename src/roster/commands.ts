import type { Settings } from "../contract/companies.ts";
import type { Manifest } from "./folder.ts";
import type { Tree } from "./tree.ts";

/** The brain that runs any command from its configuration. */
const commandBrain = "process";

/**
 * Describes everything in a folder that would run a command on this machine. The board must accept these commands explicitly.
 */
export function commandsIn(settings: Settings, manifest: Manifest | undefined, tree: Tree): string[] {
  const brains = [...(tree.root === undefined ? [] : [{ definition: tree.root }]), ...tree.others]
    .map(({ definition }) => definition)
    .filter(({ adapterType, adapterConfig }) => isCommand(adapterType, adapterConfig, settings))
    .map(({ file, adapterConfig }) => `${file} runs ${lineOf(adapterConfig)}`);
  const servers = (manifest?.mcpServers ?? [])
    .filter(({ config }) => "command" in config)
    .map(({ name, config }) => `the MCP server ${name} runs ${lineOf(config)}`);
  return [
    ...brains,
    ...servers,
    ...(settings.defaultAdapterType === commandBrain
      ? [`agents whose file names no brain run ${lineOf(settings.defaultAdapterConfig)}`]
      : []),
    ...(settings.allowedAdapterTypes.includes(commandBrain)
      ? ["agents may hire agents that run commands"]
      : []),
    ...(settings.chatLLMProvider === commandBrain ? ["agents made by create_agent run commands"] : []),
  ];
}

function isCommand(type: string | undefined, config: unknown, settings: Settings): boolean {
  if (type !== undefined) return type === commandBrain;
  // A configuration without a type belongs to the default brain.
  return config !== undefined && settings.defaultAdapterType === commandBrain;
}

function lineOf(config: Readonly<Record<string, unknown>> | undefined): string {
  const args = Array.isArray(config?.["args"]) ? config["args"].map(String) : [];
  return JSON.stringify(
    [typeof config?.["command"] === "string" ? config["command"] : "", ...args].join(" ").slice(0, 200),
  );
}
