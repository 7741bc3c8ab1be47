import type { Bug } from "./resolve.ts";

/** Bugs in decisions of people and in deliverables for people, which the simulator must find. */
export const governanceBugs: readonly Bug[] = [
  {
    name: "an approval that was decided can be decided again",
    edits: [
      {
        in: "canMove",
        find: "moves[from].includes(to)",
        replace: "to !== from || moves[from].includes(to)",
      },
    ],
  },
  {
    name: "the agent that requested an approval can decide it",
    edits: [{ in: "deciding", find: "output: Approval,", replace: 'output: Approval,\n  needs: "member",' }],
  },
  {
    name: "a decision applies to another version of the request than the person saw",
    edits: [
      {
        in: "approvalHandlers",
        find: "if (seen !== undefined && seen !== approval.payload_hash)",
        replace: "if (seen === approval.id)",
      },
    ],
  },
  {
    name: "a request that no person decides never expires",
    edits: [{ in: "createScheduler", find: "await expireAll(due.approvals);", replace: "void expireAll;" }],
  },
  {
    name: "the scheduler does not wake up for the end of a request",
    edits: [
      {
        in: "dueNow",
        find: '["mail", "approval", "overdue", "lapsed"]',
        replace: '["mail", "overdue", "lapsed"]',
      },
    ],
  },
  {
    name: "the requester is not told of the decision",
    edits: [
      {
        in: "tellConcerned",
        find: "if (receiver === undefined || !isActive(receiver)) continue;",
        replace:
          "if (receiver === undefined || !isActive(receiver) || receiver.id === approval.requested_by) continue;",
      },
    ],
  },
  {
    name: "a rejected hire stays pending",
    edits: [
      {
        in: "hiring",
        find: "if (agent.made_for_mandate === 0) return fire(call, agent, agent.boss_id, reason);",
        replace: "if (agent.made_for_mandate === 0) return;\n    void fire;",
      },
    ],
  },
  {
    name: "work that waited for a hire is not given to the approved agent",
    edits: [
      {
        in: "releaseParts",
        find: "for (const { id } of held) {",
        replace: "for (const { id } of []) {",
      },
    ],
  },
  {
    name: "a pending agent is given rights",
    edits: [
      {
        in: "checkReceiver",
        find: "if (!isActive(receiver)) throw texts.receiverInactive(receiver);",
        replace: "",
      },
    ],
  },
  {
    name: "a resubmitted request keeps its hash",
    edits: [
      {
        in: "revise",
        find: "revisionOf(row) + 1",
        replace: "revisionOf(row)",
      },
    ],
  },
  {
    name: "create_agent creates an agent although a person refused it",
    edits: [
      {
        in: "creation",
        find: "deny: async () => undefined,",
        replace: "deny: async (call, approval) => creation.approve(call, approval),",
      },
    ],
  },
  {
    name: "the bytes that an agent writes are not counted",
    edits: [
      {
        in: "countStored",
        find: "if (agentId !== null) await tx.run(addBytes, { ...sum, agent_id: agentId });",
        replace: "",
      },
      {
        in: "countStored",
        find: 'agentId === null ? addToOne : addToBoth, { ...sum, agent_id: agentId ?? "" }',
        replace: 'addToOne, { ...sum, agent_id: "" }',
      },
    ],
  },
  {
    name: "a delivered file can be opened in any version",
    edits: [
      {
        in: "versionsFor",
        find: "return [...new Set((await pinsOn(tx, agentId, fileId, asked)).map(({ version }) => version))];",
        replace: 'return (await pinsOn(tx, agentId, fileId, asked)).length > 0 ? "all" : [];',
      },
    ],
  },
  {
    name: "what an outcome delivers stays readable after it was closed",
    edits: [{ in: "deliveries", find: '.where("o.status", "<>", "closed")', replace: "" }],
  },
  {
    name: "the verifier can't open what was submitted",
    edits: [{ in: "relationTo", find: 'if (row.delegated_by === agentId) return "verifier";', replace: "" }],
  },
  {
    name: "a sibling can open what was delivered",
    edits: [
      {
        in: "relationTo",
        find: 'if (row.delegated_by === agentId) return "verifier";',
        replace:
          'if (row.delegated_by === agentId || (await memberById(tx, agentId))?.boss_id === row.delegated_by) return "verifier";',
      },
    ],
  },
];
