// The imports that each folder of src may use, from the bottom up. A folder may always import its own files.
// `architecture.test.ts` enforces it. Tests (`*.test.ts`, e2e, bench) may import everything.

const foundation = ["contract", "redaction", "store", "events", "capabilities", "dispatch"];
const work = [...foundation, "knowledge", "outcomes", "mail"];
const staff = [...work, "brains", "approvals", "agents", "people", "permissions", "budgets"];
const domains = [
  "knowledge",
  "outcomes",
  "mail",
  "permissions",
  "approvals",
  "agents",
  "people",
  "budgets",
  "departures",
  "hiring",
  "delegation",
  "companies",
  "reorganization",
  "roster",
  "repos",
];
const organization = [...foundation, ...domains];

export type Layer = {
  mayImport: readonly string[];
  /** Folders from which only `import type` is allowed. */
  typesOf?: readonly string[];
  /** The only packages that the folder may import. Without this, it may import any. */
  packages?: readonly string[];
};

export const layers: Readonly<Record<string, Layer>> = {
  contract: { mayImport: [], packages: ["zod"] },
  redaction: { mayImport: ["contract"] },
  store: { mayImport: ["contract"] },
  events: { mayImport: ["contract", "redaction", "store"] },
  capabilities: { mayImport: ["contract", "redaction", "store", "events"] },
  dispatch: { mayImport: ["contract", "redaction", "store", "events", "capabilities"] },

  brains: { mayImport: ["contract", "redaction"] },
  secrets: { mayImport: [...foundation, "brains"] },
  knowledge: { mayImport: foundation },
  outcomes: { mayImport: [...foundation, "knowledge"] },
  mail: { mayImport: [...foundation, "knowledge", "outcomes"] },
  permissions: { mayImport: work },
  approvals: { mayImport: [...work, "brains"] },
  agents: { mayImport: [...work, "brains", "approvals"] },
  people: { mayImport: [...work, "brains", "approvals", "agents"] },
  budgets: { mayImport: [...work, "approvals", "agents"] },
  departures: { mayImport: staff },
  hiring: { mayImport: [...staff, "departures"] },
  delegation: { mayImport: [...staff, "departures", "hiring"] },
  companies: { mayImport: [...staff, "hiring"] },
  reorganization: { mayImport: [...staff, "departures", "hiring"] },
  roster: { mayImport: [...staff, "hiring", "companies"] },
  repos: { mayImport: [...work, "permissions"], typesOf: ["secrets"] },

  gateway: { mayImport: [...foundation, "mail", "agents", "budgets", "secrets"], typesOf: ["brains"] },
  readers: { mayImport: [...organization, "brains"] },
  invariants: {
    mayImport: [...foundation, "knowledge", "outcomes", "mail", "approvals", "agents", "budgets"],
  },
  processes: { mayImport: [...foundation, "brains", "agents", "budgets"] },
  servers: { mayImport: [...foundation, "companies", "processes", "secrets"] },
  runtime: { mayImport: [...organization, "readers", "brains", "processes", "secrets"] },
  doors: {
    mayImport: ["contract", "redaction", "events", "capabilities", "dispatch", "readers"],
    typesOf: ["store"],
  },

  client: { mayImport: ["contract"] },
  cli: { mayImport: ["contract", "client"] },
  web: { mayImport: ["contract", "client"] },
  daemon: {
    mayImport: [
      ...organization,
      "invariants",
      "readers",
      "brains",
      "secrets",
      "gateway",
      "servers",
      "processes",
      "runtime",
      "doors",
      "client",
    ],
  },
  simulator: {
    mayImport: [...organization, "invariants", "readers", "brains", "processes", "runtime", "daemon"],
  },
  testing: {
    mayImport: [
      ...organization,
      "invariants",
      "readers",
      "brains",
      "secrets",
      "gateway",
      "servers",
      "processes",
      "runtime",
      "doors",
      "client",
      "cli",
      "daemon",
      "simulator",
    ],
  },
};

/** Files that may load a folder with `import()`. Commands that don't need the folder start faster without it. */
export const lazyImports: Readonly<Record<string, readonly string[]>> = {
  "src/cli/copies.ts": ["daemon"],
  "src/cli/audit.ts": ["daemon"],
  "src/cli/goal.ts": ["daemon"],
  "src/cli/main.ts": ["daemon"],
  "src/cli/measuring.ts": ["daemon"],
  "src/cli/sim.ts": ["simulator"],
  "src/cli/system-checks.ts": ["daemon", "store"],
  "src/cli/up.ts": ["capabilities", "daemon"],
};

/** Folders that get clock, randomness, timers and processes as parameters. Tests can then control them. */
export const core = ["capabilities", "dispatch", ...domains.filter((domain) => domain !== "repos")];
