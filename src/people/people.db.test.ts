import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as approvals from "../contract/approvals.ts";
import {
  createKey,
  listAgents,
  pauseAgent,
  resumeAgent,
  setPermissions,
  terminateAgent,
  updateAgent,
  viewAgent,
} from "../contract/agents.ts";
import { viewAttention } from "../contract/attention.ts";
import { createCompany, listCompanies, updateCompany } from "../contract/companies.ts";
import { createAgent, hireAgent } from "../contract/hiring.ts";
import { listEvents } from "../contract/ledger.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import type { Operation } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { createOutcome, myOutcomes, submitOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import * as contract from "../contract/people.ts";
import type { RefusalCode } from "../contract/refusal.ts";
import { viewOrg } from "../contract/roster.ts";
import { why } from "../contract/why.ts";
import { createClient } from "../client/client.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { browserToken, hashToken } from "../dispatch/identity.ts";
import { listAfter } from "../events/ledger.ts";
import { updating } from "../store/query.ts";
import { storeKinds, refusal, type TestCaller } from "../testing/organization.ts";
import { storeDatabase } from "../testing/postgres.ts";
import { duringDaemon, sharedDaemon } from "../testing/daemons.ts";

for (const kind of storeKinds)
  describe(`people on ${kind}`, async () => {
    const daemon = await sharedDaemon(kind, { log: (line) => assert.fail(JSON.stringify(line)) });
    const company = await createClient(daemon).call(createCompany, { name: "Mill" });
    const { id: companyId, rootAgentId: rootId } = company;

    /** Every call goes through HTTP. */
    const as =
      (token: string | undefined, position?: string): TestCaller =>
      (operation, input, options) =>
        createClient({ url: daemon.url, token, as: position }).call(
          operation,
          operation.http.path.includes(":companyId") ? { companyId, ...input } : input,
          options,
        );
    const board = as(daemon.token);
    const root = as((await board(createKey, { id: rootId })).key);

    const add = async (name: string, role: contract.Role) => {
      const { id, signIn } = await board(contract.createPerson, { name, role });
      const { token = "" } = await as(undefined)(contract.signIn, { code: signIn.code, kind: "program" });
      return { id, name, token, call: as(token), from: (position: string) => as(token, position) };
    };

    let number = 0;
    const position = async (person: string | undefined, reportsTo?: string) => {
      const input = { name: `Seat ${++number}`, role: "lead", adapterType: "human", reportsTo };
      const agent = await board(createAgent, { companyId, ...input, ...(person && { person }) });
      return { id: agent.id, slug: agent.slug, key: as((await board(createKey, { id: agent.id })).key) };
    };

    const expire = (code: string) =>
      daemon.store.write((tx) => tx.run(setExpiry, { hash: hashToken(code), expires_at: tx.now - 1 }));

    const status = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
      (await fetch(new URL(path, daemon.url), init)).status;

    test("the first person owns the board token, and every event, decision and comment names the person", async () => {
      const me = await board(contract.viewMe, {});
      assert.deepEqual([me.role, me.positions, me.actingAs], ["board", [], null]);
      assert.deepEqual(me.abilities, { govern: true, act: false, read: true });
      await board(updateCompany, { companyId, maxSessions: 3 });
      const { approval } = await root(hireAgent, { name: "Ada", role: "Engineer" });
      assert.ok(approval !== null);
      const comment = await board(approvals.commentOnApproval, { id: approval.id, body: "Fine." });
      assert.deepEqual(comment.by, { kind: "board", person: me.person });
      const decided = await board(approvals.approve, { id: approval.id });
      assert.deepEqual(decided.decidedBy, { kind: "board", person: me.person });
      const other = await add("Rival", "board");
      const { message } = await refusal(other.call(approvals.reject, { id: approval.id }), "conflict");
      assert.ok(message.startsWith(`${me.person.name} approved it `), message);
      const { events } = await board(listEvents, { companyId, limit: 1000 });
      for (const operation of ["company.update", "approval.comment", "approval.approve"])
        assert.equal(
          events.findLast((event) => event.operation === operation)?.actor.personId,
          me.person.id,
          operation,
        );
      await board(contract.removePerson, { id: other.id });
    });

    test("a code works once, even if used twice at the same time, and an old or replaced code is named as such", async () => {
      const { id, signIn } = await board(contract.createPerson, { name: "Twice", role: "viewer" });
      const stranger = as(undefined);
      const both = await Promise.allSettled(
        [1, 2, 3, 4].map(() => stranger(contract.signIn, { code: signIn.code, kind: "program" })),
      );
      assert.equal(both.filter((each) => each.status === "fulfilled").length, 1);
      const again = await refusal(stranger(contract.signIn, { code: signIn.code }), "unauthenticated");
      assert.match(again.message, /already used/);
      const { hint } = await refusal(board(contract.linkPerson, { id }), "forbidden");
      assert.match(hint, /agency sign-in/);
      const late = await board(contract.createPerson, { name: "Late", role: "viewer" });
      await expire(late.signIn.code);
      const old = await refusal(stranger(contract.signIn, { code: late.signIn.code }), "unauthenticated");
      assert.match(old.message, /expired/);
      const first = await board(contract.linkPerson, { id: "Late" });
      const second = await board(contract.linkPerson, { id: "Late" });
      await refusal(stranger(contract.signIn, { code: first.code }), "unauthenticated");
      assert.equal(second.link, `${daemon.url}/sign-in#${second.code}`);
      await stranger(contract.signIn, { code: second.code });
      for (const code of ["", "nonsense", daemon.token]) {
        const unknown = await refusal(stranger(contract.signIn, { code }), "unauthenticated");
        assert.match(unknown.message, /link is not known here/);
        assert.doesNotMatch(unknown.hint, /Bearer/);
      }
      // A code only allows signing in.
      const { code } = await board(contract.linkPerson, { id: "me" });
      await refusal(as(code)(listCompanies, {}), "unauthenticated");
      await refusal(as(code)(contract.viewMe, {}), "unauthenticated");
      const events = `/api/events?company=${companyId}`;
      for (const path of [events, "/api/openapi.json", "/mcp/kb"])
        assert.equal(await status(path, { headers: { authorization: `Bearer ${code}` } }), 401, path);
    });

    test("a person who no longer governs or reads no longer follows the events", async () => {
      for (const end of [contract.removePerson, contract.updatePerson]) {
        const { id, token } = await add(`Follower ${end.name.split(".")[1] ?? ""}`, "viewer");
        const { body } = await fetch(new URL(`/api/events?company=${companyId}`, daemon.url), {
          headers: { authorization: `Bearer ${token}` },
        });
        await (end === contract.removePerson
          ? board(contract.removePerson, { id })
          : board(contract.updatePerson, { id, role: "member" }));
        const begun = performance.now();
        for await (const _ of body ?? []) assert.ok(performance.now() - begun < 60_000, "it still follows");
      }
    });

    test("a browser needs its cookie and its page key, from a page of the same host and port", async () => {
      const { code } = await board(contract.linkPerson, { id: "me" });
      const response = await fetch(new URL("/api/sign-in", daemon.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      });
      const body: unknown = await response.json();
      assert.ok(typeof body === "object" && body !== null && "pageKey" in body && !("cookie" in body));
      const page = { "x-agency-page": String(body.pageKey) };
      const set = response.headers.get("set-cookie") ?? "";
      const port = new URL(daemon.url).port;
      assert.match(
        set,
        new RegExp(`^agency_session_${port}=agw_[^;]+; HttpOnly; SameSite=Strict; Path=/; Max`),
      );
      const cookie = set.split(";")[0] ?? "";
      const me = "/api/me";
      assert.equal(await status(me, { headers: { cookie, ...page } }), 200);
      assert.equal(await status(`/api/events?company=${companyId}`, { headers: { cookie } }), 401);
      const value = cookie.split("=")[1] ?? "";
      for (const headers of [
        { cookie },
        page,
        { cookie, "x-agency-page": "wrong" },
        { cookie: cookie.replace(port, "1"), ...page },
        { cookie: `${cookie}; ${cookie}`, ...page },
        { authorization: `Bearer ${value}`, ...page },
        { authorization: "Basic x", cookie, ...page },
      ])
        assert.equal(await status(me, { headers }), 401, JSON.stringify(headers));
      for (const headers of [
        { cookie, ...page, "sec-fetch-site": "same-site" },
        { cookie, ...page, "sec-fetch-site": "cross-site" },
        { cookie, ...page, origin: "http://127.0.0.1:1" },
        { cookie, ...page, origin: `http://localhost:${port}` },
      ])
        assert.equal(await status(me, { headers }), 403, JSON.stringify(headers));
      const mcp = { method: "POST", headers: { cookie, ...page } };
      assert.equal(await status("/mcp/kb", mcp), 401);
      // The person ends it from another browser.
      const { signIns } = await board(contract.viewMe, {});
      const browser = signIns.find((each) => each.kind === "browser");
      assert.ok(browser !== undefined);
      await board(contract.signOut, { id: browser.id });
      assert.equal(await status(me, { headers: { cookie, ...page } }), 401);
      await refusal(board(contract.signOut, { id: browser.id }), "not_found");
    });

    test("signing out deletes the cookie and ends the credential; the board token stays", async () => {
      const ann = await add("Outgoing", "viewer");
      const { code } = await ann.call(contract.linkPerson, { id: "me" });
      const init = (headers: Record<string, string>, body: unknown) => ({
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      const signed = await fetch(new URL("/api/sign-in", daemon.url), init({}, { code }));
      const { pageKey } = contract.signIn.output.parse(await signed.json());
      const headers = {
        cookie: signed.headers.get("set-cookie")?.split(";")[0] ?? "",
        "x-agency-page": pageKey ?? "",
      };
      const out = await fetch(new URL("/api/sign-out", daemon.url), init(headers, {}));
      assert.match(out.headers.get("set-cookie") ?? "", /^agency_session_\d+=; .*Max-Age=0$/);
      assert.equal(await status("/api/me", { headers }), 401);
      await ann.call(contract.signOut, {});
      await refusal(ann.call(contract.viewMe, {}), "unauthenticated");
      await refusal(board(contract.signOut, {}), "refused");
    });

    test("a browser that is used stays signed in; one that is not used is signed out after 30 days", async () => {
      const { code } = await board(contract.linkPerson, { id: "me" });
      const { pageKey = "", cookie = "" } = await daemonDispatch(contract.signIn, { code });
      const token = browserToken(cookie, pageKey);
      const day = 24 * 3_600_000;
      const expiryOf = async () =>
        (await as(token)(contract.viewMe, {})).signIns.find(({ current }) => current)?.expiresAt ?? "";
      const soon = Date.now() + 5 * day;
      await daemon.store.write((tx) => tx.run(setExpiry, { hash: hashToken(token), expires_at: soon }));
      await expiryOf();
      assert.ok(Date.parse(await expiryOf()) > Date.now() + 29 * day);
      await expire(token);
      await refusal(as(token)(contract.viewMe, {}), "unauthenticated");
    });

    /** Signs in past the HTTP door, which keeps the cookie for itself. */
    const daemonDispatch = async (operation: typeof contract.signIn, input: { code: string }) => {
      const response = await fetch(new URL("/api/sign-in", daemon.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(input),
      });
      const cookie = response.headers.get("set-cookie")?.split(";")[0]?.split("=")[1];
      return { ...operation.output.parse(await response.json()), cookie };
    };

    test("a viewer reads what the board reads, and every change is refused", async () => {
      const viewer = await add("Vera", "viewer");
      const read = await viewer.call(listAgents, { companyId });
      assert.deepEqual(read, await board(listAgents, { companyId }));
      await viewer.call(listEvents, { companyId });
      await viewer.call(contract.listPeople, {});
      assert.equal(await status(`/api/companies/${companyId}/org`, bearer(viewer.token)), 200);
      const changes = operations.filter(
        ({ effect, needs }) => effect === "write" && needs !== "person" && needs !== "link",
      );
      assert.ok(changes.length > 40);
      for (const operation of changes) await refusedWith(viewer.token, operation, "forbidden", /is a viewer/);
      // A viewer can manage its own sign-ins.
      await viewer.call(contract.linkPerson, { id: "me" });
      await refusal(viewer.call(contract.linkPerson, { id: (await add("Wim", "viewer")).id }), "forbidden");
      const seat = await position(undefined);
      await refusal(board(updateAgent, { id: seat.id, person: "Vera" }), "refused");
    });

    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

    /** Calls the operation with an input that only has the right shape. The caller is refused before the input is used. */
    const refusedWith = async (
      token: string,
      operation: Operation,
      code: RefusalCode,
      message: RegExp,
      also: readonly string[] = [],
    ) => {
      const path = operation.http.path.replaceAll(/:\w+/g, rootId);
      const { method } = operation.http;
      const response = await fetch(new URL(path, daemon.url), {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(method !== "GET" && { body: "{}" }),
      });
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      const isRefused = error.code === code && message.test(error.message);
      assert.ok(isRefused || also.includes(error.code), `${operation.name}: ${JSON.stringify(error)}`);
    };

    test("a member acts only from its position, with the rights of that agent and no more", async () => {
      const ann = await add("Ann", "member");
      const { message } = await refusal(ann.call(listAgents, { companyId }), "forbidden");
      assert.match(message, /without a position/);
      const seat = await position(ann.id);
      const me = await ann.call(contract.viewMe, {});
      assert.deepEqual([me.actingAs?.id, me.abilities], [seat.id, { govern: false, act: true, read: false }]);
      const work = await root(createOutcome, { title: "Bake", parents: [rootId] });
      await root(delegateOutcome, { id: work.id, to: seat.id });
      // Ann can see and do exactly what a key of the agent can.
      assert.deepEqual(await ann.call(myOutcomes, {}), await seat.key(myOutcomes, {}));
      await ann.call(readInbox, {});
      assert.deepEqual(await ann.call(readInbox, {}), await seat.key(readInbox, {}));
      assert.deepEqual(await ann.call(viewOrg, { companyId }), await seat.key(viewOrg, { companyId }));
      await ann.call(sendMessage, { to: "boss", body: "On it." });
      await ann.call(submitOutcome, { id: work.id, note: "Done." });
      const { events } = await board(listEvents, { companyId, limit: 1000 });
      const submitted = events.findLast(({ operation }) => operation === "outcome.submit");
      assert.deepEqual(submitted?.actor, {
        kind: "agent",
        agentId: seat.id,
        sessionId: null,
        personId: ann.id,
      });
      for (const operation of operations.filter(({ needs }) => needs === "board"))
        await refusedWith(ann.token, operation, "forbidden", /Only the board/, ["invalid", "not_found"]);
      await refusal(ann.call(updateCompany, { companyId, maxSessions: 1 }), "forbidden");
      await refusal(ann.call(createAgent, { name: "X", role: "x" }), "forbidden");
      await refusal(ann.call(contract.createPerson, { name: "X" }), "forbidden");
      // Only the board learns which people exist: for all names but Ann's own, the answer is the same.
      const { person } = await board(contract.viewMe, {});
      const answers = [];
      for (const id of [person.name, person.id, "Fay", "00000000-0000-4000-8000-000000000000", "No One"])
        answers.push(
          JSON.stringify(
            (await refusal(ann.call(contract.linkPerson, { id }), "forbidden")).toBody(),
          ).replaceAll(id, "…"),
        );
      assert.equal(new Set(answers).size, 1, answers.join("\n"));
      for (const id of ["me", "Ann", "ann", ann.id]) await ann.call(contract.linkPerson, { id });
      const elsewhere = await board(createCompany, { name: "Other" });
      await refusal(ann.call(listAgents, { companyId: elsewhere.id }), "not_found");
      await board(pauseAgent, { id: seat.id });
      await refusal(ann.call(myOutcomes, {}), "forbidden");
      await board(resumeAgent, { id: seat.id });
      // The position is vacant again, so Ann can't act from it.
      await board(updateAgent, { id: seat.id, person: null });
      await refusal(ann.call(myOutcomes, {}), "forbidden");
      assert.equal((await board(viewAgent, { id: seat.id })).person, null);
    });

    test("--as chooses among several positions, and only among one's own", async () => {
      const bo = await add("Bo", "member");
      const [one, two, other] = [await position(bo.id), await position(bo.id), await position(undefined)];
      const { hint } = await refusal(bo.call(myOutcomes, {}), "invalid");
      assert.ok(hint.includes(one.slug) && hint.includes(two.slug), hint);
      for (const seat of [one, two])
        for (const name of [seat.id, seat.slug, `@${seat.slug}`]) {
          await bo.from(name)(sendMessage, { to: "boss", body: `from ${seat.slug}` });
          const { events } = await board(listEvents, { companyId, limit: 1000 });
          assert.equal(events.findLast(({ operation }) => operation === "mail.send")?.actor.agentId, seat.id);
        }
      // The answers for another person's position, the root's position and a missing one are the same.
      const answers = [];
      for (const name of [other.id, rootId, "00000000-0000-4000-8000-000000000000", "board"])
        answers.push((await refusal(bo.from(name)(myOutcomes, {}), "forbidden")).message.replace(name, "…"));
      assert.equal(new Set(answers).size, 1, answers.join("\n"));
      await refusal(as(daemon.token, other.slug)(myOutcomes, {}), "forbidden");
      // The key of an agent acts only for that agent, whatever the header says.
      const { key } = await board(createKey, { id: one.id });
      for (const name of [one.id, two.id, rootId]) await refusal(as(key, name)(myOutcomes, {}), "forbidden");
    });

    test("a board person acts for the board, and from a position when it is named", async () => {
      const cy = await add("Cy", "board");
      const seat = await position("Cy");
      assert.equal((await cy.call(contract.viewMe, {})).actingAs, null);
      await cy.call(updateCompany, { companyId, maxSessions: 5 });
      await refusal(cy.from(seat.slug)(updateCompany, { companyId, maxSessions: 6 }), "forbidden");
      await cy.from(seat.slug)(sendMessage, { to: "boss", body: "As a lead." });
      await board(contract.removePerson, { id: "Cy" });
    });

    test("no person decides a request of their own position while another board person exists", async () => {
      const dee = await add("Dee", "board");
      const seat = await position(undefined);
      const ask = async () => {
        await board(updateAgent, { id: seat.id, person: "Dee" });
        const { approval } = await dee.from(seat.id)(hireAgent, { name: `Hand ${++number}`, role: "hand" });
        assert.ok(approval !== null);
        return approval.id;
      };
      await board(setPermissions, { id: seat.id, canCreateAgents: true });
      const id = await ask();
      // The page says so before the call does.
      const decisions = async (who: TestCaller) => {
        const { abilities, changes } = await who(approvals.viewApproval, { id });
        const own = abilities.filter(({ yours }) => yours).map(({ name }) => name.replace("approval.", ""));
        return [own, changes.obstacles.filter((says) => /position that you hold.*Ask /.test(says)).length];
      };
      const all = ["approve", "reject", "request_revision", "cancel", "comment"];
      assert.deepEqual(await decisions(dee.call), [["cancel", "comment"], 1]);
      assert.deepEqual(await decisions(board), [all, 0]);
      const listed = async (who: TestCaller) => {
        const { items } = await who(viewAttention, { companyId });
        const item = items.find(({ subject }) => subject.id === id);
        return [item?.abilities.map(({ name }) => name.replace("approval.", "")), item?.reason];
      };
      assert.deepEqual(await listed(board), [
        ["approve", "reject", "request_revision"],
        "The request takes effect only if the board approves it.",
      ]);
      assert.deepEqual(await listed(dee.call), [
        ["cancel"],
        "The request comes from a position that you hold, so another board person has to decide it.",
      ]);
      for (const decide of [approvals.approve, approvals.reject, approvals.requestRevision]) {
        const refused = await refusal(dee.call(decide, { id }), "refused");
        assert.match(refused.hint, new RegExp((await board(contract.viewMe, {})).person.name));
      }
      // The request stays Ann's, even after she has left the position.
      await board(updateAgent, { id: seat.id, person: null });
      await refusal(dee.call(approvals.approve, { id }), "refused");
      await board(approvals.approve, { id });
      // The only board person decides, and the record shows that.
      const own = await ask();
      const { person } = await board(contract.viewMe, {});
      await dee.call(contract.updatePerson, { id: person.id, role: "viewer" });
      for (const { id: each, role } of (await dee.call(contract.listPeople, {})).people)
        if (role === "board" && each !== dee.id)
          await dee.call(contract.updatePerson, { id: each, role: "viewer" });
      const alone = await dee.call(approvals.viewApproval, { id: own });
      assert.deepEqual(alone.changes.obstacles, []);
      assert.ok(alone.abilities.some(({ name, yours }) => yours && name === "approval.approve"));
      await dee.call(approvals.approve, { id: own });
      const { events } = await dee.call(listEvents, { companyId, limit: 1000 });
      const decided = events.filter(({ operation }) => operation === "approval.approve").slice(-2);
      assert.deepEqual(
        decided.map(({ data }) => data["selfDecided"] ?? false),
        [false, true],
      );
      await dee.call(contract.updatePerson, { id: person.id, role: "board" });
      await board(contract.removePerson, { id: dee.id });
    });

    test("Home and why offer a person only calls that succeed on the person's own request", async () => {
      const eve = await add("Eve", "board");
      const { requireBoardApprovalForNewAgents } = (await board(updateCompany, { companyId })).settings;
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      for (const isSentBack of [false, true]) {
        const made: string[] = [];
        for (let nth = 0; nth === 0 || nth < made.length; nth += 1) {
          const seat = await position("Eve");
          await board(setPermissions, { id: seat.id, canCreateAgents: true });
          const call = eve.from(seat.id);
          const part = await call(createOutcome, { title: "part", parents: [seat.id] });
          await call(delegateOutcome, { id: part.id, hire: { name: `Hand ${++number}`, role: "hand" } });
          const { approvals: open } = await board(approvals.listApprovals, { companyId, status: "pending" });
          const id = open.find(({ requestedBy }) => requestedBy?.id === seat.id)?.id ?? "";
          if (isSentBack) {
            await board(approvals.requestRevision, { id });
            await board(terminateAgent, { id: seat.id });
          }
          const { items } = await eve.call(viewAttention, { companyId });
          const item = items.find(({ subject }) => subject.id === id);
          assert.ok(item !== undefined);
          assert.doesNotMatch(item.reason, /\breject\b/);
          assert.deepEqual((await eve.call(why, { id: part.id })).next, item.abilities);
          made.splice(0, made.length, ...item.abilities.map(({ name }) => name));
          const ability = item.abilities[nth];
          const operation = operations.find(({ name }) => name === ability?.name);
          assert.ok(ability !== undefined && operation !== undefined);
          await eve.call(operation, { id, ...ability.body });
          if (ability.name !== "approval.cancel") await board(approvals.cancelApproval, { id });
        }
        assert.deepEqual(made, isSentBack ? ["approval.resubmit", "approval.cancel"] : ["approval.cancel"]);
      }
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents });
      await board(contract.removePerson, { id: eve.id });
    });

    test("the last board person can't be removed or demoted, not even by two calls at the same time", async () => {
      const { person } = await board(contract.viewMe, {});
      const others = (await board(contract.listPeople, {})).people.filter(({ role }) => role === "board");
      assert.deepEqual(
        others.map(({ id }) => id),
        [person.id],
      );
      await refusal(board(contract.removePerson, { id: "me" }), "refused");
      await refusal(board(contract.updatePerson, { id: "me", role: "viewer" }), "refused");
      // A board person who has never signed in can't govern alone.
      const absent = await board(contract.createPerson, { name: "Absent", role: "board" });
      await refusal(board(contract.removePerson, { id: "me" }), "refused");
      await board(contract.removePerson, { id: absent.id });
      const eve = await add("Eve", "board");
      const answers = await Promise.allSettled([
        board(contract.updatePerson, { id: eve.id, role: "member" }),
        eve.call(contract.updatePerson, { id: person.id, role: "member" }),
      ]);
      assert.equal(answers.filter((answer) => answer.status === "fulfilled").length, 1);
      const winner = answers[0].status === "fulfilled" ? board : eve.call;
      for (const id of [person.id, eve.id]) await winner(contract.updatePerson, { id, role: "board" });
      await board(contract.removePerson, { id: eve.id });
    });

    test("a removed person's credentials, browsers and links end at once, and the positions are vacant", async () => {
      const fay = await add("Fay", "member");
      const seat = await position("Fay");
      const { code } = await fay.call(contract.linkPerson, { id: "me" });
      await fay.call(myOutcomes, {});
      const { positions } = await board(contract.removePerson, { id: "Fay" });
      assert.deepEqual(
        positions.map(({ id }) => id),
        [seat.id],
      );
      await refusal(fay.call(contract.viewMe, {}), "unauthenticated");
      await refusal(fay.call(myOutcomes, {}), "unauthenticated");
      await refusal(as(undefined)(contract.signIn, { code }), "unauthenticated");
      assert.equal((await board(viewAgent, { id: seat.id })).person, null);
      const { events } = await board(listEvents, { companyId, limit: 1000 });
      assert.equal(events.findLast(({ operation }) => operation === "agent.vacate")?.subject, seat.id);
      await refusal(board(contract.updatePerson, { id: fay.id, role: "board" }), "not_found");
      // The name is free again. Its next bearer inherits nothing.
      const again = await add("Fay", "member");
      await refusal(again.call(myOutcomes, {}), "forbidden");
    });

    test("names of people look different from each other and from reserved words", async () => {
      await add("Mira", "viewer");
      for (const name of ["Mira", "mira", " MIRA ", "M1ra", "Mlra"])
        await refusal(board(contract.createPerson, { name }), "conflict");
      for (const name of ["M\u0456ra", "Board", "The  Board", "syst\u0435m", "User", "me", "Me", "M E"])
        await refusal(board(contract.createPerson, { name }), "refused");
      for (const name of ["", "a\u202eb", "x".repeat(65)])
        await refusal(board(contract.createPerson, { name }), "invalid");
      const { people } = await board(contract.listPeople, {});
      assert.equal(people.filter(({ name }) => /mira/i.test(name)).length, 1);
    });
  });

