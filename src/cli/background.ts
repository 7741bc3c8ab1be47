import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir, platform } from "node:os";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { type Context, portOf, print } from "./terminal.ts";
import { example, jsonFlag, noServiceManager } from "./texts.ts";
import { entryPoint, homeOf } from "./where.ts";

/** `agency service install` starts Agency with the user's session: a systemd user unit, or a launchd agent on macOS. */
interface Flags {
  readonly print?: true;
  readonly json?: true;
}

export function addService(program: Command, context: Context): void {
  const service = program.command("service").description("Start Agency when you log in (systemd, launchd).");
  service
    .command("install")
    .description("Install and start the service.")
    .option("--print", "Only print the file that would be written.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency service install", "agency service install --print"))
    .action((flags: Flags) => {
      const { file, content, start } = unitOf(context.env);
      if (flags.print === true) return print(context, flags, { file, content }, `# ${file}`, content);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content, { mode: 0o600 });
      for (const command of start) carryOut(command);
      print(
        context,
        flags,
        { file, installed: true },
        `Agency runs as a service and starts when you log in (${file}).`,
        "Check it: agency status. Remove it: agency service remove",
      );
    });
  service
    .command("remove")
    .description("Stop and remove the service. The data stays.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency service remove"))
    .action((flags: Flags) => {
      const { file, stop } = unitOf(context.env);
      for (const command of stop)
        try {
          carryOut(command);
        } catch {
          // The service was not running.
        }
      rmSync(file, { force: true });
      print(context, flags, { file, installed: false }, "The service is removed. The data stays.");
    });
}

function carryOut([program = "", ...args]: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 30_000 });
  } catch (error) {
    const said =
      error instanceof Error && "stderr" in error && Buffer.isBuffer(error.stderr)
        ? error.stderr.toString()
        : "";
    throw noServiceManager(program, said || (error instanceof Error ? error.message : String(error)));
  }
}

function unitOf(env: NodeJS.ProcessEnv) {
  const run = [process.execPath, entryPoint(), "up", "--home", homeOf(env), "--port", String(portOf(env))];
  const path = env["PATH"] ?? "/usr/bin:/bin";
  if (platform() === "darwin") {
    const file = join(homedir(), "Library/LaunchAgents/agency.plist");
    const items = run.map((word) => `    <string>${xml(word)}</string>`).join("\n");
    return {
      file,
      content: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>Label</key><string>agency</string>
  <key>ProgramArguments</key><array>
${items}
  </array>
  <key>EnvironmentVariables</key><dict><key>PATH</key><string>${xml(path)}</string></dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
</dict></plist>
`,
      start: [["launchctl", "load", "-w", file]],
      stop: [["launchctl", "unload", "-w", file]],
    };
  }
  const file = join(env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config"), "systemd/user/agency.service");
  return {
    file,
    content: `[Unit]
Description=Agency, an organization of AI agents
After=network.target

[Service]
ExecStart=${run.map(quoted).join(" ")}
Environment=${quoted(`PATH=${path}`)}
Restart=on-failure
Delegate=yes
DelegateSubgroup=agency-daemon
KillMode=mixed
TimeoutStopSec=90

[Install]
WantedBy=default.target
`,
    start: [
      ["systemctl", "--user", "daemon-reload"],
      ["systemctl", "--user", "enable", "--now", "agency.service"],
    ],
    stop: [["systemctl", "--user", "disable", "--now", "agency.service"]],
  };
}

/** Escaped, because systemd interprets quotes, backslashes and percent signs. */
const quoted = (word: string): string =>
  `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;

const xml = (word: string): string =>
  word.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
