import { conflict, damaged, invalid, refused } from "../contract/refusal.ts";

/** Messages of the daemon's log about the disk. */
export const spaceIsLow =
  "The disk is nearly full. Calls that change something are refused until there is space again. Reading works.";

export const databaseIsAway =
  "The database does not answer. Calls are refused until it does. The daemon tries again by itself.";

export const databaseIsBack = "The database answers again.";

export const spaceIsBack = "There is space on the disk again. All calls are accepted.";

export const waitingForSpace = "The disk is full. The daemon waits for space to open its data.";

export const homeWasCopied = (from: string): string =>
  `This home was copied from the node ${from}, which is running. This node takes a new id.`;

/** Why the other agents of a broken brain still wait. */
export const oneTries = "One session tries whether the brain works again.";

/** Results of a test of a brain. */
export const brainNeedsSandbox = (type: string, says: string): string =>
  `The brain ${type} runs programs, and there is no sandbox for them. ${says}`;

export const withProvider = (found: string, provider: string): string =>
  `${found}, with the provider ${provider}`;

export const withConfig = (found: string, type: string, config: string): string =>
  `${found}. To choose it: agency brains use ${type} --adapter-config '${config}'`;

/** The prompt for a brain under test. */
export const trialPrompt =
  "You are asked one question, to find out whether you can be reached. Answer it in one word. Use no tools.";
export const trialBriefing = "This is a test, not work. Use no tools. Reply with the word OK.\n";

export const trialLate = (seconds: number): string =>
  `The brain did not answer and end within ${seconds} seconds, and was stopped.`;
export const trialEnded = (reason: string): string =>
  `Its program was started as in a session: ${reason.replace(/\.$/, "")}.`;
export const trialFrozen = {
  says: "The company was frozen, which ended the test.",
  remedy: "Thaw it, then test again: agency thaw.",
};
export const trialRemedy = (type: string): string =>
  `Check its program and its configuration on the daemon's machine, then test again: agency brains test ${type}`;
export const ranWithoutModel = (found: string, milliseconds: number, said: string): string =>
  `${found} was started as in a session with a test message, and ended with exit code 0 after ${(milliseconds / 1000).toFixed(1)} s. ${said === "" ? "It printed nothing." : `It said: ${said}`} No model was asked through Agency, so no tokens were counted.`;

export const noModelToAsk = (found: string): string => `No model was asked: ${found}.`;

export const testInterrupted = "The daemon stopped before the test had begun.";
export const brainTestFailed = (id = ""): { says: string; remedy: string } => ({
  says: "The test failed because of a fault in Agency.",
  remedy: `The daemon's log has the details: ${id}`,
});

export const tooManyTests = (most: number) =>
  [`${most} tests of brains are running, which is the limit.`, "Wait until one has ended."] as const;

/** Texts of backups and moves between the stores. */
export const notABackup = (path: string) =>
  refused(`${path} is not a backup of Agency.`, "Name a file that `agency backup` wrote.");

export const damagedBackup = (path: string, cause?: unknown) =>
  damaged(
    `The backup ${path} is damaged${cause instanceof Error ? `: ${cause.message}` : ""}. Nothing was restored.`,
    "Copy the file again from where you keep it, or restore an older backup.",
  );

export const otherAuditKey = (path: string, has: "none" | "other") =>
  refused(
    has === "none"
      ? `${path} can't be checked without the audit key it was sealed with. Nothing was restored.`
      : `${path} was changed, or was sealed with another audit key. Nothing was restored.`,
    `Put the file ${path}.key, which \`agency backup\` wrote, beside the backup, name it with --audit-key, or set AGENCY_AUDIT_KEY.`,
  );

export const notAMonth = (path: string) =>
  refused(`${path} is not an exported month of a record.`, "Name a file that `agency audit export` wrote.");

export const damagedMonth = (path: string, cause?: unknown) =>
  damaged(
    `The export ${path} is damaged${cause instanceof Error ? `: ${cause.message}` : ""}: it was cut, or an event in it was changed.`,
    "Copy the file again from where you keep it.",
  );

export const unsealedMonth = (path: string, hasNoKey: boolean) =>
  hasNoKey
    ? refused(
        `${path} can't be checked without the audit key it was sealed with.`,
        "Name the key with --audit-key, or set AGENCY_AUDIT_KEY. It is the file audit-key in the home folder of the daemon.",
      )
    : damaged(
        `${path} was changed, or was sealed with another audit key.`,
        "Copy the file again from where you keep it, or name the key with --audit-key.",
      );

export const otherMonth = (path: string, month: string) =>
  refused(
    `${path} exists already and is another export, of ${month}. Nothing was removed.`,
    "Choose another path with --to.",
  );

export const monthMoved = (month: string) =>
  conflict(`An event of ${month} was recorded during the export.`, "Export the month again.");

export const otherShape = (path: string, version: string, own: string) =>
  refused(
    `${path} was written by version ${version} of Agency, whose tables differ from those of this version (${own}).`,
    `Restore it with version ${version}, then update Agency.`,
  );

