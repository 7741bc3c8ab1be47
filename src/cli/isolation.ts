import type { Sandbox } from "../contract/installation.ts";
import type { Context } from "./terminal.ts";

/**
 * The isolation of sessions in the daemon that this command starts. On a terminal, it asks before it runs programs without a
 * sandbox.
 */
export function isolationOf(
  { env, terminal }: Context,
  flags: { readonly allowUnsandboxed?: true; readonly json?: true },
): {
  sandbox: boolean;
  allowUnsandboxed: boolean;
  mayRunUnsandboxed: (found: Sandbox) => Promise<boolean>;
} {
  return {
    sandbox: env["AGENCY_SANDBOX"] !== "off",
    allowUnsandboxed: flags.allowUnsandboxed === true || env["AGENCY_ALLOW_UNSANDBOXED"] === "1",
    mayRunUnsandboxed: async ({ says, remedy }) => {
      if (terminal.ask === undefined || flags.json === true) return false;
      const answer = await terminal.ask(
        [
          `${says} ${remedy}`,
          `Without a sandbox, programs of agents (the brain \`process\`) can read and change everything your user can.`,
          `Run them anyway, until this daemon stops? [y/N] `,
        ].join("\n"),
      );
      return /^y(es)?$/i.test(answer.trim());
    },
  };
}

/** The text of `up` and `doctor` about the sandbox. Empty if the sandbox works. */
export function sandboxNotice({ status, unsandboxedAllowed, says, remedy }: Sandbox): string[] {
  if (status === "works") return [];
  return [
    unsandboxedAllowed
      ? `Warning: programs of agents run without a sandbox and can read and change everything your user can. ${says} ${remedy}`
      : `Agents whose brain runs programs (\`process\`) don't start, because there is no sandbox. ${says} ${remedy} To run them anyway: agency up --allow-unsandboxed`,
  ];
}
