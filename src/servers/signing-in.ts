import type {
  AuthProvider,
  FetchLike,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { boardPeople } from "../capabilities/people.ts";
import { storedConfig, serverNamed, type ServerRow } from "../companies/mcp-servers.ts";
import { SecretReference } from "../contract/secrets.ts";
import { type RemoteConfig, signInSecret } from "../contract/servers.ts";
import { callContext, writeIn } from "../dispatch/context.ts";
import type { Caller } from "../dispatch/identity.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { ReadTx, Store } from "../store/store.ts";
import { limitIntake } from "./intake.ts";
import { mcpClient } from "./mcp-client.ts";
import { fetchFor } from "./reaching.ts";
import * as texts from "./texts.ts";

/**
 * The sign-in of a board person for a remote server (OAuth). All agents with a right to the server use it.
 *
 *   none ──link──▶ waiting ──the browser comes back with the code──▶ signed in ──renewed──▶ signed in
 *                     └──10 minutes, a second link, a restart──▶ none          └──refused──▶ signed out
 *
 * A link contains a state for one use. Its key (PKCE) never leaves the daemon, and a code is worth nothing without both. The
 * tokens are a secret of the company. They are valid only for the URL for which the person signed in, and go nowhere else.
 */
export interface SignInParts {
  readonly store: Store;
  readonly newId: () => string;
  readonly newSecret: () => string;
  readonly secrets: Pick<SecretStore, "valueFor" | "put" | "hideIn">;
  /** The address of the daemon. */
  readonly origin: () => string;
}

interface Kept {
  readonly url: string;
  readonly client: StoredOAuthClientInformation;
  readonly tokens: StoredOAuthTokens | null;
  readonly discovery: OAuthDiscoveryState;
  readonly resource: string | null;
}

interface Waiting {
  readonly row: ServerRow;
  readonly caller: Caller;
  readonly until: number;
  readonly finish: (code: string, iss: string | undefined) => Promise<Kept>;
}

const linkMilliseconds = 10 * 60_000;
const mostWaiting = 50;
const askMilliseconds = 20_000;
export const callbackPath = "/oauth/callback";

class SignedOut extends Error {}

export const isSignedOut = (error: unknown): boolean =>
  error instanceof SignedOut || (error instanceof Error && isSignedOut(error.cause));

export function keepSignIns(parts: SignInParts) {
  const { store, secrets } = parts;
  const waiting = new Map<string, Waiting>();
  const renewals = new Map<string, Promise<void>>();
  const keyOf = ({ company_id, name }: ServerRow): string => `${company_id} ${name}`;

  async function keptFor(tx: ReadTx, row: ServerRow): Promise<Kept | undefined> {
    const config = remoteOf(row);
    const text = await secrets.valueFor(tx, row.company_id, signInSecret(row.name));
    const kept = text === undefined ? undefined : keptIn(text);
    return kept?.url === config?.url ? kept : undefined;
  }

  const keep = (row: ServerRow, kept: Kept): Promise<void> =>
    writeIn(store, row.company_id, parts.newId, (call) =>
      secrets.put(call, signInSecret(row.name), JSON.stringify(kept)),
    );

  /** Renews one sign-in at a time for each server: most services accept a refresh token only once. */
  function renew(row: ServerRow, used: string, ask: FetchLike): Promise<void> {
    const key = keyOf(row);
    const running = renewals.get(key) ?? renewOnce(row, used, ask).finally(() => renewals.delete(key));
    renewals.set(key, running);
    return running;
  }

  async function renewOnce(row: ServerRow, used: string, ask: FetchLike): Promise<void> {
    const kept = await store.read((tx) => keptFor(tx, row));
    if (kept === undefined) throw new SignedOut(texts.serverNeedsSignIn(row.name));
    const { tokens, discovery, resource } = kept;
    if (tokens !== null && tokens.access_token !== used) return;
    if (tokens?.refresh_token === undefined) throw new SignedOut(texts.signInEnded(row.name));
    const { refreshAuthorization } = await mcpClient();
    try {
      const renewed = await refreshAuthorization(discovery.authorizationServerUrl, {
        ...(discovery.authorizationServerMetadata && { metadata: discovery.authorizationServerMetadata }),
        clientInformation: await clientOf(row, kept.client),
        refreshToken: tokens.refresh_token,
        ...(resource !== null && { resource }),
        fetchFn: soon(ask),
      });
      await keep(row, { ...kept, tokens: { ...tokens, ...renewed } });
    } catch (error) {
      if (!(await isFinal(error))) throw error;
      // Another node may have renewed it a moment before.
      const now = await store.read((tx) => keptFor(tx, row));
      if (now?.tokens != null && now.tokens.refresh_token !== tokens.refresh_token) return;
      await keep(row, { ...kept, tokens: null });
      throw new SignedOut(texts.signInEnded(row.name));
    }
  }

  /** If a person registered the client, its secret is in the store, and the record has only the reference. */
  async function clientOf(
    row: ServerRow,
    registered: StoredOAuthClientInformation,
  ): Promise<StoredOAuthClientInformation> {
    const { clientId, clientSecret } = remoteOf(row)?.signIn ?? {};
    if (clientId === undefined) return registered;
    const name = SecretReference.safeParse(clientSecret).data?.secret;
    const value =
      name === undefined ? undefined : await store.read((tx) => secrets.valueFor(tx, row.company_id, name));
    return { client_id: clientId, ...(value !== undefined && { client_secret: value }) };
  }

  async function begin(row: ServerRow, caller: Caller): Promise<{ url: string; expiresAt: number }> {
    const config = remoteOf(row);
    if (config === undefined) throw texts.needsNoSignIn(row.name);
    const { url: serverUrl, signIn } = config;
    const redirectUrl = `${parts.origin()}${callbackPath}`;
    const state = parts.newSecret();
    const ask = soon(
      fetchFor(
        config,
        limitIntake(() => undefined),
      ),
    );
    const earlier = await store.read((tx) => keptFor(tx, row));
    let client = signIn === undefined ? knownClient(earlier, redirectUrl) : undefined;
    if (signIn !== undefined) client = await clientOf(row, { client_id: signIn.clientId });
    let verifier = "";
    let link: URL | undefined;
    let discovery: OAuthDiscoveryState | undefined;
    let resource: string | null = null;
    let tokens: StoredOAuthTokens | null = null;
    const provider: OAuthClientProvider = {
      redirectUrl,
      clientMetadata: {
        client_name: "Agency",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      state: () => state,
      clientInformation: () => client,
      saveClientInformation: (made) => void (client = made),
      tokens: () => undefined,
      saveTokens: (made) => void (tokens = made),
      redirectToAuthorization: (to) => void (link = to),
      saveCodeVerifier: (made) => void (verifier = made),
      codeVerifier: () => verifier,
      saveDiscoveryState: (found) => void (discovery = found),
      discoveryState: () => discovery,
      saveResourceUrl: (found) => void (resource = found),
    };
    const { auth } = await mcpClient();
    try {
      const hints = await hintsOf(ask, serverUrl);
      const scope = signIn?.scope ?? hints.scope;
      await auth(provider, {
        serverUrl,
        fetchFn: ask,
        ...(hints.resourceMetadataUrl && { resourceMetadataUrl: hints.resourceMetadataUrl }),
        ...(scope !== undefined && { scope }),
      });
      if (link === undefined || !isSafeLink(link)) throw new Error("The sign-in service named no page.");
    } catch (error) {
      throw texts.signInFails(row.name, said(row, error));
    }
    for (const [key, one] of waiting)
      if (keyOf(one.row) === keyOf(row) || waiting.size >= mostWaiting) waiting.delete(key);
    const until = performance.now() + linkMilliseconds;
    const finish = async (code: string, iss: string | undefined): Promise<Kept> => {
      await auth(provider, {
        serverUrl,
        authorizationCode: code,
        fetchFn: ask,
        ...(iss !== undefined && { iss }),
      });
      if (tokens === null || client === undefined || discovery === undefined)
        throw new Error("The sign-in service gave no token.");
      return { url: serverUrl, client: withoutSecretOf(client, signIn), tokens, discovery, resource };
    };
    waiting.set(state, { row, caller, until, finish });
    return { url: String(link), expiresAt: Date.now() + linkMilliseconds };
  }

  const said = (row: ServerRow, error: unknown): string =>
    secrets.hideIn(row.company_id, error instanceof Error ? error.message : String(error)).slice(0, 500);

  /** `of` is the server that the caller means, if the caller is known. */
  async function finish(
    answer: URLSearchParams,
    of?: ServerRow,
  ): Promise<{ readonly row: ServerRow; readonly caller: Caller }> {
    const state = answer.get("state") ?? "";
    const found = waiting.get(state);
    if (found === undefined || (of !== undefined && keyOf(of) !== keyOf(found.row)))
      throw texts.signInLinkUnknown(of?.name);
    waiting.delete(state);
    const { row, caller, until } = found;
    if (performance.now() > until) throw texts.signInLinkUnknown(row.name);
    const code = answer.get("code");
    if (code === null) {
      const says = [answer.get("error"), answer.get("error_description")].filter(Boolean).join(": ");
      throw texts.signInRefused(row.name, says.slice(0, 500));
    }
    const kept = await found
      .finish(code, answer.get("iss") ?? undefined)
      .catch((error: unknown) => Promise.reject(texts.signInRefused(row.name, said(row, error))));
    const { company_id: companyId, name } = row;
    await store.write(async (tx) => {
      await tx.lock(companyId);
      const now = await serverNamed(tx, companyId, name);
      const isBoard = (await boardPeople(tx)).some(({ id }) => id === caller.actor.personId);
      if (now.config !== row.config || !isBoard) throw texts.signInLinkUnknown(name);
      const { newId, newSecret } = parts;
      const operation = "mcp_server.signed_in";
      const call = callContext(tx, { caller, companyId, newId, newSecret, operation });
      await secrets.put(call, signInSecret(name), JSON.stringify(kept));
      await call.record(companyId, { server: name });
    });
    return { row, caller };
  }

  return {
    begin,
    finish,

    /** How a connection makes requests, and the credential that it sends. A server without sign-in gets none. */
    askAs: (row: ServerRow, ask: FetchLike): { fetch: FetchLike; authProvider?: AuthProvider } => {
      if (remoteOf(row) === undefined) return { fetch: ask };
      // The token of each answer. Requests overlap, so a refused request may have used a token that is not the newest.
      const shown = new WeakMap<Response, string>();
      const fetch: FetchLike = async (url, init) => {
        const answer = await ask(url, init);
        shown.set(answer, new Headers(init?.headers).get("authorization") ?? "");
        return answer;
      };
      const authProvider: AuthProvider = {
        token: async () => (await store.read((tx) => keptFor(tx, row)))?.tokens?.access_token,
        onUnauthorized: ({ response }) => renew(row, shown.get(response)?.replace(/^Bearer /, "") ?? "", ask),
      };
      return { fetch, authProvider };
    },

    /** Values that must not appear in the server's answers. */
    valuesFor: async (tx: ReadTx, row: ServerRow): Promise<string[]> => {
      const { tokens, client } = (await keptFor(tx, row)) ?? {};
      const all = [tokens?.access_token, tokens?.refresh_token, client?.["client_secret"]];
      return all.filter((value): value is string => typeof value === "string");
    },
  };
}
export type SignIns = ReturnType<typeof keepSignIns>;

/** The record of a remote server, if it leaves the credential to a sign-in. */
function remoteOf(row: ServerRow): RemoteConfig | undefined {
  const config = storedConfig(row);
  if ("command" in config) return undefined;
  const hasOwn = Object.keys(config.headers ?? {}).some((name) => name.toLowerCase() === "authorization");
  return hasOwn ? undefined : config;
}

/** The stored sign-in. Only this file writes it, but a person may have written something else under the name. */
function keptIn(text: string): Kept | undefined {
  try {
    const kept: Kept = JSON.parse(text);
    const isWhole = typeof kept.url === "string" && typeof kept.client.client_id === "string";
    return isWhole && typeof kept.discovery.authorizationServerUrl === "string" ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the service has refused the sign-in for good. Any other error may pass. */
async function isFinal(error: unknown): Promise<boolean> {
  const { OAuthError, OAuthErrorCode } = await mcpClient();
  const { InvalidGrant, InvalidClient, UnauthorizedClient } = OAuthErrorCode;
  return (
    error instanceof OAuthError &&
    new Set<string>([InvalidGrant, InvalidClient, UnauthorizedClient]).has(error.code)
  );
}

/** The stored client, unless it was registered for another address of this daemon. */
function knownClient(kept: Kept | undefined, redirectUrl: string): StoredOAuthClientInformation | undefined {
  const { client } = kept ?? {};
  const uris: unknown = client === undefined ? undefined : Reflect.get(client, "redirect_uris");
  return Array.isArray(uris) && uris.includes(redirectUrl) ? client : undefined;
}

/** Leaves out the secret of a registered client. It stays where the record refers to it. */
const withoutSecretOf = (
  client: StoredOAuthClientInformation,
  signIn: RemoteConfig["signIn"],
): StoredOAuthClientInformation => (signIn === undefined ? client : { client_id: client.client_id });

/** Whether a person can safely open the link in a browser. */
const isSafeLink = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" ||
  (protocol === "http:" && /^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost)$/.test(hostname));

/** A service that does not answer must not keep the person waiting. */
const soon =
  (ask: FetchLike): FetchLike =>
  (url, init) =>
    ask(url, { ...init, signal: AbortSignal.timeout(askMilliseconds) });

/** The server's own information about where to sign in. */
async function hintsOf(ask: FetchLike, url: string) {
  const answer = await ask(url, { headers: { accept: "text/event-stream" } });
  await answer.body?.cancel().catch(() => undefined);
  const { extractWWWAuthenticateParams } = await mcpClient();
  return answer.status === 401 ? extractWWWAuthenticateParams(answer) : {};
}
