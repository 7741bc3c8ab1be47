// People hold positions: a whole company of people, and one person among programs. Each works from the inbox, over HTTP, with
// the key of the position. No session is started for a person, and other agents can't tell that it is a person.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "../src/client/client.ts";
import { requestPermission } from "../src/contract/capabilities.ts";
import { createFile, readFile } from "../src/contract/knowledge.ts";
import {
  acknowledgeMessage,
  boardInbox,
  type Message,
  readInbox,
  sendMessage,
} from "../src/contract/mail.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createKey, updateAgent, viewAgent } from "../src/contract/agents.ts";
import {
  completeOutcome,
  createOutcome,
  listOutcomes,
  myOutcomes,
  reopenOutcome,
  submitOutcome,
  viewOutcome,
} from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { why } from "../src/contract/why.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

interface Person extends Client {
  readonly id: string;
}

/** Waits for the next message with this text in the inbox, and acknowledges it. */
async function next(person: Person, part: string): Promise<Message> {
  for (const started = performance.now(); performance.now() - started < allowed(60_000); await sleep(50)) {
    const { messages } = await person.call(readInbox, {});
    const found = messages.find(({ body }) => body?.includes(part) === true);
    if (found === undefined) continue;
    return person.call(acknowledgeMessage, { id: found.id, result: "seen" });
  }
  throw new Error(`nothing came that says ${part}`);
}

