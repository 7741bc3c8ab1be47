import type { ReactNode } from "react";
import { useConnection } from "../data/reading.ts";
import { Page } from "../ui/page.tsx";
import { Empty, Skeleton } from "../ui/states.tsx";
import { opensLater } from "./texts.ts";

/** In the place of a page whose code is on its way. */
export function LoadingPage(): ReactNode {
  const isLost = useConnection() === "lost";
  return (
    <Page title="">
      <div className="inner">{isLost ? <Empty title={opensLater} /> : <Skeleton />}</div>
    </Page>
  );
}
