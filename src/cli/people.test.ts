import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { operations } from "../contract/operation-table.ts";
import { openCommandLine } from "../testing/command-line.ts";
import { run } from "./run.ts";
import { commandsForTools } from "./tool-commands.ts";

/** People at the command line: signing in and out, and the positions from which commands run. */
describe("people at the command line", async () => {
  const line = await openCommandLine();
  after(() => line.close());
  const url = String(
    Object(JSON.parse(readFileSync(join(line.env["AGENCY_HOME"] ?? "", "daemon.json"), "utf8"))).url,
  );

  /** Another user account, with a separate home folder. */
  const account = (name: string, more: Record<string, string> = {}) => {
    const home = join(line.folder, name);
    const env = { AGENCY_HOME: home, PATH: "", ...more };
    const agency = async (...args: string[]): Promise<string> => {
      const said: string[] = [];
      const terminal = { out: (text: string) => said.push(text), err: (text: string) => said.push(text) };
      const code = await run(args, env, { ...terminal, readStdin: async () => Buffer.from("") });
      return `${code} ${said.join("\n")}`;
    };
    return { home, env, agency };
  };
  const linkFor = async (...args: string[]): Promise<string> =>
    /http:\S+/.exec((await line.agency("people", ...args)).out)?.[0] ?? "";

  test("a link signs in once; the token is kept for its owner, and sent to that daemon only", async () => {
    const link = await linkFor("add", "Ann");
    assert.ok(link.startsWith(`${url}/sign-in#agl_`), link);
    const ann = account("ann");
    assert.match(await ann.agency("me"), /^3 No daemon answers[^]*agency sign-in "<link>"/);
    assert.match(await ann.agency("sign-out"), /^1 This command line is not signed in\./);
    // Browsers know the daemon by a name that not every machine resolves. The name leads to the same address.
    const named = link.replace("127.0.0.1", "agency.localhost");
    assert.ok(
      (await ann.agency("sign-in", named)).startsWith(`0 You are signed in at ${url} as Ann (member).`),
    );
    const file = join(ann.home, "sign-in.json");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(ann.home).mode & 0o777, 0o700);
    assert.match(await ann.agency("sign-in", link), /^1 This sign-in link was already used/);
    assert.match(await ann.agency("me"), /^0 You are Ann \(member\)[^]*You hold no position yet/);
    assert.match(await ann.agency("inbox"), /^1 Ann is a member without a position/);
    // Another daemon must not get the token: nothing answers at that address, and Acme's home has its own token.
    const elsewhere = account("ann", { AGENCY_URL: url.replace("127.0.0.1", "localhost") });
    assert.match(await elsewhere.agency("me"), /^1 The credential is missing or not valid/);
    // Without a link, the command makes one for the caller's other machine. The code alone works as well.
    const own = /#(agl_\S+)/.exec(await ann.agency("sign-in"))?.[1] ?? "";
    const laptop = account("laptop", { AGENCY_URL: url });
    assert.match(
      await laptop.agency("sign-in", own, "--json"),
      /^0 \{"person":\{.*"name":"Ann"\},"role":"member"/,
    );
    assert.match(await ann.agency("me"), /program, this one, just now[^]*program, just now/);
    // Signing out ends this sign-in, and forgets a token that is no longer valid.
    assert.match(await laptop.agency("sign-out"), /^0 You are signed out\./);
    assert.match(await laptop.agency("me"), /^1 The credential is missing/);
    await line.agency("people", "remove", "Ann");
    assert.match(await ann.agency("me"), /^1 The credential is missing[^]*agency sign-in/);
    assert.match(await ann.agency("sign-out"), /^0 You are signed out\./);
    assert.match(await ann.agency("sign-out"), /^1 This command line is not signed in\./);
  });

  test("AGENCY_TOKEN comes first, and a damaged sign-in file counts as none", async () => {
    const token = readFileSync(join(line.env["AGENCY_HOME"] ?? "", "board-token"), "utf8").trim();
    const home = account("damaged", { AGENCY_URL: url });
    mkdirSync(home.home, { recursive: true });
    writeFileSync(join(home.home, "sign-in.json"), "{");
    assert.match(await home.agency("me"), /^1 The credential is missing/);
    const given = account("damaged", { AGENCY_URL: url, AGENCY_TOKEN: token });
    assert.match(await given.agency("me"), /^0 You are \S+ \(board\)\. You govern every company\./);
  });

  test("--as before or after the command and AGENCY_AS choose one of the person's own positions", async () => {
    const bo = account("bo");
    await bo.agency("sign-in", await linkFor("add", "Bo"));
    const seat = ["--role", "Lead", "--adapter-type", "human"];
    for (const name of ["North", "South"])
      await line.json("agents", "create", name, ...seat, "--person", "Bo");
    await line.json("agents", "create", "Other", ...seat, "--reports-to", "north");
    assert.match(await bo.agency("inbox"), /^2 You hold 2 positions[^]*--as[^]*north[^]*south/);
    const sent = /^0 From North to Root/;
    assert.match(await bo.agency("--as", "north", "send", "hello", "--to", "boss"), sent);
    assert.match(await bo.agency("send", "hello", "--to", "boss", "--as", "@north"), sent);
    assert.match(await account("bo", { AGENCY_AS: "north" }).agency("send", "hello", "--to", "boss"), sent);
    assert.match(
      await account("bo", { AGENCY_AS: "north" }).agency("send", "hello", "--to", "boss", "--as", "south"),
      /^0 From South to Root/,
    );
    assert.match(
      await bo.agency("me", "--as", "south"),
      /North .*add --as north\n.*South .*your commands run from here/,
    );
    for (const name of ["other", "root", "nothing"])
      assert.match(
        await bo.agency("inbox", "--as", name),
        /^1 You don't hold a position called .*\n.*north.*south/,
      );
    assert.match(await bo.agency("people"), /^2 You hold 2 positions/);
    assert.match(
      await bo.agency("people", "--as", "north"),
      /^1 Only the board[^]*send_message is: agency send <body>/,
    );
    // The board's own command line acts for the board. It can't act from the position of another person.
    assert.match((await line.agency("inbox", "--as", "north")).err, /You don't hold a position called north/);
    const { out } = await line.agency("people");
    assert.match(
      out,
      /^Name +Role +Positions +Signed in +Id\n[^]*Bo +member +North in Acme, South in Acme +just now/,
    );
  });

  test("every tool of agents is a command for people in positions", () => {
    const tools = operations.flatMap(({ mcp }) => mcp?.tool ?? []);
    const without = tools.filter((tool) => commandsForTools(tool).length === 0);
    // The word `why` is too common. Hiring has its own command `agency hire`, and only sessions of programs end with a summary.
    assert.deepEqual(without.toSorted(), [
      "clone_repo",
      "create_agent",
      "publish_branch",
      "submit_summary",
      "wait_for_approval",
      "why",
    ]);
    assert.deepEqual(commandsForTools("Call decide_outcome, then read_inbox or my_outcomes."), [
      "my_outcomes is: agency outcomes",
      "decide_outcome is: agency decide <id> <verdict>",
      "read_inbox is: agency inbox",
    ]);
    assert.deepEqual(commandsForTools("pause_agent, agency agents pause"), []);
  });
});
