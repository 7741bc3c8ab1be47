// Deliverables of an outcome: which files can be delivered, who may read them when, and how the right is listed and explained.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createKey, terminateAgent } from "../contract/agents.ts";
import { explainAccess, grantPermission, listPermissions } from "../contract/capabilities.ts";
import {
  createFile,
  deleteFile,
  listFiles,
  readFile,
  readVersion,
  viewAccessLog,
  viewHistory,
  viewLinks,
  writeFile,
} from "../contract/knowledge.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
  viewAncestors,
  viewOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, planWork, reclaimOutcome } from "../contract/delegation.ts";
import { readInbox } from "../contract/mail.ts";
import { applyReorganization, undoReorganization } from "../contract/reorganization.ts";
import {
  storeKinds,
  type Organization,
  refusal,
  sharedOrganization,
  type TestCaller,
} from "../testing/organization.ts";

interface Member {
  readonly id: string;
  readonly call: TestCaller;
}

/** Root › Mia › Wes, Sue. Mia owns "Release" and delegated "Draft" below it to Wes. */
async function team(org: Organization) {
  const mia = await org.agent(`Mia ${Math.random()}`);
  const wes = await org.agent(`Wes ${Math.random()}`, mia.id);
  const sue = await org.agent(`Sue ${Math.random()}`, mia.id);
  const { id: release } = await org.root(createOutcome, { title: "Release", parents: [org.rootId] });
  await org.root(delegateOutcome, { id: release, to: mia.id });
  const { id: draft } = await mia.call(createOutcome, { title: "Draft", parents: [release] });
  await mia.call(delegateOutcome, { id: draft, to: wes.id });
  return { mia, wes, sue, release, draft };
}

const write = (by: Member, description = "The draft", content = "first words") =>
  by.call(createFile, { description, content });

const reads = async (by: TestCaller, id: string): Promise<string | undefined> => {
  try {
    const { content, pinned } = await by(readFile, { id });
    return pinned === true ? `${content} (pinned)` : content;
  } catch {
    return undefined;
  }
};

