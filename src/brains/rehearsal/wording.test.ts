import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tasksFor } from "./tasks.ts";
import { piecesOf, roleFor } from "./wording.ts";

describe("a goal is divided along its wording", () => {
  const goals: Readonly<Record<string, readonly string[]>> = {
    "Write a short welcome for new members": ["Write a short welcome for new members"],
    "Write a welcome page, a price list and an FAQ": [
      "Write a welcome page",
      "Write a price list",
      "Write an FAQ",
    ],
    "Compare three suppliers, choose one, and order 20 chairs.": [
      "Compare three suppliers",
      "Choose one",
      "Order 20 chairs",
    ],
    "Find a venue. Then book it. It must be near the station.": ["Find a venue", "Book it"],
    "Write a poem and design a card": ["Write a poem", "Design a card"],
    "Plan the summer party: invitations, food and music": [
      "Plan the summer party: invitations",
      "Plan the summer party: food",
      "Plan the summer party: music",
    ],
    "Open a bakery:\n- a menu\n- write a sign\n2) a website": [
      "Open a bakery: a menu",
      "Write a sign",
      "Open a bakery: a website",
    ],
    "Open a bakery\n\nWrite a menu, design a sign and plan the first day.": [
      "Write a menu",
      "Design a sign",
      "Plan the first day",
    ],
    "Schreibe eine Begrüßung, eine Preisliste und entwirf ein Plakat": [
      "Schreibe eine Begrüßung",
      "Eine Preisliste",
      "Entwirf ein Plakat",
    ],
    "为新成员写一份简短的欢迎词，并附上本周的活动安排": ["为新成员写一份简短的欢迎词", "附上本周的活动安排"],
    // None of these names several things to do.
    "Write a story about salt and pepper": ["Write a story about salt and pepper"],
    "Write a welcome, in a friendly tone, for new members": [
      "Write a welcome, in a friendly tone, for new members",
    ],
    "Plan a party\nWrite it in German.": ["Plan a party"],
    'tabs; {"json": [1, null]} at 10:30, http://localhost:1, x': [
      'Tabs; {"json": [1, null]} at 10:30, http://localhost:1, x',
    ],
    "": [],
  };
  for (const [goal, pieces] of Object.entries(goals))
    test(JSON.stringify(goal), () => assert.deepEqual(piecesOf(goal), pieces));

  test("many pieces: the last one has the rest", () => {
    const things = Array.from({ length: 30 }, (_, number) => `no ${number}`);
    const pieces = piecesOf(`Collect these:\n${things.map((thing) => `- ${thing}`).join("\n")}`);
    assert.equal(pieces.length, 12);
    for (const thing of things.slice(11)) assert.ok(pieces.at(-1)?.includes(thing));
  });

  test("the verb of a piece names a role", () => {
    assert.deepEqual(["Design a card", "Plan a day", "Test it", "Jump"].map(roleFor), [
      "Designer",
      "Planner",
      "Checker",
      "Writer",
    ]);
  });
});

describe("the tasks of a goal", () => {
  const report = (name: string, role: string) => ({ id: name.toLowerCase(), name, role });
  const goal = {
    title: "Design a card, write a poem and order the paper",
    description: "",
    acceptance: "- it rhymes",
  };
  const shown = (team: readonly ReturnType<typeof report>[], of = goal) =>
    tasksFor(of, team, "Coordinator").map(({ title, assignee }) => `${title} > ${assignee}`);

  test("without a team name the roles to hire", () => {
    assert.deepEqual(shown([]), [
      "Design a card > Designer",
      "Write a poem > Writer",
      "Order the paper > Planner",
      `Check: ${goal.title} > Checker`,
    ]);
    const check = tasksFor(goal, [], "Coordinator").at(-1);
    assert.deepEqual([check?.acceptance, check?.dependsOn], ["- it rhymes", [0, 1, 2]]);
  });

  test("go to the reports whose roles or names fit, and the others to the least busy one", () => {
    const team = [report("Ann", "Copy writer"), report("Ben", "Graphic designer"), report("Cy", "Reviewer")];
    assert.deepEqual(shown(team), [
      "Design a card > ben",
      "Write a poem > ann",
      "Order the paper > cy",
      `Check: ${goal.title} > cy`,
    ]);
  });

  test("a team of one gets everything, and no agent checks its work alone", () => {
    assert.deepEqual(shown([report("Ann", "Writer")]), [
      "Design a card > ann",
      "Write a poem > ann",
      "Order the paper > ann",
    ]);
  });

  test("a coordinator gets the whole, with its wording and its criteria", () => {
    const [task, ...others] = tasksFor(
      goal,
      [report("Ann", "Coordinator"), report("Ben", "Writer")],
      "Coordinator",
    );
    assert.deepEqual(others, []);
    assert.deepEqual(
      [task?.title, task?.assignee, task?.acceptance],
      [`Organize: ${goal.title}`, "ann", "- it rhymes"],
    );
    const organized = { ...goal, title: task?.title ?? "", description: task?.description ?? "" };
    assert.deepEqual(shown([], organized), shown([]));
  });

  test("a goal that asks for a check gets no second one", () => {
    const [, check, ...others] = tasksFor(
      { title: "Write the notes, then test them", description: "", acceptance: null },
      [],
      "Coordinator",
    );
    assert.deepEqual([check?.assignee, check?.dependsOn, others.length], ["Checker", [0], 0]);
  });
});
