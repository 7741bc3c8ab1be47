// The program of a hostile agent. It tries to get out of its sandbox in every way we know and prints one line for each attempt:
// `held <name>: <why>` or `THROUGH <name>: <what it got>`. At the end it leaves processes behind in every way we know, and waits.
import { spawn, spawnSync } from "node:child_process";
import * as dgram from "node:dgram";
import * as dns from "node:dns/promises";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import { join } from "node:path";

const at = JSON.parse(process.env.HOSTILE);
const workspace = process.env.AGENCY_WORKSPACE;
const attempts = [];
const attempt = (name, run) => attempts.push([name, run]);

/** Returns the start of a file. Fails if it can't be read or is empty. */
function read(path) {
  const file = fs.openSync(path, "r");
  try {
    const start = Buffer.alloc(64);
    const length = fs.readSync(file, start, 0, 64, 0);
    return length === 0 ? undefined : start.toString("latin1", 0, length);
  } finally {
    fs.closeSync(file);
  }
}
const others = (path, mine) =>
  fs
    .readdirSync(path)
    .filter((name) => !mine.includes(name))
    .join();
const openForWriting = (path) => {
  fs.closeSync(fs.openSync(path, "r+"));
  return "open for writing";
};
const create = (path) => {
  fs.writeFileSync(path, "x");
  return "written";
};
/** Returns the output of a command that succeeds. Fails with its complaint otherwise. */
function run(command) {
  const { status, stdout, stderr, error } = spawnSync("sh", ["-c", command], {
    encoding: "utf8",
    timeout: 5000,
  });
  if (status === 0) return stdout === "" ? "succeeded" : stdout;
  throw new Error(error?.message ?? `${status} ${stderr}`);
}
const connect = (options) =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ timeout: 1500, ...options }, () => {
      socket.destroy();
      resolve("connected");
    });
    socket.once("error", reject);
    socket.once("timeout", () => {
      socket.destroy();
      reject(new Error("no answer"));
    });
  });

