import { Refusal, refusalCodes } from "../contract/refusal.ts";
import type { OtherDoor } from "./http.ts";
import { signedInPage, tellsItsOwn } from "./texts.ts";

/**
 * The page to which a browser returns after a person has signed in for an MCP server. The request has no credential but the
 * state in its address, which was made for this sign-in and is used up by it. The page is plain text, so nothing in the address
 * can act.
 */
export function signInDoor(path: string, finish: (answer: URLSearchParams) => Promise<string>): OtherDoor {
  return {
    prefix: path,
    isOpen: true,
    handle: async (request, response, url) => {
      const answer = (status: number, text: string): void => {
        response.writeHead(status, headers);
        response.end(text);
      };
      if (request.method !== "GET" || url.pathname !== path) return answer(404, tellsItsOwn);
      try {
        answer(200, signedInPage(await finish(url.searchParams)));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { message, hint } = error.toBody().error;
        answer(refusalCodes[error.code].http, `${message}\n${hint}\n`);
      }
    },
  };
}

const headers = {
  "content-type": "text/plain; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
