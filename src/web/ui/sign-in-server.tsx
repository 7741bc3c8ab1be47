import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useDo } from "../data/doing.ts";
import type { Answer, PageOperation } from "../data/operations.ts";
import { Button } from "./buttons.tsx";
import { Dialog } from "./dialog.tsx";
import { Refusal } from "./states.tsx";
import { toast } from "./toast.tsx";
import { Said } from "./words.tsx";

/** Signs in for a remote MCP server: a link to its sign-in page, which sends the browser back to Agency. */
export function SignInServer({ path, look = "" }: { path: string; look?: "" | "solid" }): ReactNode {
  const { cantDecide } = useHere();
  const operation: PageOperation<{ answer?: string }, Answer<typeof ops.signInMcpServer>> = {
    name: ops.signInMcpServer.name,
    method: ops.signInMcpServer.method,
    path,
    body: true,
  };
  const ask = useDo(operation);
  const [link, setLink] = useState<{ readonly url: string; readonly says: string }>();
  const [address, setAddress] = useState("");
  const run = async (answer?: string): Promise<void> => {
    const got = await ask.run(answer === undefined ? {} : { answer });
    if (got === undefined) return;
    if (got.url === null) toast(got.says);
    setLink(got.url === null ? undefined : { url: got.url, says: got.says });
    setAddress("");
  };
  return (
    <>
      <Button look={look} because={cantDecide} disabled={ask.isBusy} onClick={() => void run()}>
        Sign in…
      </Button>
      {link === undefined && <Refusal of={ask.refused} />}
      <Dialog title="Sign in for this server" isOpen={link !== undefined} onClose={() => setLink(undefined)}>
        {link !== undefined && (
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault();
              void run(address.trim());
            }}
          >
            <p>
              <Said text={link.says} most={1000} />
            </p>
            <p>
              <a className="b solid" href={webAddress(link.url)} target="_blank" rel="noopener noreferrer">
                Open {hostOf(link.url)}
              </a>
            </p>
            <label className="field">
              <span>If the last page does not open, its whole address</span>
              <input
                className="input"
                type="text"
                autoComplete="off"
                value={address}
                onChange={({ target }) => setAddress(target.value)}
              />
              <small>Only for a browser that runs on another machine than Agency.</small>
            </label>
            <Refusal of={ask.refused} />
            <div className="buttons">
              <Button type="submit" disabled={ask.isBusy || address.trim() === ""}>
                Finish
              </Button>
              <Button look="ghost" onClick={() => setLink(undefined)}>
                Close
              </Button>
            </div>
          </form>
        )}
      </Dialog>
    </>
  );
}

/** The server named the address of its sign-in page. Only a web address is followed. */
const webAddress = (url: string): string | undefined => (/^https?:\/\//.test(url) ? url : undefined);

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the sign-in page");
