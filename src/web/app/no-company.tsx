import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { shown } from "../../contract/visible-text.ts";
import { inAddress, type ShownCompany } from "../data/company.ts";
import { Empty, Refusal } from "../ui/states.tsx";
import { Line } from "../ui/words.tsx";
import * as texts from "./later-texts.ts";

/** The address names a company that does not exist, or that this person can't see. The page does not say which. */
export function UnknownCompany({
  name,
  companies,
}: {
  name: string;
  companies: readonly ShownCompany[];
}): ReactNode {
  return (
    <div className="inner">
      <Empty title={texts.unknownCompany(shown(name).slice(0, 100))}>
        <p>{companies.length === 0 ? texts.noCompanyToOpen : texts.openAnother}</p>
        <ul className="form">
          {companies.map((each) => (
            <li key={each.id}>
              <Link to="/" search={{ company: inAddress(each, companies) }}>
                <Line text={each.name} />
              </Link>
            </li>
          ))}
        </ul>
      </Empty>
    </div>
  );
}

/** There is no company that this person can open, or the list of companies is refused. */
export function NoCompany({ refused }: { refused: Parameters<typeof Refusal>[0]["of"] }): ReactNode {
  return (
    <div className="inner">
      <Refusal of={refused} />
      {refused === undefined && (
        <Empty title={texts.noCompany}>
          <p>{texts.noCompanyHint}</p>
        </Empty>
      )}
    </div>
  );
}
