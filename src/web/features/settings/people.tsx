import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Box, Lines } from "../../ui/box.tsx";
import { Button } from "../../ui/buttons.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Tile } from "../../ui/tile.tsx";
import { When } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

const roles = [
  { value: "member", text: "Member: works from the positions bound to them" },
  { value: "board", text: "Board: governs every company" },
  { value: "viewer", text: "Viewer: reads" },
] as const;

const roleOf = (value: string | undefined): "member" | "board" | "viewer" =>
  roles.find((each) => each.value === value)?.value ?? "member";

/** The people, their roles, and how they sign in. */
export function People(): ReactNode {
  const list = useRead(ops.listPeople, {});
  const [link, setLink] = useState<{ readonly link: string; readonly name: string }>();
  return (
    <>
      {link !== undefined && (
        <section className="box" aria-label="Sign-in link">
          <div className="pad once" role="status">
            <b>
              <Line text={`Sign-in link for ${link.name}`} />
            </b>
            <code className="code-box">{link.link}</code>
            <p className="lab">{texts.linkOnce}</p>
            <div className="buttons">
              <Button
                onClick={() =>
                  void navigator.clipboard.writeText(link.link).then(() => toast("The link is copied."))
                }
              >
                Copy
              </Button>
              <Button look="ghost" onClick={() => setLink(undefined)}>
                Hide
              </Button>
            </div>
          </div>
        </section>
      )}
      <Box
        title="People"
        end={
          <AskFor
            text="Invite"
            title="Invite a person"
            says="You get a link for them that works once within 24 hours."
            fields={[
              { name: "name", label: "Name" },
              { name: "role", label: "Role", options: roles },
            ]}
            operation={ops.createPerson}
            input={(values) => ({ name: values["name"] ?? "", role: roleOf(values["role"]) })}
            done="The person is added."
            onDone={({ name, signIn }) => setLink({ name, link: signIn.link })}
          />
        }
      >
        <Loaded of={list}>
          {({ people }) => (
            <ul className="lines">
              {people.map(({ id, name, role, positions, signedInAt }) => (
                <li key={id}>
                  <Tile id={id} name={name} kind="person" />
                  <span className="cut">
                    <b>
                      <Line text={name} />
                    </b>{" "}
                    <span className="quiet">
                      {positions.length > 0 && (
                        <Line text={positions.map((each) => `${each.name}, ${each.role}`).join("; ")} />
                      )}
                    </span>
                  </span>
                  <span className="tag">{role}</span>
                  <span className="end">
                    {signedInAt === null ? (
                      <AskFor
                        text="New link"
                        title={`A new sign-in link for ${name}?`}
                        says="It works once within 24 hours."
                        operation={ops.linkPerson}
                        input={() => ({ id })}
                        done="The link is ready."
                        onDone={(made) => setLink({ name, link: made.link })}
                      />
                    ) : null}
                    <AskFor
                      about={id}
                      look="ghost"
                      text="Change role"
                      title={`Change the role of ${name}`}
                      fields={[{ name: "role", label: "Role", options: roles, initial: role }]}
                      operation={ops.updatePerson}
                      input={(values) => ({ id, role: roleOf(values["role"]) })}
                      done="The role is changed."
                    />
                    <AskFor
                      danger
                      text="Remove"
                      title={`Remove ${name}?`}
                      says="Their browsers, programs and links stop working at once, and their positions become vacant."
                      operation={ops.removePerson}
                      input={() => ({ id })}
                      done="The person is removed."
                    />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Box>
    </>
  );
}

/** The sign-ins of this person. Each can be ended. */
export function Browsers(): ReactNode {
  const me = useRead(ops.viewMe, {});
  return (
    <Box title="Signed in">
      <Loaded of={me}>
        {({ signIns }) => (
          <Lines of={signIns} none={<Empty title="No browser or program is signed in as you." />}>
            {({ id, kind, label, createdAt, expiresAt, current }) => (
              <li key={id}>
                <b className="cut">
                  <Line text={label} />
                </b>
                <span className="tag">{kind}</span>
                {current && <span className="tag run">this one</span>}
                <span className="end">
                  <span>
                    since <When at={createdAt} />
                    {expiresAt !== null && (
                      <>
                        , until <When at={expiresAt} />
                      </>
                    )}
                  </span>
                  <AskFor
                    danger
                    text="Sign out"
                    title="End this sign-in?"
                    says={
                      current
                        ? "This browser is signed out. To return, run agency sign-in."
                        : "The browser or program can't do anything for you any more."
                    }
                    operation={ops.signOut}
                    input={() => (current ? {} : { id })}
                    done="Signed out."
                  />
                </span>
              </li>
            )}
          </Lines>
        )}
      </Loaded>
    </Box>
  );
}