export const brokenRecord = (path: string, problems: number, first: string) =>
  damaged(
    `The record in ${path} does not verify (${problems} found): ${first} Nothing was restored.`,
    "Restore an older backup. To restore this one nevertheless: --despite-damage",
  );

export const notEmptyHome = (path: string) =>
  refused(
    `${path} already has data of Agency.`,
    "Use an empty folder as the home: --home <folder>. Or move the old data away first.",
  );

export const notEmptyDatabase = () =>
  refused(
    "The PostgreSQL database already has data of Agency.",
    "Create an empty database and name that one. Nothing in the present one was changed.",
  );

export const nothingToCopy = (path: string) =>
  refused(`${path} has no data of Agency yet.`, "Name the right folder: --home <folder>, or AGENCY_HOME.");

export const otherKeyInHome = (path: string) =>
  refused(
    `${path} has another audit key than the backup.`,
    "Use an empty folder as the home, or move its file audit-key away.",
  );

export const alreadyThere = (where: string) =>
  refused(`The data is already in ${where}.`, "Name another place: --to postgres://… or --to sqlite");

export const rowsDiffer = (table: string) =>
  refused(
    `The rows of ${table} changed while they were copied. Nothing was moved.`,
    "Stop every node of this installation, then run the same command again.",
  );

export const nodesRunning = (nodes: readonly string[]) =>
  refused(
    `Other nodes use this database: ${nodes.slice(0, 5).join(", ")}${nodes.length > 5 ? ` and ${nodes.length - 5} more` : ""}. Their writes would be lost. Nothing was moved.`,
    "Stop each of them (`agency stop`, or the service on its machine), then run the same command again. A node that was killed counts for 20 seconds.",
  );

export const notAUrl = (file: string) =>
  refused(
    `${file} has no address like postgres://…`,
    "Write the address of the database to this file, in one line.",
  );

export const noDescriptor = (number: number) =>
  refused(
    `Descriptor ${number} is not open for reading.`,
    `Open the descriptor when you start Agency: agency up ${number}< file. Or name a file instead.`,
  );

export const othersCanRead = (file: string) =>
  refused(`Other users can read ${file}.`, `It holds a password. Run: chmod 600 ${file}`);

export const contentLost = (fileId: string): string =>
  `The content of file ${fileId} is lost or was changed.`;

/** Texts of backups and restores about keys. */
export const auditKeyBeside = (file: string): string =>
  `The audit key is in ${file}. A restore needs it. Keep it apart from the backup: a person with both could rewrite the record.`;

export const auditKeyGiven =
  "The audit key came from AGENCY_AUDIT_KEY and is not in a file. Keep it: a restore needs it.";

export const secretsKeyApart =
  "Stored secrets are in the backup, encrypted. The secrets key is not: keep a copy of it elsewhere.";

export const noSecretsKey =
  "This home has no secrets key, so the values of secrets are not in the backup. Set them again after a restore.";

export const otherNodesLeftOut = (nodes: readonly string[]): string =>
  `The backup has the repositories and the homes of agents of this node only. It lacks those of ${nodes.join(" and ")}. Copy the folders \`homes\` and \`repos\` from the home of each of them as well.`;

export const secretsNeedKey =
  "This home has no secrets key. Put the file secrets-key of the old home there, or set the secrets again: agency secrets set <name>";

export const notAnAddress = (given: string) =>
  invalid(
    `"${given}" is not an IP address to listen on.`,
    "Use one of this machine's addresses, such as 127.0.0.1, or 0.0.0.0 for all of them.",
  );

export const needsOrigin = (address: string) =>
  invalid(
    `Agency can't listen on ${address} without --origin.`,
    "Add the address that people use, which a proxy with TLS serves: --origin https://agency.example.com",
  );

export const notAnOrigin = (given: string) =>
  invalid(
    `"${given}" is not an origin.`,
    "Use the scheme and the name, and the port if it is not the usual one: --origin https://agency.example.com",
  );

export const plainOrigin = (given: string) =>
  invalid(
    `The origin ${given} has no TLS, so anyone on the way could read its cookies and tokens.`,
    "Put a proxy with a certificate in front of Agency, and use its https:// address. The guide deployment.md shows how.",
  );

export const mayNotCreateDatabase = (user: string) =>
  refused(
    `The database user ${user} may not create the throw-away database that is measured.`,
    `Allow it as an administrator of the server: ALTER ROLE "${user}" CREATEDB. Forbid it again afterwards: ALTER ROLE "${user}" NOCREATEDB`,
  );

export const didNotAnswer = (said: string) =>
  refused(
    "The throw-away daemon did not start.",
    said === "" ? "Check the installation: agency doctor" : said,
  );

export const notAnEndpoint = (given: string) =>
  invalid(
    `"${given}" is not the address of an OpenTelemetry endpoint.`,
    "Use the address of a collector: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318",
  );

export const otherProtocol = (given: string) =>
  invalid(
    `Agency does not send telemetry with the protocol ${given}.`,
    "Set OTEL_EXPORTER_OTLP_PROTOCOL to http/json, which every OpenTelemetry collector receives on port 4318.",
  );
