import { type AgentRow, saveAgent } from "../agents/table.ts";
import { system } from "../events/ledger.ts";
import { addVersion, fileById, insertFile } from "../knowledge/table.ts";
import { redactText } from "../redaction/redact.ts";
import type { Tx } from "../store/store.ts";

/** Appends an entry to an agent's log, a knowledge file with one entry for each session. Only the system writes it. */
export async function appendToLog(
  tx: Tx,
  agent: AgentRow,
  entry: { sessionId: string; text: string },
  newId: () => string,
): Promise<string> {
  const added = `## ${new Date(tx.now).toISOString()} session ${entry.sessionId}\n\n${redactText(entry.text)}\n`;
  const file = agent.log_file_id === null ? undefined : await fileById(tx, agent.log_file_id);
  if (file !== undefined) {
    const before = Buffer.from(await tx.blobs.read(file.id, file.hash)).toString("utf8");
    await addVersion(tx, file, {
      content: Buffer.from(trimmed(`${before}\n${added}`)),
      description: file.description,
      author: system,
    });
    return file.id;
  }
  const id = newId();
  await insertFile(tx, {
    id,
    companyId: agent.company_id,
    kind: "log",
    description: `Log of ${agent.name}`,
    mediaType: "text/markdown",
    ownerId: agent.id,
    content: Buffer.from(`# Log of ${agent.name}\n\n${added}`),
    author: system,
  });
  await saveAgent(tx, agent, { log_file_id: id });
  return id;
}

const longest = 256 * 1024;

/** A log that grows too long loses its oldest entries. They stay in the file's earlier versions. */
function trimmed(log: string): string {
  if (log.length <= longest) return log;
  const start = log.indexOf("\n## ", log.length - longest);
  return `# Older entries are in earlier versions of this file.\n${log.slice(start < 0 ? log.length - longest : start)}`.toWellFormed();
}
