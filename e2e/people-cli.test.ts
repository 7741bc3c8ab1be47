// A person in the middle of a company, who uses only the command line and their own sign-in. The root agent and the workers are
// programs. Everything below is typed as at a terminal: no test code calls the daemon for the person, and no id comes from
// anywhere but what a command printed.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bothStores } from "../src/testing/organization.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { agency, type DaemonOptions, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { onNewHome } from "./support/home.ts";

/** A person at a terminal. Their home folder has only the files that the command line keeps there. */
class Terminal {
  readonly #options: DaemonOptions;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  /** The output of a command, which must succeed. */
  async types(...args: string[]): Promise<string> {
    const { code, out, err } = await agency(args, this.#options);
    assert.equal(code, 0, `agency ${args.join(" ")}\n${out}${err}`);
    return out;
  }

  /** The output of a command that is refused. */
  async refused(...args: string[]): Promise<string> {
    const { code, out, err } = await agency(args, this.#options);
    assert.ok(code === 1 || code === 2, `agency ${args.join(" ")}\n${out}${err}`);
    return err;
  }

  /** Repeats the command until its output contains this. */
  async sees(part: RegExp, ...args: string[]): Promise<RegExpExecArray> {
    let out = "";
    for (const begun = performance.now(); performance.now() - begun < allowed(90_000); await sleep(1000)) {
      out = await this.types(...args);
      const found = part.exec(out);
      if (found !== null) return found;
    }
    throw new Error(`agency ${args.join(" ")} never printed ${String(part)}:\n${out}`);
  }
}

/** The board sees short ids; from a position, plain ids are shown. */
const id = "([0-9a-f]{8}-[0-9a-f-]{27}|[A-Z]\\d+)";
const linkIn = (text: string): string => /http:\S+#agl_\S+/.exec(text)?.[0] ?? "";

for (const kind of sampleOf(bothStores, 1))
  describe(`people at the command line on ${kind}`, () => {
    const playing = (
      name: string,
      play: (board: Terminal, person: () => Terminal) => Promise<void>,
    ): void => {
      test(name, () =>
        onNewHome(kind, async (options) => {
          const homes: ReturnType<typeof temporaryFolder>[] = [];
          const daemon = await startDaemon(options).ready;
          const person = (): Terminal => {
            const home = temporaryFolder("person");
            homes.push(home);
            return new Terminal({ home: home.path });
          };
          try {
            await play(new Terminal(options), person);
            assert.equal(daemon.log(), "");
          } finally {
            await daemon.stop();
            for (const home of homes) home.remove();
          }
        }),
      );
    };

    // covers UNI-01, UNI-06
    playing("a company whose middle manager is a person completes a goal", async (board, person) => {
      const ann = person();
      const desk = temporaryFolder("desk");
      assert.match(
        (await agency(["inbox"], { home: join(desk.path, "none") })).err,
        /agency sign-in "<link>"/,
      );
      const added = await board.types("people", "add", "Ann");
      const middle = ["--role", "Coordinator", "--adapter-type", "human", "--person", "Ann"];
      await board.types("agents", "create", "Mill", ...middle);
      assert.match(await ann.types("sign-in", linkIn(added)), /signed in at .* as Ann \(member\)/);
      assert.match(await ann.types("me"), /Mill \(Coordinator\) in .*: your commands run from here/);
      assert.match(await ann.types("inbox"), /^No message waits for you\.$/m);

      const goal = await board.types(
        "goals",
        "create",
        "Print the menu",
        "--acceptance",
        "- the menu is a file",
      );
      const goalId = new RegExp(`^${id}`).exec(goal)?.[1] ?? "";
      // The root agent, a program, delegates to its coordinator.
      const [, job = ""] = await ann.sees(new RegExp(`"Organize: Print the menu" kb://${id}`), "inbox");
      assert.match(await ann.types("outcomes"), new RegExp(`${job} +Organize: Print the menu`));
      assert.match(await ann.types("outcomes", "view", job), /Root delegated it and verifies the result/);
      assert.match(await ann.types("org"), /Root \(CEO\).*\n└─ Mill \(Coordinator\)/);
      assert.match(await ann.types("tree"), /Organize: Print the menu \[open\] Mill/);

      // Without the right to hire, Ann is told what to do, and does it.
      const lacks = await ann.refused("hire", "Setter", "--role", "Typesetter", "--brain", "rehearsal");
      assert.match(lacks, /org:hire/);
      assert.match(lacks, /agency access request/);
      await ann.types("access", "request", "org:hire", "The menu needs a typesetter.");
      await ann.sees(/You may hire now/, "inbox");
      assert.match(await ann.types("access", "mine"), /use on org:hire, from Root/);
      const asked = await ann.types("hire", "Setter", "--role", "Typesetter", "--brain", "rehearsal");
      const [, approval = ""] = new RegExp(`needs approval ${id}`).exec(asked) ?? [];
      assert.match(asked, /The board decides about the request/);
      assert.match(await ann.types("approvals"), new RegExp(`${approval} +hire_agent`));
      assert.match(await ann.refused("approve", approval), /Only the board/);

      // She delegates before the board has decided. The work waits for the hire.
      const task = '{"title":"Set the type","assignee":"Typesetter","acceptance":"- a file"}';
      const plan = await ann.types("outcomes", "plan", job, "--tasks", task);
      const [, part = ""] =
        new RegExp(`Set the type: Setter, when the hire is approved \\(${id}\\)`).exec(plan) ?? [];
      const [, integration = ""] = new RegExp(`combine the results in outcome ${id}`).exec(plan) ?? [];
      await board.types("approve", approval);
      await ann.sees(/The hire of Setter was approved/, "inbox");

      // The worker, a program, submits. She sends it back once, then accepts it.
      const inbox = (await ann.sees(/Setter submitted "Set the type"/, "inbox")).input;
      assert.match(inbox, /decide_outcome is: agency decide <id> <verdict>/);
      assert.match(await ann.types("outcomes", "view", part), /^Set the type \[submitted\]/);
      await ann.types("decide", part, "rework", "--note", "Use a larger font.");
      await ann.sees(/^Set the type \[submitted\][^]*Use a larger font\./, "outcomes", "view", part);
      const results = join(desk.path, "type");
      assert.match(await ann.types("results", part, "--to", results), /Saved \d+ files/);
      assert.match(readFileSync(join(results, "Sample result of Set the type.md"), "utf8"), /# Set the type/);
      assert.match(await ann.types("decide", part, "pass"), /^"Set the type" is completed now\./);

      // She writes the whole herself, shows it to her manager by mail, and completes the integration.
      const menu = join(desk.path, "menu.md");
      writeFileSync(menu, "# Menu\n\nSoup. Bread.\n");
      await ann.types("kb", "add", menu);
      const [, file = ""] = new RegExp(`${id} +menu\\.md: Menu`).exec(await ann.types("kb", "list")) ?? [];
      const sent = await ann.types("send", "This is the menu.", "--to", "boss", "--files", file);
      assert.match(sent, /^From Mill to Root[^]*file: menu\.md: Menu[^]*See what becomes of it/);
      assert.match(
        await ann.types("outcomes", "complete", integration, "--note", `The menu is kb://${file}`),
        /^"Integrate: .*" is completed\./,
      );
      // Her manager, a program, verifies, and the board accepts the goal.
      await ann.sees(/^Organize: Print the menu \[completed\]/, "outcomes", "view", job);
      await board.sees(/^Print the menu \[submitted\]/, "outcomes", "view", goalId);
      await board.types("decide", goalId, "pass");
      assert.match(await board.types("outcomes", "view", goalId), /^Print the menu \[completed\]/);
      const whole = join(desk.path, "whole");
      await board.types("results", goalId, "--to", whole, "--all");
      const names = readdirSync(whole, { recursive: true, encoding: "utf8" });
      assert.ok(
        names.some((name) => name.endsWith("menu.md")),
        names.join("\n"),
      );

      // She empties her inbox. Her record has everything she did.
      const waiting = (await ann.types("inbox")).matchAll(new RegExp(`\\(message ${id}\\)`, "g"));
      for (const [, message = ""] of waiting) await ann.types("mail", "acknowledge", message, "Done.");
      assert.match(await ann.types("inbox"), /^No message waits for you\.$/m);
      assert.match(await ann.types("audit", "mine", "--limit", "1000"), /outcome\.complete/);
      const sessions = await board.types("sessions");
      assert.doesNotMatch(sessions, /^\S+ +Mill /m);
      assert.doesNotMatch(sessions, /exited with code [^0]/);
      assert.match(await ann.types("sign-out"), /You are signed out/);
      desk.remove();
    });

    // covers UNI-06, UNI-07
    playing("several people hold positions, and several share the board's inbox", async (board, person) => {
      const [top, low, other] = [person(), person(), person()];
      await top.types("sign-in", linkIn(await board.types("people", "add", "Tess")));
      await low.types("sign-in", linkIn(await board.types("people", "add", "Lou")));
      await other.types("sign-in", linkIn(await board.types("people", "add", "Odo", "--role", "board")));
      await board.types("agents", "update", "root", "--adapter-type", "human", "--person", "Tess");
      const seat = ["--role", "Lead", "--adapter-type", "human", "--person"];
      await board.types("agents", "create", "Low seat", ...seat, "Lou", "--reports-to", "root");
      // A second position of the same person, at another point of the tree.
      await board.types("agents", "create", "Far seat", ...seat, "Lou", "--reports-to", "low-seat");
      assert.match(await low.refused("inbox"), /You hold 2 positions[^]*low-seat[^]*far-seat/);

      // The position is the manager of the agents below. Each of them has a separate credential.
      const [, work = ""] =
        new RegExp(`^${id}`).exec(
          await top.types("outcomes", "create", "Bake", "--parents", await rootOutcome(top)),
        ) ?? [];
      await top.types("outcomes", "delegate", work, "low-seat");
      assert.match(await low.types("inbox", "--as", "low-seat"), /From Root to Low seat[^]*"Bake"/);
      assert.match(await low.types("inbox", "--as", "far-seat"), /No message waits/);
      assert.match(await low.types("--as", "far-seat", "me"), /Far seat .*: your commands run from here/);
      await low.types("outcomes", "submit", work, "--note", "Baked.", "--as", "low-seat");
      assert.match(await low.refused("decide", work, "pass", "--as", "far-seat"), /./);
      assert.match(await top.types("decide", work, "pass"), /^"Bake" is completed now\./);
      assert.match(await low.refused("inbox", "--as", "root"), /You don't hold a position called root/);
      assert.match(
        await top.refused("inbox", "--as", "low-seat"),
        /You don't hold a position called low-seat/,
      );

      // Both board people see the same inbox, and the root agent can't see which of them answers.
      await top.types("send", "May I close on Monday?", "--to", "board");
      for (const one of [board, other]) assert.match(await one.types("inbox"), /May I close on Monday\?/);
      const [, question = ""] = new RegExp(`\\(message ${id}\\)`).exec(await other.types("inbox")) ?? [];
      await other.types("send", "Yes.", "--in-reply-to", question);
      await other.types("mail", "acknowledge", question, "Answered.");
      assert.doesNotMatch(await board.types("inbox"), /May I close on Monday\?/);
      const answer = await top.types("inbox", "--json");
      assert.match(answer, /"Yes\."/);
      assert.doesNotMatch(answer, /Odo/);
      assert.match(await top.types("inbox"), /From the board to Root/i);
    });
  });

async function rootOutcome(of: Terminal): Promise<string> {
  return new RegExp(`${id} +Help the board`).exec(await of.types("outcomes"))?.[1] ?? "";
}
