/** The client of the protocol. It takes 5 MB, and most organizations start without a server, so it is loaded at first use. */
export const mcpClient = () => import("@modelcontextprotocol/client");
