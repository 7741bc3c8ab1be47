import { selection } from "./query.ts";

/**
 * The row with an id, for the tables that many folders read. Each query reads the whole row: on PostgreSQL a write reads a row
 * only once, whichever folder asks for it.
 */
export const companyRow = selection("companies", ["id"]);
export const agentRow = selection("agents", ["id"]);
export const outcomeRow = selection("outcomes", ["id"]);
export const fileRow = selection("files", ["id"]);
export const sessionRow = selection("sessions", ["id"]);
