import { serverNamed, type ServerRow } from "../companies/mcp-servers.ts";
import { notFound } from "../contract/refusal.ts";
import { type ServerTest, testMcpServer } from "../contract/servers.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import type { Caller } from "../dispatch/identity.ts";
import { testPassed, tooManyServerTests } from "./texts.ts";

/**
 * Tests of MCP servers by the board. A test runs beside the calls, because no transaction waits for a server:
 *
 *   running ──▶ works | fails
 *
 * The first call starts the test, and the door repeats the call until the test has ended (`waits`). Tests are only in memory.
 */
export type ProbeServer = (
  row: ServerRow,
  caller: Caller,
  accept: boolean,
) => Promise<{
  readonly works: boolean;
  readonly says: string;
  readonly tools: readonly { readonly name: string; readonly description?: string | undefined }[];
}>;

const mostRunning = 4;
const mostKept = 100;

export function serverTestHandler(probe: ProbeServer): Guarded {
  const tests = new Map<string, ServerTest>();
  const keep = (test: ServerTest): void => {
    tests.set(test.test, test);
    for (const [id, { status }] of tests) if (tests.size > mostKept && status !== "running") tests.delete(id);
  };
  return guarded(testMcpServer, async (call) => {
    const { tx, companyId, input } = call;
    if (input.test !== undefined) {
      const known = tests.get(input.test);
      if (known === undefined || known.companyId !== companyId) throw notFound("test", input.test);
      return known;
    }
    if ([...tests.values()].filter(({ status }) => status === "running").length >= mostRunning)
      throw tooManyServerTests(mostRunning);
    const row = await serverNamed(tx, companyId, input.name);
    const begun: ServerTest = {
      status: "running",
      companyId,
      name: row.name,
      test: call.newId(),
      milliseconds: 0,
      tools: [],
      says: "",
    };
    keep(begun);
    await call.record(companyId, { server: row.name });
    const started = performance.now();
    void probe(row, call.caller, input.accept ?? true).then(({ works, says, tools }) => {
      const milliseconds = Math.round(performance.now() - started);
      keep({
        ...begun,
        status: works ? "works" : "fails",
        milliseconds,
        tools: tools.map(({ name, description = "" }) => ({ name, description })),
        says: works ? testPassed(tools.length, milliseconds) : says,
      });
    });
    return begun;
  });
}
