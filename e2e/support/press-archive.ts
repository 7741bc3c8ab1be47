// The things that Lumen Press has collected by its second month: people, servers, secrets, a repository with a published
// branch, changes of the organization, decisions, mail of every kind, files of every kind, and a second company. For pictures
// of pages that are empty on the first day.
import { fileURLToPath } from "node:url";
import { terminateAgent } from "../../src/contract/agents.ts";
import { approve, commentOnApproval, requestRevision, resubmit } from "../../src/contract/approvals.ts";
import { grantPermission } from "../../src/contract/capabilities.ts";
import { archiveCompany, createCompany } from "../../src/contract/companies.ts";
import { delegateOutcome } from "../../src/contract/delegation.ts";
import { createGoal, listGoals } from "../../src/contract/goals.ts";
import { createAgent, hireAgent } from "../../src/contract/hiring.ts";
import { createFile } from "../../src/contract/knowledge.ts";
import { sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import { createOutcome } from "../../src/contract/outcomes.ts";
import { createPerson } from "../../src/contract/people.ts";
import { applyReorganization } from "../../src/contract/reorganization.ts";
import { addRepo } from "../../src/contract/repos.ts";
import { setSecret } from "../../src/contract/secrets.ts";
import { putMcpServer, testMcpServer } from "../../src/contract/servers.ts";
import type { BuiltDaemon } from "./daemon.ts";
import { developer, makeOrigin } from "./origin.ts";
import type { Press } from "./press.ts";

const everything = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);
/** A picture of one grey dot. */
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

export async function furnish(
  daemon: BuiltDaemon,
  press: Press,
  folder: string,
): Promise<{ revisedId: string; departedId: string; pictureId: string; reorganizationId: string }> {
  const { board } = daemon;
  const { companyId } = press;
  const agentOf = (name: string): string => press.agents.get(name) ?? "";
  for (const [name, role] of [
    ["Ann Keller", "board"],
    ["Jo Brandt", "member"],
    ["Auditor", "viewer"],
  ] as const)
    await board.call(createPerson, { name, role });
  for (const name of ["PRINTER_KEY", "STORE_TOKEN"])
    await board.call(setSecret, { companyId, name, value: `${name} is known to the daemon alone` });
  await board.call(putMcpServer, {
    companyId,
    name: "printer",
    config: {
      command: process.execPath,
      args: [everything, "stdio"],
      env: { KEY: { secret: "PRINTER_KEY" } },
    },
  });
  await board.call(putMcpServer, {
    companyId,
    name: "customs",
    config: { command: "/bin/sh", args: ["-c", "echo no licence >&2; exit 3"] },
  });
  for (const name of ["printer", "customs"]) await board.call(testMcpServer, { companyId, name });
  await board.call(grantPermission, {
    companyId,
    to: agentOf("Marlow"),
    resource: "mcp:printer",
    level: "use",
  });

  await publish(daemon, press, folder);

  const { id: departedId } = await board.call(createAgent, {
    companyId,
    name: "Otto",
    role: "Typesetter",
    adapterType: "rehearsal",
    reportsTo: agentOf("Theo"),
    mandate: "Set every book.",
  });
  await board.call(terminateAgent, { id: departedId, reason: "The layout program sets the books now." });
  const { id: reorganizationId } = await board.call(applyReorganization, {
    companyId,
    change: { kind: "move_report", agent: "mila", to: "theo" },
  });

  const bruno = await press.as("Bruno");
  const { approval } = await bruno.call(hireAgent, {
    companyId,
    name: "Selma Roth",
    role: "Photographer",
    adapterType: "rehearsal",
    budget: { usd: 30 },
    mandate: "Every species has a picture in its winter dress.",
  });
  const revisedId = approval?.id ?? "";
  await board.call(requestRevision, { id: revisedId, decisionNote: "Half of the budget, please." });
  await bruno.call(resubmit, { id: revisedId, payload: { budget: { usd: 15 } } });
  await bruno.call(commentOnApproval, { id: revisedId, body: "With **$15** she can begin in *December*." });
  await board.call(approve, { id: revisedId, decisionNote: "Welcome." });

  const marlow = await press.as("Marlow");
  const picture = await marlow.call(createFile, {
    companyId,
    description: "Cover, first draft",
    content: dot,
    encoding: "base64",
    mediaType: "image/png",
  });
  await marlow.call(createFile, {
    companyId,
    description: "Index of species",
    content: `# Index of species\n\nSee the [plates](kb://${crypto.randomUUID()}) and the [cover](kb://${picture.id}).\n`,
  });
  await board.call(sendMessage, {
    companyId,
    to: agentOf("Marlow"),
    body: "Take 150 g. What does that do to the price?",
    files: [picture.id],
  });
  await board.call(sendDeferredMessage, {
    companyId,
    to: agentOf("Greta"),
    body: "Is the print run confirmed?",
    deliverAt: new Date(Date.now() + 3 * 86_400_000).toISOString(),
  });

  const { id: second } = await board.call(createCompany, { name: "Harbour Maps" });
  await board.call(createGoal, { companyId: second, title: "The harbour map shows every berth" });
  const { id: third } = await board.call(createCompany, { name: "Night Birds Calendar" });
  await board.call(archiveCompany, { companyId: third });
  return { revisedId, departedId, pictureId: picture.id, reorganizationId };
}

/** An agent fixes a bug in a repository and publishes a branch. */
async function publish(daemon: BuiltDaemon, press: Press, folder: string): Promise<void> {
  const { board } = daemon;
  const { companyId, rootId } = press;
  await board.call(addRepo, { companyId, name: "shop", url: makeOrigin(folder) });
  await board.call(grantPermission, { companyId, to: rootId, resource: "repo:shop", level: "push" });
  const worker = await board.call(createAgent, {
    companyId,
    name: "Worker",
    role: "Store developer",
    reportsTo: rootId,
    mandate: "The store counts correctly.",
    ...developer("worker"),
  });
  const { outcomes } = await board.call(listGoals, { companyId });
  const fix = await board.call(createOutcome, {
    companyId,
    title: "Fix the rounding",
    acceptance: "3 pieces cost 3.30.",
    parents: outcomes.slice(0, 1).map(({ id }) => id),
  });
  await board.call(delegateOutcome, {
    id: fix.id,
    to: worker.id,
    grants: [{ resource: "repo:shop", level: "read" }],
  });
}