describe("people", () => {
  const folder = temporaryFolder("people");
  let daemon: BuiltDaemon;
  let companyId: string;
  let rootId: string;
  before(async () => {
    daemon = await startDaemon({ home: folder.path, env: { AGENCY_SANDBOX: "off" } }).ready;
    await daemon.board.call(updateCompany, {
      companyId: daemon.companyId,
      requireBoardApprovalForNewAgents: false,
    });
    companyId = daemon.companyId;
    rootId = (await daemon.board.call(viewCompany, { companyId })).rootAgentId;
  });
  after(async () => {
    assert.equal(daemon.log(), "");
    assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
    folder.remove();
  });

  const board = (): Client => daemon.board;
  const asPerson = async (id: string): Promise<Person> => {
    const { key } = await board().call(createKey, { id });
    return { id, ...createClient({ url: daemon.url, token: key }) };
  };
  const boardMail = async (part: string): Promise<Message> => {
    for (const started = performance.now(); performance.now() - started < allowed(60_000); await sleep(50)) {
      const { messages } = await board().call(boardInbox, { companyId });
      const found = messages.find(({ body }) => body?.includes(part) === true);
      if (found !== undefined) return board().call(acknowledgeMessage, { id: found.id, result: "thanks" });
    }
    throw new Error(`the board got nothing that says ${part}`);
  };
  const idIn = (message: Message): string => /kb:\/\/([0-9a-f-]{36})/.exec(message.body ?? "")?.[1] ?? "";

  // covers UNI-01, UNI-06, ROOT-03, ROOT-04, ROOT-05
  test("a company of people without agents' brains works through inboxes alone", async () => {
    await board().call(updateAgent, { id: rootId, adapterType: "human" });
    const chief = await asPerson(rootId);
    await board().call(sendMessage, { companyId, body: "Open the shop on Monday" });
    const goal = await next(chief, "Open the shop");
    assert.equal(goal.from.kind, "board");
    const shop = await chief.call(createOutcome, {
      companyId,
      title: "Open the shop",
      parents: [rootId],
    });
    const sign = await chief.call(createOutcome, {
      companyId,
      title: "Paint the sign",
      parents: [shop.id],
      acceptance: "- it can be read from across the street",
    });
    // The chief hires a person. The person gets mail about the work, with or without a message from the chief.
    await chief.call(delegateOutcome, {
      id: sign.id,
      hire: { name: "Vera", role: "Painter", adapterType: "human" },
    });
    const vera = await asPerson(sign.id);
    const order = await next(vera, "Paint the sign");
    assert.equal(idIn(order), sign.id);
    assert.match(order.body ?? "", /can be read from across the street/);
    assert.ok((await vera.call(myOutcomes, { status: "open" })).outcomes.some(({ id }) => id === sign.id));
    const photo = await vera.call(createFile, {
      companyId,
      description: "A photograph of the sign",
      content: "(a photograph)",
    });
    await vera.call(sendMessage, { companyId, to: "boss", file: photo.id });
    await vera.call(submitOutcome, { id: sign.id, note: "dry by tonight" });
    const asked = await next(chief, "for your review");
    assert.match(asked.body ?? "", /dry by tonight/);
    assert.equal((await next(chief, "(a photograph)")).file, photo.id);
    assert.equal((await chief.call(readFile, { id: photo.id })).content, "(a photograph)");
    await chief.call(reopenOutcome, { id: sign.id, reason: "the S is missing" });
    await next(vera, "the S is missing");
    await vera.call(submitOutcome, { id: sign.id });
    await next(chief, "for your review");
    await chief.call(completeOutcome, { id: sign.id });
    await chief.call(completeOutcome, { id: shop.id });
    await chief.call(sendMessage, { companyId, to: "board", body: "The shop is open" });
    await boardMail("The shop is open");
    assert.equal((await board().call(viewAgent, { id: vera.id })).status, "terminated");
    // The board acknowledges for a person who does not use a computer.
    const note = await board().call(sendMessage, { companyId, body: "Well done" });
    await board().call(acknowledgeMessage, { id: note.id, result: "told her in person" });
    const open = (await board().call(listOutcomes, { companyId, status: "open" })).outcomes;
    assert.deepEqual(
      open.map((outcome) => outcome.kind),
      ["perpetual"],
    );
    assert.deepEqual((await board().call(listSessions, { companyId })).sessions, []);
  });

  // covers UNI-01, UNI-06
  test("a person can report to one program and manage another", async () => {
    const { id } = await board().call(createAgent, {
      companyId,
      name: "Paula",
      role: "Coordinator",
      adapterType: "human",
    });
    const paula = await asPerson(id);
    await board().call(updateAgent, { id: rootId, adapterType: "rehearsal" });
    await board().call(sendMessage, { companyId, body: "Print the menu" });
    // The program above delegates to its coordinator, without knowing whether that is a person.
    const order = await next(paula, "Organize: Print the menu");
    const job = idIn(order);
    assert.equal((await paula.call(viewOutcome, { id: job })).responsible?.id, paula.id);
    const waiting = await board().call(why, { id: job });
    assert.deepEqual([waiting.moves, waiting.path.at(-1)?.id], [true, paula.id]);
    assert.match(waiting.says, /is a person/);
    // She asks the program for the right to hire, and gets it.
    await paula.call(requestPermission, { resource: "org:hire", reason: "somebody has to set the type" });
    await next(paula, "You may hire now");
    // She hires a program for a part of it, and it reports to her.
    const part = await paula.call(createOutcome, { companyId, title: "Set the type", parents: [job] });
    await paula.call(delegateOutcome, {
      id: part.id,
      hire: { name: "Setter", role: "Writer", adapterType: "rehearsal" },
    });
    await next(paula, "for your review");
    assert.equal((await paula.call(viewOutcome, { id: part.id })).status, "submitted");
    await paula.call(completeOutcome, { id: part.id, note: "clean" });
    const result = await paula.call(createFile, {
      companyId,
      description: "The menu",
      content: "Soup. Bread.",
    });
    await paula.call(sendMessage, { companyId, to: "boss", file: result.id });
    await paula.call(submitOutcome, { id: job, note: `see kb://${result.id}` });
    // The program above verifies, completes and tells the board.
    const report = await boardMail("Done: Print the menu");
    assert.equal(report.from.id, rootId);
    assert.equal((await board().call(viewOutcome, { id: job })).status, "completed");
    // Her position is a standing one, and she stays.
    assert.equal((await board().call(viewAgent, { id: paula.id })).status, "idle");
    const { sessions } = await board().call(listSessions, { companyId });
    assert.ok(sessions.length >= 3);
    assert.ok(sessions.every(({ agent }) => agent.id !== paula.id));
  });
});