const setExpiry = updating("credentials", ["expires_at"], ["hash"]);

for (const kind of storeKinds)
  test(`the board token ends with its owner, and no start gives it to another person, on ${kind}`, async () => {
    const home = mkdtempSync(join(tmpdir(), "agency-board-token-"));
    const database = kind === "postgres" ? await storeDatabase() : undefined;
    const log = (line: object) => assert.fail(JSON.stringify(line));
    const during = (work: (daemon: Daemon) => Promise<void>) =>
      duringDaemon({ home, databaseUrl: database?.url, log }, work);
    let second = "";
    try {
      await during(async (daemon) => {
        const board = createClient(daemon);
        const { id, signIn } = await board.call(contract.createPerson, { name: "Second", role: "board" });
        const stranger = createClient({ url: daemon.url, token: undefined });
        const { code } = signIn;
        second = (await stranger.call(contract.signIn, { code, kind: "program" })).token ?? "";
        const other = createClient({ url: daemon.url, token: second });
        const { person } = await board.call(contract.viewMe, {});
        await other.call(contract.updatePerson, { id: person.id, role: "viewer" });
        assert.equal((await board.call(contract.viewMe, {})).person.id, person.id);
        await refusal(board.call(createCompany, { name: "Mill" }), "forbidden");
        assert.equal((await other.call(contract.viewMe, {})).person.id, id);
      });
      // The token keeps the changed role. After the removal, it opens nothing.
      await during(async (daemon) => {
        const { role } = await createClient(daemon).call(contract.viewMe, {});
        assert.equal(role, "viewer");
        const other = createClient({ url: daemon.url, token: second });
        const owner = (await other.call(contract.listPeople, {})).people.find((one) => one.role === "viewer");
        await other.call(contract.removePerson, { id: owner?.id ?? "" });
        await refusal(createClient(daemon).call(contract.viewMe, {}), "unauthenticated");
      });
      await during(async (daemon) => {
        await refusal(createClient(daemon).call(contract.viewMe, {}), "unauthenticated");
        const other = createClient({ url: daemon.url, token: second });
        const { signIns } = await other.call(contract.viewMe, {});
        assert.deepEqual(
          signIns.map(({ label }) => label),
          ["program"],
        );
      });
      // Recovery by a person with access to the machine: without the file, the next start makes a token, and the ledger records
      // it.
      rmSync(join(home, "board-token"));
      await during(async (daemon) => {
        const { person, signIns } = await createClient(daemon).call(contract.viewMe, {});
        assert.equal(person.name, "Second");
        assert.deepEqual(
          signIns.map(({ label }) => label),
          ["program", "board-token"],
        );
        const { events } = await daemon.store.read(async (tx) => ({
          events: await tx.all(listAfter, { companyId: "", after: 0, limit: 1000 }),
        }));
        const made = events.filter(({ data }) => data.includes("board-token"));
        assert.deepEqual(
          made.map(({ actor_kind, subject }) => [actor_kind, subject === person.id]),
          [
            ["system", false],
            ["system", true],
          ],
        );
      });
    } finally {
      await database?.drop();
      rmSync(home, { recursive: true, force: true });
    }
  });
