import type { CodexLogins } from "../brains/codex/login.ts";
import type { ProviderConfig, ProviderDialect } from "../contract/providers.ts";
import { keyMissing } from "./texts.ts";

/** The credential that replaces the session's token at the provider: a key, or the login of a person's own program. */
export interface ModelCredential {
  readonly key: string | undefined;
  readonly accountId?: string | undefined;
  /** Returns a new credential after this one was refused. Undefined if there is none. */
  readonly renew?: () => Promise<ModelCredential | undefined>;
}

export interface CredentialParts {
  readonly secretOf: (companyId: string, name: string) => Promise<string | undefined>;
  readonly logins: CodexLogins;
}

/** The credential for a provider, or a sentence that says why there is none. */
export async function credentialFor(
  parts: CredentialParts,
  companyId: string,
  { secret, login }: ProviderConfig,
): Promise<ModelCredential | { readonly says: string }> {
  const value = secret === undefined ? undefined : await parts.secretOf(companyId, secret);
  if (secret !== undefined && value === undefined) return { says: keyMissing(secret) };
  if (login === undefined || value === undefined) return { key: value };
  const found = await parts.logins.use(value);
  if ("says" in found) return found;
  const { token: key, accountId } = found;
  const renew = async (): Promise<ModelCredential | undefined> => {
    const other = await parts.logins.use(value, key);
    if ("says" in other || other.token === key) return undefined;
    return { key: other.token, accountId: other.accountId };
  };
  return { key, accountId, renew };
}

export function credentialHeaders(
  dialect: ProviderDialect,
  { key, accountId }: ModelCredential,
): Record<string, string> {
  if (key === undefined) return {};
  // A token of a subscription begins with sk-ant-oat.
  if (dialect === "anthropic" && !key.startsWith("sk-ant-oat")) return { "x-api-key": key };
  return {
    authorization: `Bearer ${key}`,
    ...(accountId === undefined ? {} : { "chatgpt-account-id": accountId }),
  };
}