/** Asks the daemon's relay for another host, with the session's own token. */
const relayed = (to) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(process.env.AGENCY_URL);
    const password = Buffer.from(`session:${process.env.AGENCY_TOKEN}`).toString("base64");
    const socket = net.connect({ host: hostname, port: Number(port), timeout: 3000 }, () =>
      socket.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\nproxy-authorization: Basic ${password}\r\n\r\n`),
    );
    socket.once("error", reject);
    socket.once("timeout", () => reject(new Error("no answer")));
    socket.once("data", (said) => {
      socket.destroy();
      if (String(said).startsWith("HTTP/1.1 200")) resolve(String(said));
      else reject(new Error(String(said).split("\r\n")[0]));
    });
  });
for (const to of [
  "127.0.0.1:22",
  `127.0.0.1:${at.port ?? 80}`,
  "[::1]:80",
  "169.254.169.254:80",
  "example.com:443",
  "localhost:80",
])
  attempt(`reach ${to} through the relay`, () => relayed(to));

// Files of Agency and of the people on this machine.
for (const name of ["board-token", "agency.db", "daemon.json", "daemon.lock", "node-id"])
  attempt(`read ${name}`, () => read(join(at.home, name)));
attempt("list the home", () => others(at.home, ["homes", "workspaces"]));
attempt("list the homes of other agents", () =>
  others(join(at.home, "homes"), [process.env.HOME?.split("/").at(-1)]),
);
attempt("read the home of another agent", () => fs.readdirSync(at.siblingHome).join(" "));
attempt("write into the home of another agent", () => create(join(at.siblingHome, ".profile")));
attempt("list other workspaces", () => others(join(at.home, "workspaces"), [workspace.split("/").at(-1)]));
attempt("read another session's file", () => read(at.sibling));
attempt("list the store of knowledge", () => others(join(at.home, "knowledge"), []));
attempt("read a file of the store", () => read(at.stored));
attempt("overwrite a file of the store", () => openForWriting(at.stored));
attempt("add a version to a file of the store", () => create(join(at.stored, "..", "0".repeat(64))));
attempt("remove a file of the store", () => fs.unlinkSync(at.stored) ?? "removed");
attempt("list transcripts", () => others(join(at.home, "transcripts"), []));
attempt("read the board token by ..", () => read(`${workspace}/../../board-token`));
attempt("read the board token by a link", () => {
  fs.symlinkSync(join(at.home, "board-token"), "link");
  return read("link");
});
attempt("read the board token by a hard link", () => {
  fs.linkSync(join(at.home, "board-token"), "hard");
  return read("hard");
});
attempt("read a file of a person", () => read(at.secret));
attempt("list the folder of a person", () => others(join(at.secret, ".."), []));
attempt("list the folder of the program", () => others(at.programFolder, ["hostile.mjs"]));
for (const path of [
  "/etc/shadow",
  "/etc/machine-id",
  "/etc/hostname",
  "/etc/resolv.conf",
  "/etc/fstab",
  "/proc/kcore",
  "/proc/kmsg",
  "/dev/mem",
  "/dev/kmsg",
  "/dev/port",
])
  attempt(`read ${path}`, () => read(path));
for (const path of [
  "/root",
  "/home",
  "/boot",
  "/sys",
  "/var/log",
  "/var/lib",
  "/run/systemd",
  "/mnt",
  "/opt",
  "/srv",
  "/etc/ssh",
  "/lost+found",
])
  attempt(`list ${path}`, () => others(path, []));
attempt(
  "find users of this machine",
  () => /^(?!agent:).+$/m.exec(fs.readFileSync("/etc/passwd", "utf8"))?.[0],
);
attempt("find files that are readable outside the list", () =>
  others("/", [
    "bin",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "nix",
    "proc",
    "run",
    "sbin",
    "tmp",
    "usr",
    "var",
    ...at.tops,
  ]),
);
attempt("find host files in /tmp", () => others("/tmp", at.temporary));
attempt("find host files in /dev/shm", () => fs.existsSync(at.shared) && "found");
attempt("find disks", () =>
  fs
    .readdirSync("/dev")
    .filter((name) => /^(sd|vd|nvme|loop|dm|xvd|fuse|kvm)/.test(name))
    .join(),
);
attempt("make a disk node", () => run(`mknod ${workspace}/disk b 254 0 && head -c 1 ${workspace}/disk`));

// Interfaces of the kernel.
for (const path of ["/proc/1/root", "/proc/self/root/..", `/proc/${at.daemon}/root`])
  attempt(`read the board token by ${path.replace(/\d{2,}/, "daemon")}`, () =>
    read(join(path, at.home, "board-token")),
  );
for (const name of ["environ", "mem", "maps", "cmdline", "fd"])
  attempt(`see the daemon's ${name}`, () => fs.statSync(`/proc/${at.daemon}/${name}`) && "visible");
attempt(
  "see processes outside",
  () => fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length > 20 && "many",
);
for (const path of [
  "kernel/core_pattern",
  "kernel/hostname",
  "kernel/modprobe",
  "vm/overcommit_memory",
  "vm/drop_caches",
  "net/ipv4/ip_forward",
  "user/max_user_namespaces",
])
  attempt(`write /proc/sys/${path}`, () => openForWriting(`/proc/sys/${path}`));
attempt("write /proc/sysrq-trigger", () => openForWriting("/proc/sysrq-trigger"));
attempt("escape the memory killer", () => {
  fs.writeFileSync("/proc/self/oom_score_adj", "-1000");
  return fs.readFileSync("/proc/self/oom_score_adj", "utf8");
});
attempt("leave the control group", () => create("/sys/fs/cgroup/cgroup.procs"));
attempt("use inherited descriptors", () => {
  const open = spawnSync("ls", ["/proc/self/fd"], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((fd) => Number(fd) > 3);
  return open.join();
});

// Writing outside the workspace.
for (const path of ["/x", "/usr/x", "/etc/x", "/dev/x", "/run/x", "/var/x", "/proc/x", "/run/agency/x"])
  attempt(`create ${path}`, () => create(path));
// The folder above the workspace may be in the sandbox's own memory. The test looks for the file outside.
attempt("write into the home", () => void create(join(at.home, "x")));
attempt(
  "write a workspace beside",
  () => create(join(at.home, "workspaces", "x")) && fs.existsSync(at.sibling) && "beside",
);
attempt("change the gate", () =>
  openForWriting(fs.readdirSync("/run/agency").map((name) => `/run/agency/${name}`)[0]),
);
attempt("change the program", () => openForWriting(process.argv[1]));
attempt("change Node", () => openForWriting(process.execPath));
attempt("change /etc/passwd", () => openForWriting("/etc/passwd"));
attempt("remove the program", () => fs.unlinkSync(process.argv[1]) ?? "removed");
attempt("fill /dev/shm", () => {
  for (let number = 0; number < 4; number++)
    fs.writeFileSync(`/dev/shm/fill${number}`, Buffer.alloc(20_000_000));
  return "80 MB";
});
attempt("fill /tmp", () => {
  const chunk = Buffer.alloc(30_000_000);
  for (let number = 0; number < 10; number++) fs.appendFileSync(`/tmp/fill${number}`, chunk);
  return "300 MB";
});
attempt("write a file above the limit", () => run(`truncate -s 70000000 ${workspace}/large`));

// Rights.
attempt("have capabilities", () => {
  const sets = [...fs.readFileSync("/proc/self/status", "utf8").matchAll(/^Cap\w+:\s+(\w+)$/gm)].map(
    ([, set]) => set,
  );
  return sets.some((set) => !/^0+$/.test(set)) && sets.join();
});
attempt("be root", () => process.getuid() === 0 && "root");
attempt("become root", () => process.setuid(0) ?? "root");
attempt("join another group", () => process.setgroups([0]) ?? "joined");
attempt(
  "gain rights by a program",
  () => /^NoNewPrivs:\s+0$/m.exec(fs.readFileSync("/proc/self/status", "utf8"))?.[0],
);
for (const command of [
  `umount -l ${at.home}`,
  `umount -l ${workspace}`,
  "umount -l /proc/sys",
  "umount -l /etc/passwd",
  "mount -o remount,rw /",
  "mount -o remount,bind,rw /usr",
  "mount -o remount,rw /proc",
  "mount --bind /usr /tmp",
  "mount -t tmpfs none /tmp",
  "mount -t proc none /tmp",
  "mount -t sysfs none /tmp",
  "mount -t cgroup2 none /tmp",
  "unshare -U true",
  "unshare -r id -u",
  "unshare -r -m true",
  "unshare -n true",
  "nsenter -t 1 -m true",
  "nsenter -t 1 -n true",
  "nsenter -t 1 -U true",
  "nsenter -t 1 -p -m true",
  `nsenter -t ${at.daemon} -m true`,
  "chroot / true",
  "pivot_root / /tmp",
  "hostname escaped",
  "date -s @1",
  "swapoff -a && test -s /proc/swaps",
  "setpriv --reuid=0 true",
  "setpriv --reuid=65534 true",
  "setpriv --inh-caps=+sys_admin true",
  "su -c true",
  "sudo -n true",
  "chown 12345 .",
  "nice -n -5 true 2>&1 | grep -q . && exit 1",
  "dmesg",
  "ip link set lo down",
  "ip addr add 10.99.0.1/24 dev lo",
  "ip link add dummy0 type dummy",
])
  attempt(
    command
      .replace(at.home, "<home>")
      .replace(workspace, "<workspace>")
      .replace(String(at.daemon), "<daemon>"),
    () => run(command),
  );
attempt("keep a second user", () =>
  run(
    `cp /bin/sh ${workspace}/suid && chmod u+s ${workspace}/suid && ${workspace}/suid -p -c 'test $(id -u) != 1000'`,
  ),
);

// Other processes.
for (const [name, pid] of [
  ["daemon", at.daemon],
  ["test", at.test],
  ["sibling", at.siblingPid],
])
  attempt(`signal the ${name}`, () => process.kill(pid, 0) && "reached");
attempt("signal everything", () => {
  // Only processes in the sandbox get the signal. Those outside would be the daemon's.
  const before = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length;
  return before > 20 && "many would hear it";
});
attempt("attach to the first process", () => openForWriting("/proc/1/mem"));
attempt("find shared memory", () => run("ipcs -m | grep -q '^0x' && echo found"));
attempt("find message queues", () => others("/dev/mqueue", []));
attempt("be in the daemon's terminal session", () => {
  const stat = fs.readFileSync("/proc/self/stat", "utf8");
  // If the leader of a session is outside, its number inside is 0.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3] === "0" && "its leader is outside";
});
attempt("learn the host's name", () => os.hostname() === at.hostname && "known");
attempt("type into the terminal", () => openForWriting("/dev/tty"));

// The network.
attempt("reach a service on loopback", () => connect({ host: "127.0.0.1", port: at.port }));
attempt("reach a service on IPv6 loopback", () => connect({ host: "::1", port: at.port }));
attempt(
  "reach a service on localhost by UDP",
  () =>
    new Promise((resolve, reject) => {
      const socket = dgram.createSocket("udp4");
      socket.once("message", () => socket.close(() => resolve("answered")));
      socket.once("error", reject);
      socket.send("ping", at.udpPort, "127.0.0.1");
      setTimeout(() => reject(new Error("no answer")), 500);
    }),
);
for (const address of [...at.addresses, "169.254.169.254", "1.1.1.1", "10.0.0.1", "192.168.1.1"])
  attempt(`reach ${at.addresses.includes(address) ? "the host's address" : address}`, () =>
    connect({ host: address, port: at.addresses.includes(address) ? at.port : 80 }),
  );
attempt("have another interface", () =>
  Object.keys(os.networkInterfaces())
    .filter((name) => name !== "lo")
    .join(),
);
attempt("resolve a name", async () => (await dns.lookup("example.com")).address);
attempt("ask a name server", () =>
  new dns.Resolver({ timeout: 500, tries: 1 }).resolve4("example.com").then(String),
);
attempt("reach a socket file", () => connect({ path: at.socket }));
attempt("reach an abstract socket", () => connect({ path: `\0${at.abstract}` }));
attempt("reach Docker", () => connect({ path: "/var/run/docker.sock" }));
attempt("reach the system bus", () => connect({ path: "/run/dbus/system_bus_socket" }));
attempt("send raw packets", () => run("ping -c 1 -W 1 127.0.0.1 && ping -c 1 -W 1 1.1.1.1"));

// The daemon's door is open, but most of its paths are refused.
for (const path of ["/api/companies", "/api/installation", "/api/doctor/deep"])
  attempt(
    `call ${path} without a token`,
    async () => (await fetch(process.env.AGENCY_URL + path)).ok && "answered",
  );
for (const path of ["/api/installation", "/api/doctor/deep"])
  attempt(`call ${path} as the board`, async () => {
    const headers = { authorization: `Bearer ${process.env.AGENCY_TOKEN}` };
    return (await fetch(process.env.AGENCY_URL + path, { headers })).ok && "answered";
  });
attempt("reach the door", async () => {
  const answer = await fetch(`${process.env.AGENCY_URL}/api/health`);
  if (!answer.ok) return "the door is closed, which it must not be";
});

for (const [name, run] of attempts) {
  let outcome;
  try {
    const got = await run();
    outcome = got === undefined || got === false || got === "" ? "held" : `THROUGH|${String(got)}`;
  } catch (error) {
    outcome = `held|${error.code ?? error.message}`;
  }
  const [verdict, detail = "nothing"] = outcome.split("|");
  console.log(`${verdict} ${name}: ${detail.replaceAll(/\s+/g, " ").slice(0, 120)}`);
}
for (const name of fs.readdirSync("/tmp")) if (name.startsWith("fill")) fs.rmSync(`/tmp/${name}`);
for (let number = 0; number < 4; number++) fs.rmSync(`/dev/shm/fill${number}`, { force: true });

const { mark } = at;
for (const command of [
  `sleep ${mark}`,
  `setsid sleep ${mark}`,
  `(setsid sleep ${mark} &)`,
  `env -i setsid sleep ${mark}`,
  `(setsid env -i sh -c 'trap "" TERM HUP INT; sleep ${mark}' &)`,
  `nohup setsid sh -c '(sleep ${mark} &) ; sleep ${mark}'`,
])
  spawn("sh", ["-c", command], { stdio: "ignore", detached: true }).unref();
setTimeout(() => console.log(`attempts: ${attempts.length}`), 500);
setInterval(() => undefined, 1000);
