import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { useFileChoice } from "../../ui/file-choice.tsx";

const levels = ["read", "write", "send", "use", "push"] as const;

/** Grants the agent a right on a thing of the company, which the person finds by its name. */
export function GrantRight({ id, name }: { id: string; name: string }): ReactNode {
  const { company } = useHere();
  const companyId = company.id;
  const servers = useRead(ops.listMcpServers, { companyId }).data?.servers ?? [];
  const repos = useRead(ops.listRepos, { companyId }).data?.repos ?? [];
  const files = useFileChoice("");
  const resources = [
    ...servers.map((server) => ({ value: `mcp:${server.name}`, text: `MCP server: ${server.name}` })),
    ...repos.map((repo) => ({ value: `repo:${repo.name}`, text: `Repository: ${repo.name}` })),
    { value: "mail:board", text: "Mail to the board" },
    { value: "org:hire", text: "Hiring" },
    ...files.options.map((file) => ({ value: `kb:${file.id}`, text: `File: ${file.text}` })),
  ];
  return (
    <AskFor
      about={id}
      text="Grant"
      title={`Grant ${name} a right`}
      says="The right ends with the agent's mandate, or when you revoke it."
      fields={[
        { name: "resource", label: "On", options: resources, find: files.find },
        {
          name: "level",
          label: "Level",
          options: [
            { value: "", text: "The lowest" },
            ...levels.map((level) => ({ value: level, text: level })),
          ],
          optional: true,
          hint: "read or write for files, read or push for repositories, use for servers and hiring, send for mail.",
        },
      ]}
      operation={ops.grantPermission}
      input={({ resource = "", level = "" }) => ({
        companyId,
        to: id,
        resource,
        ...(level !== "" && { level: levels.find((each) => each === level) }),
      })}
      done="The right is granted."
    />
  );
}
