import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, nextCursor, text } from "./words.ts";

/** Secrets of a company. No answer ever contains a value: configurations and answers have only its name. */

export const SecretName = z
  .string()
  .max(100)
  .regex(
    /^[A-Za-z_][\w.-]*$/,
    "up to 100 letters, digits, dots, hyphens and underscores, starting with a letter or underscore",
  )
  .describe("Name of the secret: up to 100 letters, digits, dots, hyphens and underscores.");

/** The reference to a secret in a configuration. */
export const SecretReference = z.strictObject({ secret: SecretName });

const Secret = z.object({
  name: z.string(),
  generated: z.boolean().describe("Whether Agency named it, because a configuration contained the value."),
  status: z.enum(["available", "missing"]),
  kept: z
    .enum(["given", "encrypted", "memory"])
    .describe(
      "given: given to the daemon at start. encrypted: in the database. memory: lost when the daemon stops.",
    ),
  usedBy: z.array(z.string()).describe("Names of the agents whose configuration refers to it."),
});
export type Secret = z.infer<typeof Secret>;

export const setSecret = operation("secret.set", "PUT /api/companies/:companyId/secrets/:name", {
  summary: "Give the company a secret, or replace its value.",
  guidance:
    'A configuration refers to it as {"secret": "<name>"}. Without a secrets key the value is lost when the daemon stops.',
  input: z.strictObject({
    companyId: CompanyId,
    name: SecretName,
    value: text(65_536).min(1).describe("The value, up to 65,536 characters. It is never shown again."),
  }),
  output: Secret,
  takesSecret: true,
});

export const listSecrets = operation("secret.list", "GET /api/companies/:companyId/secrets", {
  summary: "List the secrets of the company by name: which are missing, and which agents use them.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ secrets: z.array(Secret), nextCursor }),
  cli: { command: "secrets list" },
});

export const removeSecret = operation("secret.remove", "DELETE /api/companies/:companyId/secrets/:name", {
  summary: "Remove a secret. Agents that use it start no session until it is set again.",
  input: z.strictObject({ companyId: CompanyId, name: SecretName }),
  output: Secret,
  cli: { command: "secrets remove <name>", example: "API_KEY" },
});
