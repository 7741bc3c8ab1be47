import { giveCreator } from "../capabilities/grants.ts";
import { memberById } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import type { Call } from "../dispatch/guarded.ts";
import { addVersion, fileById, insertFile } from "../knowledge/table.ts";

/** The first publishing of a branch creates the file. Each later one adds a version. */
export async function keepFile(
  call: Call<unknown>,
  known: string | undefined,
  description: string,
  text: string,
): Promise<string> {
  const { tx, companyId, actor } = call;
  const content = Buffer.from(call.hide(text));
  const file = known === undefined ? undefined : await fileById(tx, known);
  const isOwn = file !== undefined && (await holds(tx, actor.agentId ?? "", `kb:${file.id}`, "write"));
  if (file?.deleted_at === null && isOwn) {
    await addVersion(tx, file, { content, description, author: actor });
    return file.id;
  }
  const id = call.newId();
  const made = { id, companyId, description, content, author: actor, ownerId: null };
  await insertFile(tx, { ...made, kind: "file", mediaType: "text/markdown" });
  const creator = await memberById(tx, actor.agentId);
  if (creator !== undefined)
    await giveCreator(tx, { id: call.newId(), companyId, creator, resource: `kb:${id}` });
  return id;
}
