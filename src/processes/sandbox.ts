import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Sandbox } from "../contract/installation.ts";
import { readsOf } from "./reads.ts";
import { callFilter } from "./seccomp.ts";
import * as text from "./texts.ts";

/**
 * The sandbox of a session: bubblewrap with a list of what the session can see. Nothing else exists inside.
 *
 *   files      system programs and libraries, the program of the brain and files its arguments name, read-only; a private /tmp;
 *              the workspace and the agent's home, writable
 *   processes  only its own; they end with the first one, which ends with the daemon
 *   network    only loopback, and there only the daemon's door (gate.ts)
 *   rights     no capabilities, no way to get any, no further user namespaces
 *   calls      none that reach past the namespaces, such as keyrings and virtual sockets (seccomp.ts)
 *
 * The user inside is never root, even if the daemon is. Even without capabilities, root could write files that belong to root.
 * For that reason /proc is read-only (kernel.core_pattern would run a program outside), and /etc is a short list without
 * /etc/shadow.
 */
interface Box {
  readonly workspace: string;
  /** True if the session can't write to the workspace. */
  readonly readOnly?: boolean;
  /** The agent's home. */
  readonly home?: string;
  /** The folder with the files that `prepare` wrote. */
  readonly folder: string;
  /** Files and folders the session may read. */
  readonly reads: readonly string[];
  /** Folders outside that an MCP server may change, because the board allowed it. */
  readonly writes?: readonly string[];
}

const user = 1000;
const mostTemporary = 256 * 1024 * 1024;
const mostShared = 64 * 1024 * 1024;

const ofEtc = [
  "alternatives",
  "ca-certificates",
  "crypto-policies",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "nsswitch.conf",
  "pki/ca-trust/extracted",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "pki/tls/openssl.cnf",
  "protocols",
  "services",
  "ssl/certs",
  "ssl/openssl.cnf",
];