for (const kind of storeKinds) {
  describe(`deliverables on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    test("a submission lets the verifier read that version, an acceptance lets owners of ancestors read it, and siblings never can", async () => {
      const { mia, wes, sue, release, draft } = await team(org);
      const file = await write(wes);
      assert.equal(await reads(mia.call, file.id), undefined);
      const handed = await wes.call(submitOutcome, { id: draft, note: "Done.", files: [file.id] });
      assert.deepEqual(
        handed.deliverables.map(({ id, version, accepted }) => ({ id, version, accepted })),
        [{ id: file.id, version: 1, accepted: false }],
      );
      assert.deepEqual(handed.unreadable, []);
      await wes.call(writeFile, { ...file, content: "later words", description: "A secret title" });
      assert.equal(await reads(mia.call, file.id), "first words (pinned)");
      assert.equal(await reads(org.root, file.id), undefined);
      assert.equal(await reads(sue.call, file.id), undefined);
      await refusal(mia.call(readVersion, { id: file.id, version: 2 }), "not_found");
      assert.deepEqual(
        (await mia.call(viewHistory, { id: file.id })).versions.map(({ version }) => version),
        [1],
      );
      await refusal(mia.call(viewLinks, { id: file.id }), "not_found");
      await mia.call(completeOutcome, { id: draft });
      assert.equal(await reads(org.root, file.id), "first words (pinned)");
      assert.equal(await reads(sue.call, file.id), undefined);
      const seen = await org.root(viewOutcome, { id: draft });
      assert.deepEqual(
        seen.deliverables.map(({ description, version, accepted }) => ({ description, version, accepted })),
        [{ description: "The draft", version: 1, accepted: true }],
      );
      const log = await wes.call(viewAccessLog, { id: file.id });
      assert.ok(log.accesses.some(({ by, version }) => by.agentId === mia.id && version === 1));
      const text = (await mia.call(readFile, { id: draft })).content;
      assert.match(text, new RegExp(`deliverables: \\["${file.id}"\\]`));
      assert.ok(release);
    });

    test("a pinned right is listed with its structure, in files and permissions, and explained", async () => {
      const { mia, wes, sue, draft } = await team(org);
      const file = await write(wes, "Quarterly figures");
      await wes.call(submitOutcome, { id: draft, files: [file.id] });
      await wes.call(writeFile, { ...file, content: "newer", description: "Merger plans" });
      const listed = async (query?: string) =>
        (await mia.call(listFiles, { query })).files.filter(({ id }) => id === file.id);
      const [found] = await listed();
      assert.equal(found?.pinned, true);
      assert.equal(found.version, 1);
      assert.equal(found.description, "Quarterly figures");
      assert.equal((await listed("quarter")).length, 1);
      assert.equal((await listed("merger")).length, 0);
      const right = (await mia.call(listPermissions, {})).structural.find(
        ({ resource }) => resource === `kb:${file.id}`,
      );
      assert.equal(right?.version, 1);
      assert.deepEqual(right.through, { kind: "outcome", id: draft });
      assert.match(right.because, /Version 1 was delivered with "Draft", .*verifies/);
      const why = await mia.call(explainAccess, { resource: `kb:${file.id}` });
      assert.equal(why.allowed, true);
      assert.deepEqual(why.pinned[0]?.through, { kind: "outcome", id: draft });
      const notWrite = await mia.call(explainAccess, { resource: `kb:${file.id}`, level: "write" });
      assert.deepEqual([notWrite.allowed, notWrite.held], [false, "read"]);
      const other = await org.board(explainAccess, {
        companyId: org.companyId,
        agent: sue.id,
        resource: `kb:${file.id}`,
      });
      assert.deepEqual([other.allowed, other.pinned], [false, []]);
      await refusal(
        mia.call(grantPermission, { to: sue.id, resource: `kb:${file.id}`, level: "read" }),
        "not_found",
      );
    });

    test("missing files and files of others are refused alike, and no file is delivered", async () => {
      const { mia, wes, sue, draft } = await team(org);
      const theirs = await write(sue, "Sue's secret");
      const mine = await write(wes);
      const missing = "01890000-0000-7000-8000-000000000000";
      const said = await refusal(
        wes.call(submitOutcome, { id: draft, files: [mine.id, theirs.id, missing] }),
        "refused",
      );
      assert.ok(said.message.includes(theirs.id) && said.message.includes(missing));
      assert.ok(!said.message.includes(mine.id));
      assert.equal((await wes.call(viewOutcome, { id: draft })).status, "open");
      // A file that the agent can read, or even write, but never wrote.
      const given = await write(mia, "Mia's notes");
      await mia.call(grantPermission, { to: wes.id, resource: `kb:${given.id}`, level: "write" });
      await refusal(wes.call(submitOutcome, { id: draft, files: [given.id] }), "refused");
      const { version, hash } = await wes.call(readFile, { id: given.id });
      await wes.call(writeFile, { id: given.id, version, hash, content: "by Wes" });
      const handed = await wes.call(submitOutcome, { id: draft, files: [given.id] });
      assert.equal(handed.deliverables[0]?.version, 2);
    });

    test("linked files that qualify are delivered, and for other links the answer names the readers who can't open them", async () => {
      const { mia, wes, sue, draft } = await team(org);
      const mine = await write(wes);
      const theirs = await write(sue);
      const shared = await write(mia);
      const read = await org.board(createFile, {
        companyId: org.companyId,
        description: "Board file",
        content: "x",
      });
      await org.board(grantPermission, {
        companyId: org.companyId,
        to: wes.id,
        resource: `kb:${read.id}`,
        level: "read",
      });
      await mia.call(grantPermission, { to: wes.id, resource: `kb:${shared.id}`, level: "read" });
      const missing = "01890000-0000-7000-8000-000000000000";
      const note = [mine, theirs, shared, read, { id: missing }].map(({ id }) => `kb://${id}`).join(" ");
      const { deliverables, unreadable } = await wes.call(submitOutcome, { id: draft, note });
      assert.deepEqual(
        deliverables.map(({ id }) => id),
        [mine.id],
      );
      const readers = new Map(unreadable.map(({ file, readers: who }) => [file, who.map(({ id }) => id)]));
      // Mia can open her own file, but the root can't.
      assert.deepEqual(readers.get(shared.id), [org.rootId]);
      assert.deepEqual(new Set(readers.get(read.id)), new Set([mia.id, org.rootId]));
      // A file of another agent reads like one that does not exist.
      assert.deepEqual(readers.get(theirs.id), readers.get(missing));
      const says = (id: string) => unreadable.find(({ file }) => file === id)?.says.replaceAll(id, "<id>");
      assert.equal(says(theirs.id), says(missing));
      assert.match(says(read.id) ?? "", /send_message/);
    });

    test("an owner of an outcome that depends on it reads it only if someone above the awaited outcome set the dependency", async () => {
      const { mia, wes, sue, release, draft } = await team(org);
      const { id: publish } = await mia.call(createOutcome, {
        title: "Publish",
        parents: [release],
        dependsOn: [draft],
      });
      await mia.call(delegateOutcome, { id: publish, to: sue.id });
      const cid = await org.agent(`Cid ${Math.random()}`);
      await org.board(grantPermission, {
        companyId: org.companyId,
        to: cid.id,
        resource: `outcome:${draft}`,
        level: "read",
      });
      const { id: own } = await cid.call(createOutcome, {
        title: "Curious",
        parents: [cid.id],
        dependsOn: [draft],
      });
      const file = await write(wes);
      await wes.call(submitOutcome, { id: draft, note: "Done.", files: [file.id] });
      assert.equal(await reads(sue.call, file.id), undefined);
      await mia.call(completeOutcome, { id: draft });
      assert.equal(await reads(sue.call, file.id), "first words (pinned)");
      assert.equal(await reads(cid.call, file.id), undefined);
      const context = (await sue.call(viewOutcome, { id: publish })).context;
      assert.deepEqual(
        context[0]?.deliverables.map(({ id }) => id),
        [file.id],
      );
      // The same dependency, set by a manager above both, counts from then on.
      await org.board(updateOutcome, { id: own, dependsOn: [draft] });
      assert.equal(await reads(cid.call, file.id), "first words (pinned)");
    });

    test("work that was sent back stays readable for its verifier, a new submission replaces the version, and closing ends every right", async () => {
      const { mia, wes, draft } = await team(org);
      const file = await write(wes);
      await wes.call(submitOutcome, { id: draft, files: [file.id] });
      await mia.call(reopenOutcome, { id: draft, reason: "Too short." });
      assert.equal(await reads(mia.call, file.id), "first words (pinned)");
      const second = await wes.call(writeFile, { ...file, content: "second words" });
      const handed = await wes.call(submitOutcome, { id: draft, note: "Longer now." });
      assert.deepEqual(
        handed.deliverables.map(({ id, version }) => ({ id, version })),
        [{ id: file.id, version: 2 }],
      );
      assert.equal(await reads(mia.call, file.id), "second words (pinned)");
      await mia.call(completeOutcome, { id: draft });
      assert.equal(await reads(org.root, file.id), "second words (pinned)");
      await refusal(org.root(readVersion, { id: file.id, version: 1 }), "not_found");
      await mia.call(reopenOutcome, { id: draft, reason: "One more thing." });
      assert.equal(await reads(org.root, file.id), "second words (pinned)");
      await wes.call(writeFile, { ...second, id: file.id, content: "third words" });
      await mia.call(closeOutcome, { id: draft, rationale: "Not needed." });
      assert.equal(await reads(mia.call, file.id), undefined);
      assert.equal(await reads(org.root, file.id), undefined);
      assert.deepEqual((await mia.call(viewOutcome, { id: draft })).deliverables, []);
    });

    test("deleting the file ends the rights", async () => {
      const { mia, wes, draft } = await team(org);
      const file = await write(wes);
      await wes.call(submitOutcome, { id: draft, files: [file.id] });
      await wes.call(deleteFile, { id: file.id });
      await refusal(mia.call(readFile, { id: file.id }), "gone");
      assert.deepEqual((await mia.call(viewOutcome, { id: draft })).deliverables, []);
      const { structural } = await mia.call(listPermissions, {});
      assert.ok(structural.every(({ resource }) => resource !== `kb:${file.id}`));
      assert.equal((await mia.call(explainAccess, { resource: `kb:${file.id}` })).allowed, false);
    });

    test("an integrator passes deliverables up, and the whole result reaches the board and the root", async () => {
      const { mia, wes, sue, release } = await team(org);
      const draft = (await mia.call(viewOutcome, { id: release })).children[0]?.id ?? "";
      await mia.call(reclaimOutcome, { id: draft, reason: "Replanned." });
      await mia.call(closeOutcome, { id: draft, rationale: "Replanned." });
      const { tasks, integration } = await mia.call(planWork, {
        outcome: release,
        tasks: [
          { title: "Text", assignee: wes.id },
          { title: "Pictures", assignee: sue.id },
        ],
      });
      const [text, pictures] = tasks;
      const words = await write(wes, "The text");
      const images = await write(sue, "The pictures");
      await wes.call(submitOutcome, { id: text?.id ?? "", note: `Text: kb://${words.id}` });
      await sue.call(submitOutcome, { id: pictures?.id ?? "", files: [images.id] });
      const inbox = await mia.call(readInbox, {});
      assert.ok(
        inbox.messages.some(({ body }) => body?.includes(`"The pictures" kb://${images.id} (version 1)`)),
      );
      await mia.call(completeOutcome, { id: text?.id ?? "" });
      await mia.call(completeOutcome, { id: pictures?.id ?? "" });
      assert.equal(await reads(sue.call, words.id), undefined);
      const { context } = await mia.call(viewOutcome, { id: integration });
      assert.deepEqual(
        context.map(({ deliverables }) => deliverables.map(({ id }) => id)),
        [[words.id], [images.id]],
      );
      const cover = await write(mia, "The cover");
      await mia.call(completeOutcome, {
        id: integration,
        note: `Text kb://${words.id}, pictures kb://${images.id}`,
        files: [cover.id],
      });
      const whole = await org.root(viewOutcome, { id: release });
      assert.equal(whole.status, "submitted");
      assert.deepEqual(
        new Set(whole.deliverables.map(({ id }) => id)),
        new Set([words.id, images.id, cover.id]),
      );
      assert.equal(await reads(org.root, images.id), "first words (pinned)");
      assert.equal(await reads(wes.call, cover.id), undefined);
    });

    test("the manager of an agent that left owns its files, and readers of its deliverables keep them", async () => {
      const { mia, wes, sue, draft } = await team(org);
      const file = await write(wes);
      const secret = await write(wes, "Unfinished notes", "not delivered");
      await wes.call(submitOutcome, { id: draft, files: [file.id] });
      await mia.call(completeOutcome, { id: draft });
      await org.board(terminateAgent, { id: wes.id, reason: "done" });
      assert.equal(await reads(mia.call, secret.id), "not delivered");
      const { version, hash } = await mia.call(readFile, { id: secret.id });
      await mia.call(writeFile, { id: secret.id, version, hash, content: "continued" });
      assert.equal(await reads(org.root, secret.id), undefined);
      assert.equal(await reads(sue.call, secret.id), undefined);
      assert.equal(await reads(org.root, file.id), "first words (pinned)");
      const why = await mia.call(explainAccess, { resource: `kb:${secret.id}`, level: "write" });
      assert.equal(why.allowed, true);
      assert.match(why.because, /has left, created it/);
      const { structural } = await mia.call(listPermissions, {});
      assert.ok(
        structural.some(({ resource, levels }) => resource === `kb:${secret.id}` && levels.includes("write")),
      );
      assert.ok((await mia.call(listFiles, {})).files.some(({ id }) => id === secret.id));
      await mia.call(grantPermission, { to: sue.id, resource: `kb:${secret.id}`, level: "read" });
      assert.equal(await reads(sue.call, secret.id), "continued");
      // When Mia leaves too, her deliverables go one level further up.
      await org.board(terminateAgent, { id: mia.id, reason: "done" });
      assert.equal(await reads(org.root, secret.id), "continued");
      assert.equal(await reads(sue.call, secret.id), undefined);
    });

    test("a departed agent's files go to its manager in every kind of departure, and return when the departure is undone", async () => {
      const { mia, wes, sue } = await team(org);
      const file = await write(wes);
      const applied = await org.board(applyReorganization, {
        companyId: org.companyId,
        change: { kind: "fire", agent: wes.id, reason: "Smaller team." },
      });
      assert.equal(await reads(mia.call, file.id), "first words");
      await org.board(undoReorganization, { id: applied.id });
      assert.equal(await reads(mia.call, file.id), undefined);
      // The keys from before stay revoked.
      const { key } = await org.board(createKey, { id: wes.id });
      assert.equal(await reads(org.as(key), file.id), "first words");
      const other = await write(sue);
      // Reclaiming her mandate ends Mia and everyone below her, so all their files go to the root.
      await org.root(reclaimOutcome, { id: mia.id, reason: "Another plan." });
      for (const { id } of [file, other]) assert.equal(await reads(org.root, id), "first words");
    });

    test("the owner of an outcome reads its ancestors through every parent", async () => {
      const a = await org.agent(`Amy ${Math.random()}`);
      const b = await org.agent(`Ben ${Math.random()}`);
      const { id: first } = await a.call(createOutcome, { title: "First why", parents: [a.id] });
      const { id: upper } = await b.call(createOutcome, { title: "Upper why", parents: [b.id] });
      const { id: second } = await b.call(createOutcome, { title: "Second why", parents: [upper] });
      const { id: shared } = await org.board(createOutcome, {
        companyId: org.companyId,
        title: "Shared",
        parents: [first, second],
      });
      const { ancestors } = await a.call(viewAncestors, { id: shared });
      const titles = ancestors.map(({ title }) => title);
      for (const title of ["First why", "Second why", "Upper why"]) assert.ok(titles.includes(title), title);
      assert.equal((await a.call(viewOutcome, { id: upper })).title, "Upper why");
      assert.equal((await a.call(readFile, { id: second })).id, second);
      await a.call(completeOutcome, { id: shared });
      await refusal(a.call(viewOutcome, { id: upper }), "not_found");
    });
  });
}
