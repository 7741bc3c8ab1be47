import { z } from "zod";

/**
 * The rehearsal: what an agent without a model does in one session. It looks only at what any agent sees through its
 * tools, and says what is to be handed out in its last words, so the same few rules make a whole organization:
 *   - a message from the board becomes an outcome; any other message is noted and acknowledged
 *   - the root hands what nobody handed to it to a coordinator, whom it hires if it has none
 *   - a coordinator asks for the right to hire if it lacks it, and is given it; with it, it divides its work in two
 *   - who is neither does the work
 *   - what was submitted is read and completed; an integration is put together from the results, and at the root the
 *     board hears of it
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
  dependsOn: z.array(Ref),
  responsible: Named.nullable(),
});
const Mine = z.object({
  outcomes: z.array(
    Ref.extend({
      kind: z.string(),
      workable: z.boolean(),
      blocked: z.object({ reason: z.string() }).nullable(),
    }),
  ),
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
  requests: z.array(z.object({ agent: Named, resource: z.string() })),
});

/** What it heard, and its last words: directives, if anything is to be handed out. */
export async function play(call: Call): Promise<{ heard: string[]; words: string }> {
  const did: string[] = [];
  const heard: string[] = [];
  let words = "";
  let isRefused = false;
  const me = await whoAmI(call);
  for (let turns = 0; turns < 20; turns++) {
    const { messages } = Inbox.parse(await call("mail", "read_inbox", {}));
    // Before the messages that say so are acknowledged: who dies in between is started again for them, and only for them.
    const verified = await verifyReports(call, did);
    // After the inbox: what a message says of rights holds by now.
    const rights = Permissions.parse(await call("permissions", "list_permissions", {}));
    await answerRequests(call, rights.requests, did);
    await sortInbox(call, me, messages, did);
    for (const { from, body } of messages) if (from.kind !== "system" && body !== null) heard.push(body);
    isRefused ||= messages.some(({ body }) => body?.startsWith("This was not carried out") === true);
    const mayHire = rights.grants.some(({ resource, stands }) => resource === "org:hire" && stands);
    const worked = await workOnce(call, { ...me, mayHire, isRefused }, did);
    if (typeof worked === "string") {
      // What is handed out is handed out when this session ends; the next goes on from there.
      words = worked;
      break;
    }
    if (messages.length === 0 && !verified && !worked) break;
  }
  await saveState(call, did);
  await call("audit", "submit_summary", {
    summary: did.length === 0 ? "Nothing was to be done." : did.map((line) => `- ${line}`).join("\n"),
  });
  return { heard, words };
}

interface Me {
  readonly id: string;
  readonly role: string;
  readonly isRoot: boolean;
}

interface Standing extends Me {
  readonly mayHire: boolean;
  /** Its words came back: what it wanted to hand out it does itself. */
  readonly isRefused: boolean;
}