/** The path of gate.ts inside. Its ending tells Node the format, because there is no package.json. */
const gateInside = import.meta.url.endsWith(".ts") ? "/run/agency/gate.mts" : "/run/agency/gate.mjs";
const gate = fileURLToPath(
  new URL(`../processes/gate${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

/** The arguments of bubblewrap up to the gate's own argument, which is the address of the daemon. */
function sandboxed(box: Box, limits: string, nests: boolean): string[] {
  return [
    ...walls(box, nests),
    "/bin/sh",
    "-c",
    `${limits}exec "$@"`,
    "agency-gate",
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    gateInside,
  ];
}

/** The arguments of bubblewrap up to the command. */
function walls(box: Box, nests: boolean): string[] {
  return [
    isolation,
    callFilter().length === 0 ? [] : ["--seccomp", String(filterDescriptor)],
    nests ? [] : ["--disable-userns"],
    system(),
    ["passwd", "group", "hosts"].flatMap((name) => bind(join(box.folder, name), `/etc/${name}`)),
    ["--proc", "/proc", "--remount-ro", "/proc"],
    ["--dev", "/dev", "--remount-ro", "/dev"],
    ["--size", String(mostShared), "--tmpfs", "/dev/shm"],
    ["--size", String(mostTemporary), "--tmpfs", "/tmp"],
    ["--symlink", "/tmp", "/var/tmp"],
    bind(gate, gateInside),
    box.reads.filter((path) => !isOfSystem(path)).flatMap((path) => bind(realpathSync(path), path)),
    [box.readOnly === true ? "--ro-bind" : "--bind", realpathSync(box.workspace), box.workspace],
    box.home === undefined ? [] : ["--bind", realpathSync(box.home), box.home],
    (box.writes ?? []).flatMap((path) => ["--bind", realpathSync(path), path]),
    // Last, because creating the places for everything above needs write access.
    ["--remount-ro", "/"],
    ["--chdir", box.workspace],
    ["--"],
  ].flat();
}

/** The descriptor on which bubblewrap gets the filter of calls. Node's channel has the number before. */
const filterDescriptor = 4;

const isolation = [
  "--unshare-user",
  "--uid",
  String(user),
  "--gid",
  String(user),
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-net",
  "--unshare-cgroup-try",
  "--hostname",
  "agency",
  "--cap-drop",
  "ALL",
  "--new-session",
  "--die-with-parent",
];

const systemFolders = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

function system(): string[] {
  const top = systemFolders
    .map((name) => `/${name}`)
    .filter((path) => existsSync(path))
    .flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : bind(path, path),
    );
  const etc = ofEtc
    .map((name) => `/etc/${name}`)
    .filter((path) => existsSync(path))
    .flatMap((path) => bind(realpathSync(path), path));
  return [...bind("/usr", "/usr"), ...top, ...etc, "--ro-bind-try", "/nix/store", "/nix/store"];
}

const bind = (from: string, to: string): string[] => ["--ro-bind", from, to];

const isOfSystem = (path: string): boolean =>
  ["usr", "nix/store", ...systemFolders].some((folder) => path.startsWith(`/${folder}/`));

/** Writes the files of /etc that are not taken from the system, because the system's files name the users of this machine. */
function prepare(folder: string): void {
  for (const name of ["probe", "probe-home"]) mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  const put = (name: string, content: string | Uint8Array): void =>
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  put("passwd", `agent:x:${user}:${user}:agent:/tmp:/bin/sh\n`);
  put("group", `agent:x:${user}:\n`);
  put("calls", callFilter());
  put("hosts", "127.0.0.1 localhost\n::1 localhost\n");
}

export interface SandboxKeeper {
  /** Resolves when the sandbox has been tried for the first time. */
  readonly tried: Promise<Sandbox>;
  readonly report: () => Sandbox;
  /** Called if the installation accepts sessions without a sandbox. */
  allowUnsandboxed(): void;
  /** The arguments of bubblewrap that run the gate in a sandbox. */
  readonly wrap: (box: Omit<Box, "folder">, limits: string) => string[];
  /** Runs commands other than sessions in a sandbox. Undefined if there is none. */
  readonly enclose: (
    box: Omit<Box, "folder">,
  ) => { program: string; args: readonly string[]; filter: string } | undefined;
  /** The file with the filter of calls, which bubblewrap gets as descriptor 4. */
  readonly filter: string;
  stop(): void;
}

/**
 * Finds out whether the sandbox works by running it. An installed bubblewrap is not enough: some systems forbid the namespaces
 * it needs. While the sandbox does not work, it is tried again every 30 seconds.
 */
export function keepSandbox(options: {
  readonly folder: string;
  readonly wanted: boolean;
  readonly unsandboxedAllowed: boolean;
}): SandboxKeeper {
  const { folder, wanted } = options;
  if (wanted) prepare(folder);
  let { unsandboxedAllowed } = options;
  let found = off;
  const report = (): Sandbox => {
    const { status, says, remedy } = found;
    return { status, unsandboxedAllowed, says, remedy };
  };
  const look = async (): Promise<Sandbox> => {
    if (wanted && found.status !== "works") found = await probe(folder);
    return report();
  };
  // A look that fails is repeated.
  const again = setInterval(() => void look().catch(() => undefined), 30_000);
  again.unref();
  return {
    tried: look(),
    report,
    allowUnsandboxed: () => (unsandboxedAllowed = true),
    filter: join(folder, "calls"),
    wrap: (box, limits) => sandboxed({ ...box, folder }, limits, found.nests),
    enclose: (box) =>
      found.status === "works"
        ? { program: "bwrap", args: walls({ ...box, folder }, found.nests), filter: join(folder, "calls") }
        : undefined,
    stop: () => clearInterval(again),
  };
}

interface Probed extends Omit<Sandbox, "unsandboxedAllowed"> {
  /** Whether user namespaces can be created inside. Bubblewrap before 0.8 can't prevent that. */
  readonly nests: boolean;
}

const off: Probed = { status: "off", says: text.sandboxOff, remedy: text.switchOn, nests: false };

async function probe(folder: string): Promise<Probed> {
  let said = "";
  for (const nests of [false, true]) {
    const box = {
      folder,
      workspace: join(folder, "probe"),
      home: join(folder, "probe-home"),
      reads: readsOf([], { path: "", home: folder }),
    };
    const args = [...sandboxed(box, "", nests), "http://127.0.0.1:4600"];
    const failure = await failureOf(args, join(folder, "calls"));
    if (failure === undefined) return { status: "works", says: text.sandboxWorking, remedy: "", nests };
    if (failure === "ENOENT")
      return process.platform === "linux"
        ? { status: "missing", says: text.bubblewrapMissing, remedy: text.installBubblewrap, nests }
        : { status: "missing", says: text.onlyOnLinux, remedy: text.useLinux, nests };
    said = failure;
  }
  return { status: "forbidden", says: text.sandboxForbidden(said), remedy: remedyFor(), nests: true };
}

/** The complaint of bubblewrap. Undefined if the sandbox works. */
async function failureOf(args: readonly string[], filter: string): Promise<string | undefined> {
  const calls = openSync(filter, "r");
  try {
    const child = spawn("bwrap", args, {
      stdio: ["ignore", "ignore", "pipe", "ignore", calls],
      timeout: 10_000,
    });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (piece: string) => (said += piece));
    const [code] = await once(child, "close");
    return code === 0 ? undefined : (said.trim().split("\n")[0] ?? "");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return code === "ENOENT" ? code : String(error);
  } finally {
    closeSync(calls);
  }
}

function remedyFor(): string {
  if (setting("kernel/apparmor_restrict_unprivileged_userns") === "1") return text.allowInAppArmor;
  if (setting("kernel/unprivileged_userns_clone") === "0")
    return text.allowNamespaces("kernel.unprivileged_userns_clone", "1");
  if (setting("user/max_user_namespaces") === "0")
    return text.allowNamespaces("user.max_user_namespaces", "10000");
  return text.allowInContainer;
}

function setting(name: string): string | undefined {
  try {
    return readFileSync(join("/proc/sys", name), "utf8").trim();
  } catch {
    return undefined;
  }
}
