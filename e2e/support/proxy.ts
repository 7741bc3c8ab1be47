// A loopback proxy for clients that can't send a credential, such as the MCP conformance suite. It adds the bearer token and
// passes everything else through unchanged. It replaces its own Host by the daemon's, as if the client had called the daemon.
// Any other Host is passed on unchanged, because the suite tests the daemon's own check of it.
import { createServer, request } from "node:http";

export async function startProxy(
  target: string,
  token: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const { hostname, port, host } = new URL(target);
  const server = createServer((incoming, response) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    if (headers.host === ownHost()) headers.host = host;
    if (headers.origin === `http://${ownHost()}`) headers.origin = `http://${host}`;
    const { method, url: path } = incoming;
    const outgoing = request({ hostname, port, method, path, headers, setHost: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const ownHost = (): string => {
    const address = server.address();
    return typeof address === "object" && address !== null ? `127.0.0.1:${address.port}` : "";
  };
  return {
    url: `http://${ownHost()}`,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
