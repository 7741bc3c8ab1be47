import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { When } from "./time.tsx";

/** When something was done, and a link to the session that did it, if it was one. */
export function DoneIn({ session, at }: { session: string | null; at: string }): ReactNode {
  return (
    <>
      {session !== null && (
        <Link className="linked" to={`/sessions/${session}`}>
          session
        </Link>
      )}
      <When at={at} />
    </>
  );
}
