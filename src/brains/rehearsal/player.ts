import { z } from "zod";

/**
 * The rehearsal: what an agent without a model does in one session. It looks only at what any agent sees through its
 * tools, so the same few rules make a whole organization:
 *   - a message from the board becomes an outcome; any other message is noted and acknowledged
 *   - an outcome nobody handed down, at the root, is planned: two parts, handed to a coordinator
 *   - an outcome handed down is split once more by whoever may hire, and done by whoever may not
 *   - what was submitted is read and completed; when all parts are done, the whole is written up and submitted, or
 *     completed and reported to the board
 */
type Call = (server: string, tool: string, args: Record<string, unknown>) => Promise<Record<string, unknown>>;

const Named = z.object({ id: z.string(), name: z.string() });
const Inbox = z.object({
  messages: z.array(
    z.object({
      id: z.string(),
      from: z.object({ kind: z.string(), name: z.string() }),
      body: z.string().nullable(),
      file: z.string(),
    }),
  ),
});
const Ref = z.object({ id: z.string(), title: z.string(), status: z.string() });
const Outcome = Ref.extend({
  kind: z.string(),
  delegated: z.boolean(),
  description: z.string(),
  acceptance: z.string().nullable(),
  children: z.array(Ref),
  responsible: Named.nullable(),
});
const Mine = z.object({
  outcomes: z.array(Ref.extend({ kind: z.string(), workable: z.boolean(), delegated: z.boolean() })),
});
const Roster = z.object({
  agents: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      role: z.string(),
      boss: Named.nullable(),
      status: z.string(),
    }),
  ),
});
const Permissions = z.object({
  grants: z.array(z.object({ resource: z.string(), to: Named, stands: z.boolean() })),
});

export async function play(call: Call): Promise<{ heard: string[] }> {
  const did: string[] = [];
  const heard: string[] = [];
  const me = await whoAmI(call);
  for (let turns = 0; turns < 20; turns++) {
    const { messages } = Inbox.parse(await call("mail", "read_inbox", {}));
    // Before the messages that say so are acknowledged: who dies in between is started again for them, and only for them.
    const verified = await verifyReports(call, did);
    await sortInbox(call, me, messages, did);
    for (const { from, body } of messages) if (from.kind !== "system" && body !== null) heard.push(body);
    const worked = await workOnce(call, me, did);
    if (messages.length === 0 && !verified && !worked) break;
  }
  await saveState(call, did);
  await call("audit", "submit_summary", {
    summary: did.length === 0 ? "Nothing was to be done." : did.map((line) => `- ${line}`).join("\n"),
  });
  return { heard };
}

interface Me {
  readonly id: string;
  readonly name: string;
  readonly isRoot: boolean;
  readonly mayHire: boolean;
}

async function whoAmI(call: Call): Promise<Me> {
  const { grants } = Permissions.parse(await call("permissions", "list_permissions", {}));
  const { agents } = Roster.parse(await call("org", "list_roster", { limit: 1000 }));
  const { outcomes } = Mine.parse(await call("outcome", "my_outcomes", { limit: 1000 }));
  const own =
    outcomes[0] === undefined
      ? undefined
      : Outcome.parse(await call("outcome", "view_outcome", { id: outcomes[0].id })).responsible;
  const row = agents.find(({ id }) => id === own?.id);
  if (row === undefined) throw new Error("an agent without any outcome has nothing to play");
  return {
    id: row.id,
    name: row.name,
    isRoot: row.boss === null,
    mayHire: grants.some(({ resource, stands }) => resource === "org:hire" && stands),
  };
}

async function sortInbox(
  call: Call,
  me: Me,
  messages: z.infer<typeof Inbox>["messages"],
  did: string[],
): Promise<void> {
  for (const { id, from, body } of messages) {
    let result = "noted";
    if (me.isRoot && from.kind === "board" && body !== null) {
      const made = Outcome.parse(
        await call("outcome", "create_outcome", {
          title: titleOf(body),
          description: body,
          parents: [me.id],
          important: true,
          acceptance: "- a result is in the knowledge base\n- the board got a message with the link",
        }),
      );
      result = `outcome ${made.id}`;
      did.push(`took on "${made.title}" from the board`);
    }
    await call("mail", "acknowledge_message", { id, result });
  }
}

async function workOnce(call: Call, me: Me, did: string[]): Promise<boolean> {
  const { outcomes } = Mine.parse(await call("outcome", "my_outcomes", { status: "open", limit: 1000 }));
  const next = outcomes.find(({ workable, kind }) => workable && kind !== "inbox");
  if (next === undefined) return false;
  const outcome = Outcome.parse(await call("outcome", "view_outcome", { id: next.id }));
  // A part that came back, because its hire was not approved or its agent left, is done rather than parted again.
  const cameBack = !outcome.delegated && /^(Organize|Draft|Check): /.test(outcome.title);
  if (outcome.children.length === 0 && me.mayHire && !cameBack) await plan(call, me, outcome, did);
  else if (outcome.children.length === 0) await doIt(call, outcome, did);
  else await writeUp(call, me, outcome, did);
  return true;
}

