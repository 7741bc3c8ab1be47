import type { RefusalCode } from "../../src/contract/refusal.ts";
import { type Agent, childrenOf, isLive, rankOf, type World } from "./model.ts";
import {
  agentNamed,
  type Carried,
  type Change,
  fileFor,
  idIn,
  type ModelCall,
  named,
  No,
  owned,
  reached,
  sha256,
} from "./calls.ts";
import { adopt, delegate, dissolve, explain, fire, give, hire, takeBack } from "./changes.ts";
import { createOne, demandEndable, demandUndisputed, goesWith, reopen, updateOne } from "./outcomes.ts";

/**
 * The expected answer and effect of each operation. predict() throws the expected refusal, or returns the change. The change
 * is applied once the product has accepted the call, because the product chooses new ids. commit() takes the product's
 * answer and the rows of new grants, and throws if the rules do not allow them.
 */
export type Prediction =
  | { readonly code: RefusalCode }
  | { readonly code: "ok"; readonly commit: (carried: Carried) => void };

export function predict(world: World, call: ModelCall): Prediction {
  try {
    const me = call.actor === "board" ? null : world.agents.get(call.actor);
    if (me === undefined || me?.active === false) throw new No("unauthenticated");
    const change = changeOf(world, me, call);
    const commit = (carried: Carried): void => {
      change(carried);
      // The count of returns starts again with each owner.
      for (const outcome of world.outcomes.values())
        if (outcome.sentBack?.to !== outcome.responsibleId) outcome.sentBack = undefined;
    };
    return { code: "ok", commit };
  } catch (error) {
    if (error instanceof No) return { code: error.code };
    throw error;
  }
}

/** Refuses the call or returns its change. Null as the agent means the board. */
function changeOf(world: World, me: Agent | null, call: ModelCall): Change {
  switch (call.operation) {
    case "agent.create":
      return hire(world, me, call.input);
    case "agent.terminate": {
      const agent = owned(world.agents, me, call.input.id);
      if (me !== null) throw new No("forbidden");
      if (!agent.active || agent.bossId === null) throw new No("refused");
      return () => fire(world, agent, agent.bossId ?? "");
    }
    case "outcome.create":
      return createOne(world, me, call.input);
    case "outcome.update":
      return updateOne(world, me, call.input);
    case "outcome.submit": {
      const outcome = reached(world, me, call.input.id, ["drive"]);
      demandEndable(outcome);
      if (outcome.status === "submitted") throw new No("conflict");
      if (!outcome.handedDown || childrenOf(world, outcome.id).some(isLive)) throw new No("refused");
      demandUndisputed(me, outcome);
      return () => Object.assign(outcome, { status: "submitted", blocked: null });
    }
    case "outcome.complete": {
      const outcome = reached(world, me, call.input.id, ["write"]);
      demandEndable(outcome);
      if (childrenOf(world, outcome.id).some(isLive)) throw new No("refused");
      return () => Object.assign(outcome, { status: "completed", blocked: null, sentBack: undefined });
    }
    case "outcome.close": {
      const outcome = reached(world, me, call.input.id, ["write"]);
      demandEndable(outcome);
      const closing = goesWith(world, outcome);
      return () => {
        for (const each of closing) Object.assign(each, { status: "closed", blocked: null });
      };
    }
    case "outcome.reopen":
      return reopen(world, me, reached(world, me, call.input.id, ["write"]));
    case "outcome.delegate":
      return delegate(world, me, call.input);
    case "outcome.reclaim": {
      const outcome = reached(world, me, call.input.id, ["write"]);
      const by = outcome.handedDownBy;
      if (!isLive(outcome) || by === null) throw new No("refused");
      return () => (outcome.kind === "mandate" ? dissolve(world, outcome.id) : takeBack(world, outcome, by));
    }
    case "outcome.view":
      reached(world, me, call.input.id, ["read"]);
      return () => undefined;
    case "permission.grant": {
      const { companyId, to, resource, level, outcome } = call.input;
      const company = named(world, me, companyId);
      const receiver = agentNamed(world, company, to);
      const given = give(world, company, me, receiver, resource, level, outcome ?? receiver.id);
      return ({ newGrants }) => adopt(world, newGrants, [given]);
    }
    case "permission.revoke": {
      const grant = owned(world.grants, me, call.input.id);
      if (me !== null && grant.giverId !== me.id && grant.holderId !== me.id) throw new No("not_found");
      if (grant.revoked) throw new No("conflict");
      return () => {
        grant.revoked = true;
      };
    }
    case "permission.explain":
      return explain(world, me, call.input);
    case "knowledge.create": {
      const companyId = named(world, me, call.input.companyId);
      const hashes = [sha256(call.input.content)];
      return ({ answer, newGrants }) => {
        const id = idIn(answer);
        world.files.set(id, { id, companyId, kind: "file", ownerId: null, hashes, deleted: false });
        if (me === null) return adopt(world, newGrants, []);
        const made = { companyId, holderId: me.id, resource: `kb:${id}`, rank: rankOf.write } as const;
        adopt(world, newGrants, [{ ...made, scopeId: me.id, origin: "creation", giverId: null }]);
      };
    }
    case "knowledge.read":
      fileFor(world, me, call.input.id, "read");
      return () => undefined;
    case "knowledge.write": {
      const { id, content, version, hash } = call.input;
      const file = fileFor(world, me, id, "write");
      if (file.kind === "outcome") throw new No("refused");
      if (version !== file.hashes.length || hash !== file.hashes.at(-1)) throw new No("conflict");
      return () => void file.hashes.push(sha256(content));
    }
    case "knowledge.delete": {
      const file = fileFor(world, me, call.input.id, "write");
      if (file.kind !== "file") throw new No("refused");
      return () => {
        file.deleted = true;
      };
    }
  }
}
