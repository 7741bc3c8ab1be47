import type { ReactNode } from "react";
import { useLive } from "../data/reading.ts";
import { Page } from "../ui/page.tsx";
import { Empty, Skeleton } from "../ui/states.tsx";
import { opensLater } from "./texts.ts";

/** In the place of a page whose code is on its way. */
export function LoadingPage(): ReactNode {
  const { state } = useLive();
  return (
    <Page title="">
      <div className="inner">{state === "lost" ? <Empty title={opensLater} /> : <Skeleton />}</div>
    </Page>
  );
}