async function whoAmI(call: Call): Promise<Me> {
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
    role: row.role,
    isRoot: row.boss === null,
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

/** A report that asks for the right to hire gets it. */
async function answerRequests(
  call: Call,
  requests: z.infer<typeof Permissions>["requests"],
  did: string[],
): Promise<void> {
  for (const { agent, resource } of requests) {
    if (resource !== "org:hire") continue;
    await call("permissions", "grant_permission", { to: agent.id, resource });
    await call("mail", "send_message", { to: agent.id, body: "You may hire now." });
    did.push(`let ${agent.name} hire`);
  }
}

/** One piece of work. A text: what is to be handed out, in the last words of this session. */
async function workOnce(call: Call, me: Standing, did: string[]): Promise<boolean | string> {
  const { outcomes } = Mine.parse(await call("outcome", "my_outcomes", { status: "open", limit: 1000 }));
  const waits = outcomes.find(({ blocked }) => blocked?.reason === noRightToHire);
  if (waits !== undefined && me.mayHire)
    await call("outcome", "update_outcome", { id: waits.id, blocked: null });
  const next =
    (me.mayHire ? waits : undefined) ?? outcomes.find(({ workable, kind }) => workable && kind !== "inbox");
  if (next === undefined) return false;
  const outcome = Outcome.parse(await call("outcome", "view_outcome", { id: next.id }));
  if (outcome.kind === "integration") {
    await putTogether(call, me, outcome, did);
    return true;
  }
  // A part that came back, because its hire was not approved or its agent left, is done rather than parted again.
  const cameBack = !outcome.delegated && /^(Organize|Draft|Check): /.test(outcome.title);
  if (!cameBack && !me.isRefused && outcome.children.length === 0) {
    if (me.isRoot && me.mayHire) return toCoordinator(call, me, outcome, did);
    if (me.role === coordinator && outcome.delegated) {
      if (me.mayHire) return toSpecialists(outcome, did);
      await askToHire(call, outcome, did);
      return true;
    }
  }
  await doIt(call, me, outcome, did);
  return true;
}

const coordinator = "Coordinator";
const noRightToHire = "waits for the right to hire";

async function askToHire(call: Call, outcome: z.infer<typeof Outcome>, did: string[]): Promise<void> {
  await call("permissions", "request_permission", {
    resource: "org:hire",
    reason: `"${outcome.title}" takes a writer and a checker`,
  });
  await call("outcome", "update_outcome", { id: outcome.id, blocked: { reason: noRightToHire } });
  did.push("asked for the right to hire");
}

/** To the coordinator there is, or to a new one: hired and given its work in the same words. */
async function toCoordinator(
  call: Call,
  me: Me,
  outcome: z.infer<typeof Outcome>,
  did: string[],
): Promise<string> {
  const { agents } = Roster.parse(await call("org", "list_roster", { limit: 1000 }));
  const there = agents.find(
    ({ boss, role, status }) => boss?.id === me.id && role === coordinator && status !== "paused",
  );
  did.push(`handed "${outcome.title}" to ${there?.name ?? `a new ${coordinator}`}`);
  return [
    ...(there === undefined ? [`HIRE[${coordinator}]: Organizes what the board asks for.`] : []),
    `DELEGATE[${there?.id ?? coordinator}]: Organize: ${outcome.title}`,
  ].join("\n");
}

/** A plan: whoever is missing for it is hired. */
function toSpecialists(outcome: z.infer<typeof Outcome>, did: string[]): string {
  const title = outcome.title
    .replace(/^Organize: /, "")
    .slice(0, 280)
    .toWellFormed();
  const acceptance = "- a knowledge file with the result";
  const tasks = [
    { title: `Draft: ${title}`, assignee: "Writer", acceptance },
    { title: `Check: ${title}`, assignee: "Checker", acceptance, dependsOn: [0] },
  ];
  did.push(`divided "${outcome.title}" between a writer and a checker`);
  return ["```plan", JSON.stringify(tasks, null, 2), "```"].join("\n");
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

async function doIt(call: Call, me: Me, outcome: z.infer<typeof Outcome>, did: string[]): Promise<void> {
  const { id, title } = outcome;
  const text = `This is a rehearsal: a model would have done the work here.\n\nServes kb://${id}`;
  // A part is put together with the others before the board hears of it.
  const isWhole = me.isRoot && !/^(Organize|Draft|Check): /.test(title);
  const result = await writeDown(call, title, text, isWhole);
  await call("outcome", outcome.delegated ? "submit_outcome" : "complete_outcome", {
    id,
    note: `The result is ${result}`,
  });
  did.push(`did "${title}", result ${result}`);
}

/** All parts are done: one file of their results. What was divided follows. */
async function putTogether(
  call: Call,
  me: Me,
  outcome: z.infer<typeof Outcome>,
  did: string[],
): Promise<void> {
  const title = outcome.title.replace(/^Integrate: /, "");
  const parts = outcome.dependsOn.map((part) => `- ${part.title} (${part.status}) kb://${part.id}`);
  const result = await writeDown(call, title, `Put together from:\n\n${parts.join("\n")}`, me.isRoot);
  await call("outcome", "complete_outcome", { id: outcome.id, note: `The result is ${result}` });
  did.push(`put "${title}" together, result ${result}`);
}

/** A file, to the boss; of a whole, the board hears in words, too. */
async function writeDown(call: Call, title: string, text: string, isWhole: boolean): Promise<string> {
  const { id } = await call("kb", "create_file", {
    description: `Result of ${title}`.slice(0, 900),
    content: `# ${title}\n\n${text}\n`,
  });
  const result = `kb://${String(id)}`;
  await call("mail", "send_message", { to: "boss", file: String(id) });
  if (isWhole)
    await call("mail", "send_message", { to: "board", body: `Done: ${title}\n\nThe result is ${result}` });
  return result;
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
