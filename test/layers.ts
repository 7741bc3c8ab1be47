// Which folder of src may import which, from the bottom up; a folder may always import itself.
// `architecture.test.ts` enforces it. Tests (`*.test.ts`, e2e, bench) may import everything.

const foundation = ["contract", "store", "events", "capabilities"];
const domains = [
  "knowledge",
  "outcomes",
  "agents",
  "companies",
  "mail",
  "approvals",
  "budgets",
  "repos",
  "reorganization",
  "roster",
];
const organization = [...foundation, ...domains];

export type Layer = {
  mayImport: readonly string[];
  /** Only with `import type`. */
  typesOf?: readonly string[];
  /** The only packages it may import; without it, any. */
  packages?: readonly string[];
};

export const layers: Readonly<Record<string, Layer>> = {
  contract: { mayImport: [], packages: ["zod"] },
  store: { mayImport: ["contract"] },
  events: { mayImport: ["contract", "store"] },
  capabilities: { mayImport: ["contract", "store", "events"] },

  knowledge: { mayImport: foundation },
  outcomes: { mayImport: [...foundation, "knowledge"] },
  mail: { mayImport: [...foundation, "knowledge", "outcomes"] },
  brains: { mayImport: ["contract"] },
  agents: { mayImport: [...foundation, "knowledge", "outcomes", "mail", "brains", "approvals", "budgets"] },
  companies: { mayImport: [...foundation, "knowledge", "outcomes", "brains", "agents", "budgets"] },
  approvals: { mayImport: foundation },
  roster: { mayImport: [...foundation, "knowledge", "brains", "agents", "companies", "budgets"] },
  budgets: { mayImport: [...foundation, "mail"] },
  repos: { mayImport: foundation },
  reorganization: {
    mayImport: [...foundation, "knowledge", "outcomes", "mail", "brains", "agents", "approvals", "budgets"],
  },

  readers: { mayImport: [...organization, "brains"] },
  runtime: { mayImport: [...organization, "readers", "brains"] },
  doors: { mayImport: ["contract", "events", "capabilities", "readers"], typesOf: ["store"] },

  client: { mayImport: ["contract"] },
  cli: { mayImport: ["contract", "client"] },
  web: { mayImport: ["contract", "client"] },
  daemon: { mayImport: [...organization, "readers", "brains", "runtime", "doors", "client"] },
  simulator: { mayImport: [...organization, "readers", "brains", "runtime", "daemon"] },
  testing: {
    mayImport: [
      ...organization,
      "readers",
      "brains",
      "runtime",
      "doors",
      "client",
      "cli",
      "daemon",
      "simulator",
    ],
  },
};

/** Files that may load a folder with `import()`, so that what does not need it starts without it. */
export const lazyImports: Readonly<Record<string, readonly string[]>> = {
  "src/cli/goal.ts": ["daemon"],
  "src/cli/main.ts": ["daemon"],
  "src/cli/sim.ts": ["simulator"],
  "src/cli/up.ts": ["daemon"],
};

/** Folders where clock, randomness, timers and processes come in as parameters, so that a test can hold them. */
export const core = ["capabilities", ...domains.filter((domain) => domain !== "repos")];
