import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { ServerProcess } from "../processes/server-process.ts";
import type { Intake } from "./intake.ts";
import { mcpClient } from "./mcp-client.ts";

/** Messages as lines of JSON, which the protocol prescribes for programs. Lines that are not messages are left out. */
export async function overPipes(process: ServerProcess, intake: Intake): Promise<Transport> {
  const { ReadBuffer, serializeMessage } = await mcpClient();
  const buffer = new ReadBuffer({ maxBufferSize: Number.MAX_SAFE_INTEGER });
  let isOver = false;
  const transport: Transport = {
    start: async () => {
      process.output.on("data", (chunk: Buffer) => {
        // Output that was under way when the process was killed is read and dropped: a full pipe would keep the process from
        // being reaped.
        if (isOver) return;
        try {
          intake.lines(chunk);
        } catch (error) {
          isOver = true;
          buffer.clear();
          transport.onerror?.(error instanceof Error ? error : new Error(String(error)));
          process.kill();
          return;
        }
        buffer.append(chunk);
        for (;;) {
          let message: JSONRPCMessage | null;
          try {
            message = buffer.readMessage();
          } catch {
            continue;
          }
          if (message === null) return;
          transport.onmessage?.(message);
        }
      });
      void process.exited.then(() => transport.onclose?.());
    },
    send: (message) =>
      new Promise((resolve) => {
        if (process.input.write(serializeMessage(message))) resolve();
        else process.input.once("drain", resolve).once("close", resolve);
      }),
    close: async () => {
      process.input.end();
    },
  };
  return transport;
}
