import { fieldsOf } from "../../data/unknown-value.ts";
import { pairsIn } from "../../ui/secret-pairs.tsx";

/** The configuration of an MCP server: as a person types it, and as a line for a person to read. */

export function configOf({
  url = "",
  command = "",
  hosts = "",
  pairs = "",
  privateNetwork = "",
}: Readonly<Record<string, string>>) {
  const [program = "", ...args] = command.trim().split(/\s+/);
  const named = wordsIn(hosts);
  const values = Object.fromEntries(pairsIn(pairs).map(([name, secret]) => [name, { secret }]));
  const hasValues = pairs !== "";
  return url === ""
    ? {
        command: program,
        args,
        ...(hasValues && { env: values }),
        ...(named.length > 0 && { hosts: named }),
      }
    : {
        type: "http" as const,
        url,
        ...(hasValues && { headers: values }),
        ...(privateNetwork !== "" && { privateNetwork: true }),
      };
}

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");

type Config = Readonly<Record<string, unknown>>;
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The address of the server, and what it may reach. */
export function placeIn({ url, command, args, hosts, privateNetwork }: Config): string {
  const place = typeof url === "string" ? url : [command, ...listIn(args)].join(" ");
  const reach = listIn(hosts);
  return [
    place,
    ...(reach.length > 0 ? [`may connect to ${reach.join(", ")}`] : []),
    ...(privateNetwork === true ? ["may be in a private network"] : []),
  ].join(", ");
}

/** Each header or variable with the secret that is its value. */
export function secretsIn({ headers, env }: Config): string[] {
  return Object.entries({ ...fieldsOf(headers), ...fieldsOf(env) }).map(([name, value]) => {
    const { secret } = fieldsOf(value);
    return typeof secret === "string" ? `${name} from ${secret}` : name;
  });
}
