import { serverNamed, type ServerRow } from "../companies/mcp-servers.ts";
import { signInMcpServer } from "../contract/servers.ts";
import { type Guarded, guardedOutside } from "../dispatch/guarded.ts";
import type { Caller } from "../dispatch/identity.ts";
import { openThisPage, signedInNow, signInLinkUnknown } from "./texts.ts";

/** Creates a link to sign in, or takes the address of the page where the browser ended. Both ask other hosts. */
export interface SigningIn {
  begin(row: ServerRow, caller: Caller): Promise<{ readonly url: string; readonly expiresAt: number }>;
  finish(answer: URLSearchParams, of: ServerRow): Promise<unknown>;
}

export function signInHandler(signIns: SigningIn): Guarded {
  return guardedOutside(signInMcpServer, {
    look: async ({ tx, companyId, input, caller }) => ({
      row: await serverNamed(tx, companyId, input.name),
      caller,
      answer: input.answer,
    }),
    work: async ({ row, caller, answer }) => {
      if (answer === undefined) return signIns.begin(row, caller);
      const url = URL.parse(answer.trim());
      if (url === null) throw signInLinkUnknown(row.name);
      await signIns.finish(url.searchParams, row);
      return undefined;
    },
    finish: async (call, made, { row: { name } }) => {
      // A sign-in that a person completed in the browser is recorded when it is done.
      if (made === undefined)
        return { name, status: "signed_in" as const, url: null, expiresAt: null, says: signedInNow(name) };
      const { url } = made;
      const expiresAt = new Date(made.expiresAt).toISOString();
      await call.record(call.companyId, { server: name, expiresAt });
      return { name, status: "waiting" as const, url, expiresAt, says: openThisPage(name, url) };
    },
  });
}
