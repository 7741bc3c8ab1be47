import { StringDecoder } from "node:string_decoder";

/** Reads the data of server-sent events, or of one JSON document, from the chunks of an answer. */
export function eventsIn(
  contentType: string,
  hear: (data: unknown) => void,
): { write: (chunk: Uint8Array) => void; end: () => void } {
  const decoder = new StringDecoder("utf8");
  const streams = contentType.startsWith("text/event-stream");
  let held = "";
  const take = (text: string): void => {
    try {
      hear(JSON.parse(text));
    } catch {
      // Not JSON, such as the last event of a chat. It has no usage.
    }
  };
  const lines = (): void => {
    for (let end = held.indexOf("\n"); end >= 0; end = held.indexOf("\n")) {
      const line = held.slice(0, end);
      held = held.slice(end + 1);
      if (line.startsWith("data:")) take(line.slice(5));
    }
  };
  return {
    write: (chunk) => {
      held += decoder.write(Buffer.from(chunk));
      if (streams) lines();
      // A single document of this length is not JSON of a model.
      else if (held.length > mostDocument) held = "";
    },
    end: () => {
      if (streams) {
        held += "\n";
        lines();
      } else take(held);
    },
  };
}

const mostDocument = 64 * 1024 * 1024;
