import { isBatched, type Operation, takesBody } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { inputSchema, outputSchema } from "../contract/json-schema.ts";
import { refusalCodes } from "../contract/refusal.ts";

let made: string | undefined;

/** The OpenAPI 3.1 document, derived from the table of operations. Building it takes long, so it is built only once. */
export function openApi(version: string): string {
  return (made ??= JSON.stringify(makeDocument(version)));
}

function makeDocument(version: string): unknown {
  const paths: Record<string, Record<string, unknown>> = {
    "/api/health": {
      get: {
        operationId: "health",
        summary: "Check whether the daemon is running and has a company.",
        security: [],
        responses: { "200": { description: "ok" }, "503": { description: "no company yet" } },
      },
    },
  };
  paths["/api/batch"] = { post: batch };
  for (const operation of operations) {
    const path = operation.http.path.replace(/:(\w+)/g, "{$1}");
    (paths[path] ??= {})[operation.http.method.toLowerCase()] = describe(operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Agency", version, description: "Run an organization of AI agents on your own machine." },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: {
        Refusal: {
          type: "object",
          required: ["error"],
          properties: {
            error: {
              type: "object",
              required: ["code", "message", "hint"],
              properties: {
                code: { enum: Object.keys(refusalCodes) },
                message: { type: "string" },
                hint: { type: "string" },
                details: { type: "object" },
              },
            },
          },
        },
      },
    },
    security: [{ token: [] }],
    paths,
  };
}

function describe(operation: Operation): unknown {
  const inPath = new Set([...operation.http.path.matchAll(/:(\w+)/g)].map(([, key]) => key));
  const schema = inputSchema(operation.input);
  const properties = Object.entries(
    typeof schema["properties"] === "object" ? { ...schema["properties"] } : {},
  );
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"].map(String) : []);
  const inBody = takesBody(operation);
  const parameters = properties
    .filter(([key]) => inPath.has(key) || !inBody)
    .map(([key, value]) => ({
      name: key,
      in: inPath.has(key) ? "path" : "query",
      required: inPath.has(key) || required.has(key),
      schema: value,
    }));
  const body = properties.filter(([key]) => inBody && !inPath.has(key));
  return {
    operationId: operation.name,
    summary: operation.summary,
    ...(operation.guidance === undefined ? {} : { description: operation.guidance }),
    parameters: inBody ? [...parameters, idempotencyKey] : parameters,
    ...(body.length === 0
      ? {}
      : {
          requestBody: {
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  properties: Object.fromEntries(body),
                  required: body.map(([key]) => key).filter((key) => required.has(key)),
                  additionalProperties: false,
                },
              },
            },
          },
        }),
    responses: {
      "2XX": {
        description: "The result.",
        content:
          operation.http.as === "text"
            ? { "text/plain": { schema: { type: "string" } } }
            : { "application/json": { schema: outputSchema(operation.output) } },
      },
      "4XX": {
        description: "A refusal.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Refusal" } } },
      },
    },
  };
}

const batch = {
  operationId: "batch",
  summary:
    "Answer up to 20 reads in one request. Each answer is one line of JSON, sent as soon as it is ready.",
  requestBody: {
    content: {
      "application/json": {
        schema: {
          type: "object",
          required: ["calls"],
          additionalProperties: false,
          properties: {
            calls: {
              type: "array",
              minItems: 1,
              maxItems: 20,
              items: {
                type: "object",
                required: ["operation"],
                additionalProperties: false,
                properties: {
                  operation: { enum: operations.filter(isBatched).map(({ name }) => name) },
                  input: { type: "object" },
                },
              },
            },
          },
        },
      },
    },
  },
  responses: {
    "200": {
      description:
        "A line for each call: `at` is its place, `status` what its own request would be answered with.",
      content: {
        "application/x-ndjson": {
          schema: {
            type: "object",
            required: ["at", "status"],
            properties: {
              at: { type: "integer" },
              status: { type: "integer" },
              seq: { type: "integer", description: "The last event that the answer reflects." },
              output: { type: "object" },
              error: { $ref: "#/components/schemas/Refusal/properties/error" },
            },
          },
        },
      },
    },
    "4XX": {
      description: "A refusal of the whole batch.",
      content: { "application/json": { schema: { $ref: "#/components/schemas/Refusal" } } },
    },
  },
};

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", maxLength: 200 },
  description: "Repeating a call with the same key and input returns the first result and changes nothing.",
};
