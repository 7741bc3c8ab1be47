import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";

/**
 * A small MCP server over HTTP whose tools need a sign-in, with its own sign-in service. The service registers clients, demands
 * PKCE, and accepts each refresh token once. Its page allows everything: a test opens the link and follows the redirect.
 */
export interface GuardedServer {
  readonly url: string;
  /** The present access token. */
  readonly accessToken: () => string;
  readonly refreshToken: () => string;
  /** From now on, the access token is refused. */
  expire(): void;
  /** From now on, only another sign-in helps. */
  revoke(): void;
  /** The requests so far, such as "POST /token". */
  readonly asked: string[];
  /** Changes the server's description of itself. */
  readonly twist: { metadata?: Record<string, unknown>; challenge?: string; tokenStatus?: number };
  stop(): Promise<void>;
}

interface Code {
  readonly challenge: string;
  readonly client: string;
  readonly redirect: string;
  readonly resource: string;
}

export async function startGuardedServer(): Promise<GuardedServer> {
  const asked: string[] = [];
  const twist: GuardedServer["twist"] = {};
  const clients = new Map<string, readonly string[]>();
  const codes = new Map<string, Code>();
  let access = "";
  let refresh = "";
  let url = "";

  const give = (): Record<string, unknown> => {
    access = `access-${randomUUID()}`;
    refresh = `refresh-${randomUUID()}`;
    return { access_token: access, token_type: "Bearer", expires_in: 3600, refresh_token: refresh };
  };

  const handler = createMcpHandler(() => {
    const server = new Server({ name: "guarded", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", async () => ({
      tools: [{ name: "whoami", description: "Says who calls.", inputSchema: { type: "object" as const } }],
    }));
    server.setRequestHandler("tools/call", async () => ({
      content: [{ type: "text" as const, text: `You hold ${access}.` }],
    }));
    return server;
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    asked.push(`${request.method} ${pathname}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    const json = (status: number, value: unknown, headers = {}): void => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(value));
    };
    if (pathname === "/.well-known/oauth-protected-resource/mcp")
      return json(200, { resource: `${url}/mcp`, authorization_servers: [url] });
    if (pathname === "/.well-known/oauth-authorization-server")
      return json(200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        registration_endpoint: `${url}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        authorization_response_iss_parameter_supported: true,
        ...twist.metadata,
      });
    if (pathname === "/register") {
      const { redirect_uris: uris, ...rest } = JSON.parse(body);
      const client_id = `client-${randomUUID()}`;
      clients.set(client_id, uris);
      return json(201, { ...rest, redirect_uris: uris, client_id });
    }
    if (pathname === "/authorize") {
      const of = (name: string): string => searchParams.get(name) ?? "";
      const redirect = of("redirect_uri");
      if (clients.get(of("client_id"))?.includes(redirect) !== true || of("code_challenge_method") !== "S256")
        return json(400, { error: "invalid_request" });
      const code = `code-${randomUUID()}`;
      codes.set(code, {
        challenge: of("code_challenge"),
        client: of("client_id"),
        redirect,
        resource: of("resource"),
      });
      const to = new URL(redirect);
      for (const [name, value] of Object.entries({ code, state: of("state"), iss: url }))
        to.searchParams.set(name, value);
      response.writeHead(302, { location: to.href });
      return void response.end();
    }
    if (pathname === "/token") {
      if (twist.tokenStatus !== undefined) return json(twist.tokenStatus, { error: "server_error" });
      const form = new URLSearchParams(body);
      if (form.get("grant_type") === "refresh_token") {
        const isGood = refresh !== "" && form.get("refresh_token") === refresh;
        return isGood ? json(200, give()) : json(400, { error: "invalid_grant" });
      }
      const given = form.get("code") ?? "";
      const code = codes.get(given);
      codes.delete(given);
      const challenge = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      const isGood =
        code !== undefined &&
        code.challenge === challenge &&
        code.client === form.get("client_id") &&
        code.redirect === form.get("redirect_uri") &&
        code.resource === `${url}/mcp` &&
        form.get("resource") === `${url}/mcp`;
      return isGood ? json(200, give()) : json(400, { error: "invalid_grant" });
    }
    if (pathname !== "/mcp") return json(404, {});
    if (access === "" || request.headers.authorization !== `Bearer ${access}`)
      return json(
        401,
        { error: "invalid_token" },
        {
          "www-authenticate":
            twist.challenge ?? `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`,
        },
      );
    const made = await handler.fetch(
      new Request(`${url}/mcp`, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
          typeof value === "string" ? [[name, value]] : [],
        ),
        ...(body !== "" && { body }),
      }),
    );
    response.writeHead(made.status, Object.fromEntries(made.headers));
    response.end(Buffer.from(await made.arrayBuffer()));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  return {
    url: `${url}/mcp`,
    asked,
    twist,
    accessToken: () => access,
    refreshToken: () => refresh,
    expire: () => void (access = `expired-${randomUUID()}`),
    revoke: () => void ([access, refresh] = ["", ""]),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
