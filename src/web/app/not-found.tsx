import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Page } from "../ui/page.tsx";
import { Empty } from "../ui/states.tsx";
import { pageNotFound } from "./texts.ts";

export function NotFound(): ReactNode {
  return (
    <Page title="Not found" heading>
      <div className="scroll">
        <div className="inner">
          <Empty title={pageNotFound}>
            <Link to="/" className="b">
              Home
            </Link>
          </Empty>
        </div>
      </div>
    </Page>
  );
}
