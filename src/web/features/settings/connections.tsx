import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Box, Lines } from "../../ui/box.tsx";
import { Button } from "../../ui/buttons.tsx";
import { Icon } from "../../ui/icons.tsx";
import { SignInServer } from "../../ui/sign-in-server.tsx";
import { Empty, Loaded, Refusal } from "../../ui/states.tsx";
import { Line, Said } from "../../ui/words.tsx";
import { configOf, placeIn, secretsIn } from "./server-config.ts";
import * as texts from "./texts.ts";

/** The MCP servers of the company. */
export function Servers(): ReactNode {
  const { company } = useHere();
  const companyId = company.id;
  const list = useRead(ops.listMcpServers, { companyId });
  const secrets = (useRead(ops.listSecrets, { companyId }).data?.secrets ?? []).map(({ name }) => name);
  return (
    <Box
      title="MCP servers"
      end={
        <AskFor
          text="Add"
          title="Add an MCP server"
          says="To replace a configuration, use its name."
          fields={[
            { name: "name", label: "Name" },
            { name: "url", label: "URL", hint: "For a server reached over HTTP.", optional: true },
            {
              name: "command",
              label: "Command",
              hint: "Or the program to start, with its arguments.",
              optional: true,
            },
            {
              name: "hosts",
              label: "Hosts",
              hint: "For a program: hosts it may connect to, separated by spaces. * means every host.",
              optional: true,
            },
            {
              name: "pairs",
              label: "Headers or variables with a secret value",
              hint: secrets.length === 0 ? texts.noSecretsForServer : texts.secretsForServer,
              secrets,
              optional: true,
            },
            texts.privateNetwork,
          ]}
          operation={ops.putMcpServer}
          input={(values) => ({ companyId, name: values["name"] ?? "", config: configOf(values) })}
          done="The server is added."
        />
      }
    >
      <Loaded of={list}>
        {({ servers }) => (
          <Lines
            of={servers}
            none={
              <Empty title={texts.noServersYet}>
                <p>{texts.noServersHint}</p>
              </Empty>
            }
          >
            {(server) => <Server key={server.name} of={server} companyId={companyId} />}
          </Lines>
        )}
      </Loaded>
    </Box>
  );
}

const health = {
  untried: ["not tried yet", ""],
  works: ["works", "run"],
  fails: ["fails", "stop"],
  no_secret: ["lacks a secret", "stop"],
  signed_out: ["waits for a sign-in", "hold"],
} as const;

function Server({
  of,
  companyId,
}: {
  of: Answer<typeof ops.listMcpServers>["servers"][number];
  companyId: string;
}): ReactNode {
  const { cantDecide } = useHere();
  const test = useDo(ops.testMcpServer);
  const [word, tone] = health[of.status];
  const run = async (running?: string): Promise<void> => {
    const found = await test.run({
      companyId,
      name: of.name,
      ...(running !== undefined && { test: running }),
    });
    if (found?.status === "running") await run(found.test);
  };
  const { name } = of;
  return (
    <li className="server">
      <Icon name="terminal" />
      <div className="min-w-0">
        <b>
          <Line text={name} />
        </b>{" "}
        <span className={`tag ${tone}`}>{word}</span>
        <p className="cut quiet mono">
          <Line text={placeIn(of.config)} />
        </p>
        {secretsIn(of.config).length > 0 && (
          <p className="quiet">
            <Line text={`Secret values: ${secretsIn(of.config).join(", ")}`} />
          </p>
        )}
        {of.says !== "" && (
          <p>
            <Said text={of.says} />
          </p>
        )}
        {of.tools.length > 0 && (
          <p className="quiet">
            <Line text={`Tools: ${of.tools.map((tool) => tool.name).join(", ")}`} />
          </p>
        )}
        {of.usedBy.length > 0 && (
          <p className="quiet">
            <Line text={`Used by ${of.usedBy.join(", ")}`} />
          </p>
        )}
        <Refusal of={test.refused} />
      </div>
      <span className="end">
        {of.status === "signed_out" && (
          <SignInServer
            path={`/api/companies/${companyId}/mcp-servers/${encodeURIComponent(name)}/sign-in`}
            look="solid"
          />
        )}
        <Button because={cantDecide} disabled={test.isBusy} onClick={() => void run()}>
          {test.isBusy ? "Testing…" : "Test"}
        </Button>
        <AskFor
          danger
          text="Remove"
          title={`Remove ${name}?`}
          says="Running calls end, and the rights to use it are revoked."
          operation={ops.removeMcpServer}
          input={() => ({ companyId, name })}
          done="Removed."
        />
      </span>
    </li>
  );
}

/** Secrets by name. A value can be set, but never read. */
export function Secrets(): ReactNode {
  const { company } = useHere();
  const companyId = company.id;
  const list = useRead(ops.listSecrets, { companyId });
  const set = (name?: string): ReactNode => (
    <AskFor
      text={name === undefined ? "Add" : "Replace"}
      title={name === undefined ? "Add a secret" : `Replace ${name}`}
      says={texts.noSecretsHint}
      fields={[
        ...(name === undefined ? [{ name: "name", label: "Name" } as const] : []),
        { name: "value", label: "Value", type: "password" as const },
      ]}
      operation={ops.setSecret}
      input={(values) => ({ companyId, name: name ?? values["name"] ?? "", value: values["value"] ?? "" })}
      done="The secret is kept."
    />
  );
  return (
    <Box title="Secrets" end={set()}>
      <Loaded of={list}>
        {({ secrets }) => (
          <Lines
            of={secrets}
            none={
              <Empty title={texts.noSecrets}>
                <p>{texts.noSecretsHint}</p>
              </Empty>
            }
          >
            {({ name, status, kept, usedBy }) => (
              <li key={name}>
                <Icon name="key" />
                <b className="mono">
                  <Line text={name} />
                </b>
                <span className={`tag ${status === "missing" ? "stop" : "run"}`}>{status}</span>
                <span className="cut quiet">
                  {kept === "memory" && "lost when the daemon stops. "}
                  {usedBy.length > 0 && <Line text={`Used by ${usedBy.join(", ")}`} />}
                </span>
                <span className="end">
                  {set(name)}
                  <AskFor
                    danger
                    text="Remove"
                    title={`Remove ${name}?`}
                    says="Agents that use it start no session until it is set again."
                    operation={ops.removeSecret}
                    input={() => ({ companyId, name })}
                    done="Removed."
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
