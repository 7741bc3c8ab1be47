import { execFileSync } from "node:child_process";
import { basename } from "node:path";
import type { Client } from "../client/client.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { addRepo, listRepos, RepoName } from "../contract/repos.ts";
import type { Context } from "./terminal.ts";
import { addCheckout, checkoutAdded, howToAddCheckout } from "./texts.ts";

/**
 * In a checkout of a git repository, `agency run` offers that repository to the organization. On a terminal it asks; otherwise
 * it says how to add the repository. A repository that the company already has is not offered.
 */
export async function offerCheckout(
  context: Context,
  client: Client,
  company: { readonly companyId: string; readonly rootAgentId: string },
): Promise<void> {
  const found = checkoutAt(process.cwd());
  if (found === undefined) return;
  const { companyId, rootAgentId: to } = company;
  const { name, url } = found;
  const { repos } = await client.call(listRepos, { companyId });
  if (repos.some((repo) => repo.url === url || repo.name === name)) return;
  const { ask, out } = context.terminal;
  if (ask === undefined) return out(howToAddCheckout(name, url));
  if (!/^y(?:es)?$/i.test((await ask(addCheckout(name, url))).trim())) return;
  await client.call(addRepo, { companyId, name, url });
  await client.call(grantPermission, { companyId, to, resource: `repo:${name}`, level: "read" });
  out(checkoutAdded(name));
}

/** The origin of the checkout around a folder, or the checkout itself if it has no origin. */
export function checkoutAt(folder: string): { readonly name: string; readonly url: string } | undefined {
  const ask = (...args: string[]): string | undefined => {
    try {
      return execFileSync("git", ["-C", folder, ...args], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
        timeout: 5000,
      }).trim();
    } catch {
      return undefined;
    }
  };
  const top = ask("rev-parse", "--show-toplevel");
  if (top === undefined || top === "") return undefined;
  const url = withoutLogin(ask("config", "--get", "remote.origin.url") ?? top);
  const name =
    RepoName.safeParse(basename(url.replace(/\.git\/?$/, ""))).data ?? RepoName.safeParse(basename(top)).data;
  return name === undefined ? undefined : { name, url };
}

/** Agency refuses a URL with a login, and must not see the login. */
const withoutLogin = (url: string): string => url.replace(/^(https?:\/\/)[^/@]*@/, "$1");
