import { join } from "node:path";
import { z } from "zod";
import { openCaller } from "../../src/daemon/speed.ts";
import { type Driver, installPackage, serverOf, versionIn } from "./system.ts";

const WithId = z.object({ id: z.string() });
const Hired = z.object({ approval: WithId });

/**
 * Paperclip, from the npm registry. A work item is an issue, a message a comment on an issue, and a hire waits for the board as
 * the company's setting demands. It runs as on a person's own machine, where it trusts local calls. Its database is the server
 * that Agency uses too, and not the one that comes with it. So its figures leave out the cost of that server.
 */
export function paperclip(program = "paperclipai/dist/index.js"): Driver {
  return {
    name: "Paperclip",
    database: "PostgreSQL",
    install: async (folder) => installPackage(folder, "paperclipai"),
    version: (installed) => versionIn(join(installed, "paperclipai")),
    open: async (installed, folder, databaseUrl) => {
      const data = join(folder, "data");
      const server = serverOf({
        // The first start creates its configuration, which the others find.
        program: [join(installed, program), "onboard", "--yes", "--no-install-service", "--data-dir", data],
        env: (port) => ({
          HOME: folder,
          PORT: String(port),
          DATABASE_URL: databaseUrl,
          // No data leaves this machine, and no browser opens.
          PAPERCLIP_TELEMETRY_DISABLED: "1",
          DO_NOT_TRACK: "1",
          PAPERCLIP_OPEN_ON_LISTEN: "false",
        }),
        healthPath: "/api/health",
        log: join(folder, "log"),
      });
      let made: { company: string; issue: string } | undefined;
      return {
        start: server.start,
        stop: server.stop,
        megabytes: server.megabytes,
        work: async (connections) => {
          const { send, close } = openCaller(server.url(), undefined, connections);
          made ??= await begin(send);
          const company = `/api/companies/${made.company}`;
          const { issue } = made;
          return {
            createItem: (n) =>
              send("POST", `${company}/issues`, {
                title: `Outcome ${n}`,
                description: "What should be achieved, in a sentence or two of ordinary length.",
              }),
            message: (n) =>
              send("POST", `/api/issues/${issue}/comments`, { body: `Please look at number ${n} today.` }),
            hire: async (n) => {
              const hired = await send("POST", `${company}/agent-hires`, {
                name: `Hire ${n}`,
                role: "engineer",
                adapterType: "process",
                adapterConfig: { command: "true" },
              });
              await send("POST", `/api/approvals/${Hired.parse(hired).approval.id}/approve`, {});
            },
            list: () => send("GET", `${company}/issues?limit=1000`),
            close,
          };
        },
        close: server.stop,
      };
    },
  };
}

async function begin(
  send: ReturnType<typeof openCaller>["send"],
): Promise<{ company: string; issue: string }> {
  const { id: company } = WithId.parse(await send("POST", "/api/companies", { name: "Bench" }));
  await send("PATCH", `/api/companies/${company}`, { requireBoardApprovalForNewAgents: true });
  const { id: issue } = WithId.parse(
    await send("POST", `/api/companies/${company}/issues`, { title: "Begin", description: "" }),
  );
  return { company, issue };
}
