import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button } from "../ui/buttons.tsx";
import { Page } from "../ui/page.tsx";
import { Empty } from "../ui/states.tsx";
import * as texts from "./later-texts.ts";

/** Nothing is at this address. */
export function NotFound(): ReactNode {
  return (
    <Instead title={texts.notFoundTitle} says={texts.pageNotFound}>
      <Link to="/" className="b">
        Home
      </Link>
    </Instead>
  );
}

/** A page that can't be shown: a fault of ours. What was typed is kept as a draft. */
export function Broken(): ReactNode {
  return (
    <Instead title={texts.broken} says={texts.pageBroken}>
      <Button look="solid" onClick={() => location.reload()}>
        {texts.reload}
      </Button>
    </Instead>
  );
}

function Instead({ title, says, children }: { title: string; says: string; children: ReactNode }): ReactNode {
  return (
    <Page title={title} heading>
      <div className="scroll">
        <div className="inner">
          <Empty title={says}>{children}</Empty>
        </div>
      </div>
    </Page>
  );
}
