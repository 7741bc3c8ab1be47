import type { IncomingMessage, ServerResponse } from "node:http";
import { readJson } from "./body.ts";
import { holding, type OtherDoor } from "./http.ts";

/** Answers a request for a model. The gateway (gateway/) does so with the body that this door reads. */
type Gateway = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  readBody: () => Promise<unknown>,
) => Promise<void>;

/** A conversation with files is long and has many parts. */
const room = { bytes: 32 * 1024 * 1024, values: 500_000 };

/** The door `/model/<provider>/…`. */
export function modelDoor(gateway: Gateway): OtherDoor {
  return {
    prefix: "/model",
    handle: (request, response, url, account) => {
      const held = holding(account, response);
      return gateway(request, response, url.pathname, () => readJson(request, room, held));
    },
  };
}
