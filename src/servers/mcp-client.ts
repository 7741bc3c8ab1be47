/** The client of the protocol. It is loaded when a server is used: it takes 5 MB, and most organizations start without one. */
export const mcpClient = () => import("@modelcontextprotocol/client");
