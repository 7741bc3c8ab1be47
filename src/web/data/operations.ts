import type { z } from "zod";
import type { Operation } from "../../contract/operation.ts";
import type * as agents from "../../contract/agents.ts";
import type * as approvals from "../../contract/approvals.ts";
import type * as attention from "../../contract/attention.ts";
import type * as budgets from "../../contract/budgets.ts";
import type * as capabilities from "../../contract/capabilities.ts";
import type * as companies from "../../contract/companies.ts";
import type * as doctor from "../../contract/doctor.ts";
import type * as finding from "../../contract/finding.ts";
import type * as goals from "../../contract/goals.ts";
import type * as hiring from "../../contract/hiring.ts";
import type * as installation from "../../contract/installation.ts";
import type * as knowledge from "../../contract/knowledge.ts";
import type * as ledger from "../../contract/ledger.ts";
import type * as mail from "../../contract/mail.ts";
import type * as delegation from "../../contract/delegation.ts";
import type * as outcomes from "../../contract/outcomes.ts";
import type * as why from "../../contract/why.ts";
import type * as people from "../../contract/people.ts";
import type * as providers from "../../contract/providers.ts";
import type * as reorganization from "../../contract/reorganization.ts";
import type * as repos from "../../contract/repos.ts";
import type * as roster from "../../contract/roster.ts";
import type * as secrets from "../../contract/secrets.ts";
import type * as servers from "../../contract/servers.ts";
import type * as sessions from "../../contract/sessions.ts";
import type * as skills from "../../contract/skills.ts";

/**
 * The operations of the contract as the page calls them. The build writes their names, methods and paths into the module
 * `virtual:operations`, and only the types come from the contract. So the page contains no schema.
 */
export interface PageOperation<I = unknown, O = unknown> {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** True if the input goes into a JSON body, not into the query string. */
  readonly body?: true;
  readonly writes?: true;
  readonly text?: true;
  /** True if the call may leave together with other reads. */
  readonly batched?: true;
  /** Never set at run time. It carries the types. */
  readonly types?: (input: I) => O;
}

type Contract = typeof agents &
  typeof approvals &
  typeof attention &
  typeof budgets &
  typeof capabilities &
  typeof companies &
  typeof doctor &
  typeof finding &
  typeof goals &
  typeof hiring &
  typeof installation &
  typeof knowledge &
  typeof ledger &
  typeof mail &
  typeof outcomes &
  typeof delegation &
  typeof why &
  typeof people &
  typeof providers &
  typeof reorganization &
  typeof repos &
  typeof roster &
  typeof secrets &
  typeof servers &
  typeof sessions &
  typeof skills;

type Called<Op> = Op extends Operation<infer I, infer O> ? PageOperation<z.input<I>, z.infer<O>> : never;

/** @public Every operation, by the name of the constant that declares it in the contract. */
export type PageOperations = {
  readonly [
    Name in keyof Contract as Contract[Name] extends { readonly within: unknown } ? Name : never
  ]: Called<Contract[Name]>;
};

/** The answer type of an operation. */
export type Answer<Op> = Op extends PageOperation<never, infer O> ? O : never;
