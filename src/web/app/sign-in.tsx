import { type ReactNode, useEffect, useState } from "react";
import { ops } from "virtual:operations";
import { call, type Refused } from "../data/calling.ts";
import { asRefused } from "../data/doing.ts";
import { keepPageKey, pageKey } from "../data/page-key.ts";
import { Mark } from "../ui/icons.tsx";
import { Refusal } from "../ui/states.tsx";
import * as texts from "./later-texts.ts";

/** Uses the one-time code of the address. The code is removed from the address at once, so it stays in no history. */
export function SignIn(): ReactNode {
  const [code] = useState(() => location.hash.slice(1));
  const [refused, setRefused] = useState<Refused>();
  useEffect(() => {
    if (code === "") return;
    history.replaceState(null, "", "/sign-in");
    used ??= call(ops.signIn, { code, kind: "browser", label: browserName() });
    used.then(
      (answer) => {
        keepPageKey(answer.pageKey ?? "");
        location.replace("/");
      },
      (error: unknown) => setRefused(asRefused(error)),
    );
  }, [code]);
  if (code === "") return <SignedOut />;
  return (
    <Alone>
      {refused === undefined ? <h1>{texts.signingIn}</h1> : <h1>{texts.notSignedIn}</h1>}
      <Refusal of={refused} />
      {refused !== undefined && <HowTo />}
      {refused !== undefined && pageKey() !== null && (
        <p>
          <a className="b solid" href="/">
            {texts.openAgency}
          </a>
        </p>
      )}
    </Alone>
  );
}

/** A code works once, so one page sends it once. */
let used: ReturnType<typeof signInOnce> | undefined;
const signInOnce = () => call(ops.signIn, { code: "" });

export function SignedOut(): ReactNode {
  return (
    <Alone>
      <h1>{texts.browserNotSignedIn}</h1>
      <HowTo />
    </Alone>
  );
}

function HowTo(): ReactNode {
  return (
    <p>
      {texts.runSignIn[0]} <code className="inlinecode">agency sign-in</code> {texts.runSignIn[1]}
    </p>
  );
}

function Alone({ children }: { children: ReactNode }): ReactNode {
  useEffect(() => {
    document.title = "Sign in · Agency";
  }, []);
  return (
    <main className="alone">
      <div>
        <Mark />
        {children}
      </div>
    </main>
  );
}

/** A name that tells browsers apart in the list of sign-ins. */
function browserName(): string {
  const agent = navigator.userAgent;
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0].replace("Edg", "Edge") ?? "Browser";
  const system = /Windows|Mac OS|Android|iPhone|iPad|Linux/.exec(agent)?.[0];
  return system === undefined ? browser : `${browser} on ${system}`;
}
