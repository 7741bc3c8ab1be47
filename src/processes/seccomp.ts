/**
 * The system calls that a sandbox refuses, because they reach past the namespaces. bubblewrap loads the filter, and every
 * process inside inherits it.
 *
 *   keys       the session's keyring is the daemon's: one session could read its keys, and leave something there for another
 *   sockets    all families but Unix, internet and netlink; a vsock reaches the machine that runs this one, whatever the network
 *   io_uring   creates sockets without the call that is checked here
 *   others     tracing and kernel programs, which only widen what an attacker can try
 *
 * Calls through another table (32-bit programs on a 64-bit system) are refused, because their numbers differ.
 */
interface Calls {
  /** The name of the architecture in the kernel's audit records. */
  readonly audit: number;
  readonly socket: number;
  readonly refused: readonly number[];
}

/** io_uring_setup, _enter and _register have these numbers everywhere. */
const everywhere = [425, 426, 427];

const calls: Readonly<Record<string, Calls>> = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd
    refused: [248, 249, 250, 298, 321, 323, ...everywhere],
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    refused: [217, 218, 219, 241, 280, 282, ...everywhere],
  },
};

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK */
const families = [1, 2, 10, 16];
/** On x64, calls from this number on belong to another table (x32). */
const firstOfX32 = 0x40000000;

const allow = 0x7fff0000;
const withError = 0x00050000;
const notPermitted = 1;
const noSuchCall = 38;
const noSuchFamily = 97;

/** The filter in bubblewrap's format. Empty for processors that are not in the table: their sandbox has no filter. */
export function callFilter(processor: string = process.arch): Buffer {
  const known = calls[processor];
  if (known === undefined) return Buffer.alloc(0);
  // Each check jumps over the result that follows it, so no jump has to be counted.
  return Buffer.concat([
    load(architecture),
    ...unless([known.audit], withError | noSuchCall),
    load(number),
    ...(processor === "x64" ? [jump(atLeast, firstOfX32, 0, 1), answer(withError | noSuchCall)] : []),
    ...known.refused.flatMap((call) => [jump(equal, call, 0, 1), answer(withError | notPermitted)]),
    jump(equal, known.socket, 0, 2 + families.length),
    load(firstArgument),
    ...unless(families, withError | noSuchFamily),
    answer(allow),
  ]);
}

/** Returns `result` unless the loaded value is one of these. */
function unless(values: readonly number[], result: number): Buffer[] {
  return [...values.map((value, at) => jump(equal, value, values.length - at, 0)), answer(result)];
}

/** Instructions of the kernel's packet filter: a code, two jumps and a value. */
function instruction(code: number, value: number, [then, otherwise] = [0, 0]): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(then, 2);
  bytes.writeUInt8(otherwise, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}

const equal = 0x15;
const atLeast = 0x35;
const load = (offset: number): Buffer => instruction(0x20, offset);
const jump = (test: number, value: number, then: number, otherwise: number): Buffer =>
  instruction(test, value, [then, otherwise]);
const answer = (result: number): Buffer => instruction(0x06, result);

/** The place where the kernel shows a call to the filter. All processors of the table are little-endian. */
const number = 0;
const architecture = 4;
const firstArgument = 16;