/** Everything of ours that was handed down and submitted: look at it, complete it. */
async function verifyReports(call: Call, did: string[]): Promise<boolean> {
  const { outcomes } = Mine.parse(await call("outcome", "my_outcomes", { status: "open", limit: 1000 }));
  let any = false;
  for (const { id } of outcomes) {
    const outcome = Outcome.parse(await call("outcome", "view_outcome", { id }));
    for (const child of outcome.children) {
      if (child.status !== "submitted") continue;
      await call("outcome", "complete_outcome", {
        id: child.id,
        note: "looked at it against its acceptance criteria",
      });
      did.push(`verified "${child.title}"`);
      any = true;
    }
  }
  return any;
}

/** The root hands the whole to one coordinator, who may hire; a coordinator hands two parts to specialists, who may not. */
async function plan(call: Call, me: Me, outcome: z.infer<typeof Outcome>, did: string[]): Promise<void> {
  const parts = me.isRoot
    ? [{ title: `Organize: ${outcome.title}`, role: "Coordinator", grants: [{ resource: "org:hire" }] }]
    : [
        { title: `Draft: ${outcome.title}`, role: "Writer", grants: [] },
        { title: `Check: ${outcome.title}`, role: "Checker", grants: [] },
      ];
  const made: string[] = [];
  for (const { title, role, grants } of parts) {
    const part = Outcome.parse(
      await call("outcome", "create_outcome", {
        title: title.slice(0, 290),
        parents: [outcome.id],
        acceptance: "- a knowledge file with the result",
        ...(role === "Checker" ? { dependsOn: made } : {}),
      }),
    );
    made.push(part.id);
    await hand(call, me, part.id, role, grants);
    did.push(`handed "${part.title}" to a ${role}`);
  }
}

async function hand(
  call: Call,
  me: Me,
  id: string,
  role: string,
  grants: { resource: string }[],
): Promise<void> {
  const { agents } = Roster.parse(await call("org", "list_roster", { limit: 1000 }));
  const report = agents.find(
    (agent) => agent.boss?.id === me.id && agent.role === role && ["idle", "running"].includes(agent.status),
  );
  const names = new Set(agents.map(({ name }) => name.toLowerCase()));
  let name = role;
  for (let number = 2; names.has(name.toLowerCase()); number++) name = `${role} ${number}`;
  await call("outcome", "delegate_outcome", {
    id,
    ...(report === undefined ? { hire: { name, role } } : { to: report.id }),
    ...(grants.length === 0 ? {} : { grants }),
  });
}

async function doIt(call: Call, outcome: z.infer<typeof Outcome>, did: string[]): Promise<void> {
  const file = await call("kb", "create_file", {
    description: `Result of ${outcome.title}`.slice(0, 900),
    content: `# ${outcome.title}\n\nThis is a rehearsal: a model would have done the work here.\n\nServes kb://${outcome.id}\n`,
  });
  await call("mail", "send_message", { to: "boss", file: String(file["id"]) });
  const note = `The result is kb://${String(file["id"])}`;
  await call("outcome", outcome.delegated ? "submit_outcome" : "complete_outcome", { id: outcome.id, note });
  did.push(`did "${outcome.title}", result kb://${String(file["id"])}`);
}

/** All parts are done: integrate them, then submit, or, at the root, complete and report. */
async function writeUp(call: Call, me: Me, outcome: z.infer<typeof Outcome>, did: string[]): Promise<void> {
  const parts = outcome.children.map(({ id, title, status }) => `- ${title} (${status}) kb://${id}`);
  const content = `# ${outcome.title}\n\nPut together from:\n\n${parts.join("\n")}\n`;
  const file = await call("kb", "create_file", {
    description: `Result of ${outcome.title}`.slice(0, 900),
    content,
  });
  const id = String(file["id"]);
  await call("mail", "send_message", { to: "boss", file: id });
  if (me.isRoot) {
    await call("mail", "send_message", {
      to: "board",
      body: `Done: ${outcome.title}\n\nThe result is kb://${id}`,
    });
    await call("outcome", "complete_outcome", { id: outcome.id, note: `The result is kb://${id}` });
  } else await call("outcome", "submit_outcome", { id: outcome.id, note: `The result is kb://${id}` });
  did.push(`put "${outcome.title}" together, result kb://${id}`);
}

async function saveState(call: Call, did: string[]): Promise<void> {
  const { files } = z
    .object({ files: z.array(z.object({ id: z.string(), version: z.number(), hash: z.string() })) })
    .parse(await call("kb", "list_files", { kind: "state" }));
  const state = files[0];
  if (state === undefined) return;
  const content = `# State\n\n${did.length === 0 ? "At rest." : did.map((line) => `- ${line}`).join("\n")}\n`;
  await call("kb", "write_file", { id: state.id, content, version: state.version, hash: state.hash });
}

function titleOf(body: string): string {
  const line = body.split("\n").find((candidate) => candidate.trim() !== "") ?? "A goal";
  return line.trim().slice(0, 200).toWellFormed();
}
