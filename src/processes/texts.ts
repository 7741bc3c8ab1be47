/** Texts of the sandbox and the watchdog, and how to get a sandbox. */

export const sandboxWorking = "bubblewrap isolates every session that runs programs.";
export const sandboxOff = "The sandbox is switched off (AGENCY_SANDBOX=off).";
export const switchOn = "Start the daemon without AGENCY_SANDBOX=off.";
export const bubblewrapMissing = "bubblewrap is not installed.";
export const installBubblewrap =
  "Install it: `sudo apt install bubblewrap`, `sudo dnf install bubblewrap` or `sudo pacman -S bubblewrap`. The daemon notices within 30 seconds.";
export const onlyOnLinux = "This system has no bubblewrap, which exists only for Linux.";
export const useLinux = "Run the daemon in a Linux container or virtual machine.";

export const sandboxForbidden = (said: string): string =>
  `bubblewrap is installed, but this system does not let it create a sandbox: ${said}`;
export const allowInAppArmor =
  "AppArmor forbids user namespaces. Allow them for bubblewrap: write `abi <abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }` to /etc/apparmor.d/bwrap and run `sudo apparmor_parser -r /etc/apparmor.d/bwrap`.";
export const allowNamespaces = (setting: string, value: string): string =>
  `A system setting forbids user namespaces. Allow them: \`sudo sysctl -w ${setting}=${value}\`.`;
export const allowInContainer =
  "If the daemon runs in a container, start the container with user namespaces allowed, for example `docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined`.";

/** Why the watchdog ended a session. It is a clause, because it is shown after "ended:". */
export const leaseLost = "its lease was not confirmed for 13 seconds";
export const tooManyProcesses = (used: number, limit: number): string =>
  `it ran ${used} processes and threads, more than the limit of ${limit} (maxSessionProcesses)`;
export const processesUsedUp = (limit: number): string =>
  `it reached the limit of ${limit} processes and threads (maxSessionProcesses)`;
export const tooMuchMemory = (used: number, limit: number): string =>
  `it used ${used} MB of memory, more than the limit of ${limit} MB (maxSessionMemoryMb)`;
export const memoryUsedUp = (limit: number): string =>
  `it used more memory than the limit of ${limit} MB (maxSessionMemoryMb)`;
export const tooMuchDisk = (used: number, limit: number): string =>
  `its files took ${used} MB, more than the limit of ${limit} MB (maxSessionDiskMb)`;
export const andHomeEmptied = (reason: string): string =>
  `${reason}; its home folder (HOME) took more than half of that and was emptied, so keep what must last in the knowledge base`;

/** The reason why an MCP server is not started. */
export const noSandboxForServer = "There is no sandbox to run it in. `agency doctor` says how to get one.";

/** Between the way a server ended and the end of its standard error. */
export const itWrote = " It wrote: ";

export const pathMissing = (path: string): string => `${path} does not exist on this machine.`;

export const pathOfAgency = (path: string): string =>
  `${path} contains Agency's own files or lies in them. No program of an agent may see those.`;
