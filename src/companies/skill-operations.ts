import type { CompanyFile } from "../contract/roster.ts";
import * as contract from "../contract/skills.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { Writing } from "../dispatch/context.ts";
import { decodeFile } from "../knowledge/content.ts";
import { addVersion, fileById, insertFile, tombstone } from "../knowledge/table.ts";
import { insertion } from "../store/inserts.ts";
import { deleting, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { readSkills, type Skill, skillOf } from "./skill.ts";
import { runsCommands, skillsTooLarge } from "./texts.ts";

/**
 * The files of a skill are knowledge files that are also copied into the workspace of every session. All agents of the company
 * can read them. Only the board can change them, because every agent follows them as instructions.
 */
const onPut = guarded(contract.putSkill, async (call) => {
  const { tx, companyId, input } = call;
  const [skill] = readSkills(input.files.map((file) => inSkill(input.name, file)));
  if (skill === undefined) throw new Error("A skill has at least one file.");
  demandRead(skill.commands, input.allowCommands === true);
  const others = (await tx.all(skillFiles, { companyId })).filter(({ path }) => skillOf(path) !== skill.name);
  demandRoomForSkill([
    ...others.map(({ size }) => size),
    ...skill.files.map(({ content: { byteLength } }) => byteLength),
  ]);
  await keepSkill(call, skill, call.newId);
  await call.record(companyId, { skill: skill.name, files: skill.files.length, commands: skill.commands });
  return oneSkill(tx, companyId, skill.name);
});

const onList = guarded(contract.listSkills, async ({ tx, companyId }) => {
  const rows = Map.groupBy(await tx.all(skillFiles, { companyId }), ({ path }) => skillOf(path));
  return { skills: [...rows].map(([name, files]) => present(name, files)), nextCursor: null };
});

const onRemove = guarded(contract.removeSkill, async (call) => {
  const skill = await oneSkill(call.tx, call.companyId, call.input.name);
  await keepSkill(call, { name: skill.name, files: [] }, call.newId);
  await call.record(call.companyId, { skill: skill.name, files: skill.files.length });
  return skill;
});

export const skillHandlers = [onPut, onList, onRemove];

/** Makes these the only files of the skill. An unchanged file keeps its version. */
export async function keepSkill(
  call: Writing,
  skill: Pick<Skill, "name" | "files">,
  idFor: (path: string) => string,
): Promise<void> {
  const { tx, companyId, actor } = call;
  const before = await rowsOf(tx, companyId, skill.name);
  for (const { path, content, description, mediaType } of skill.files) {
    const row = before.find((one) => one.path === path);
    const file = row === undefined ? undefined : await fileById(tx, row.id);
    if (file === undefined) {
      const id = idFor(path);
      await keepNewFile(call, { id, kind: "skill", description, mediaType, content });
      await tx.run(place, { company_id: companyId, path, file_id: id });
    } else if (
      file.description !== description ||
      !Buffer.from(content).equals(await tx.blobs.read(file.id, file.hash))
    )
      await call.record(
        file.id,
        await addVersion(tx, file, { content, description, author: actor }),
        "knowledge.write",
      );
  }
  const kept = new Set(skill.files.map(({ path }) => path));
  for (const { path, id } of before) {
    const file = kept.has(path) ? undefined : await fileById(tx, id);
    if (file === undefined) continue;
    await tombstone(tx, file);
    await tx.run(displace, { company_id: companyId, path });
    await call.record(id, { version: file.version, reason: `skill ${skill.name}` }, "knowledge.delete");
  }
}

/** Creates a file that belongs to no agent. */
export async function keepNewFile(
  call: Writing,
  file: Pick<Parameters<typeof insertFile>[1], "id" | "kind" | "description" | "mediaType" | "content">,
): Promise<void> {
  const { tx, companyId, actor } = call;
  const saved = await insertFile(tx, { ...file, companyId, ownerId: null, author: actor });
  await call.record(file.id, { ...saved, description: file.description }, "knowledge.create");
}

export function demandRead(commands: readonly string[], isRead: boolean): void {
  if (commands.length > 0 && !isRead) throw runsCommands(commands);
}

/** Every session gets all skills, so their total size is limited. */
export function demandRoomForSkill(sizes: readonly number[]): void {
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.length > contract.mostSkillFiles || bytes > contract.mostSkillBytes)
    throw skillsTooLarge(sizes.length, bytes);
}

/** Ordered by path, which keeps the files of one skill together. */
export const skillFiles = query((db, p: { companyId: string }) =>
  db
    .selectFrom("skill_files as s")
    .innerJoin("files as f", "f.id", "s.file_id")
    .select(["s.path", "f.id", "f.version", "f.hash", "f.size", "f.description", "f.updated_at"])
    .where("s.company_id", "=", p.companyId)
    .orderBy("s.path"),
);

/** The files of one skill. */
const rowsOf = async (tx: ReadTx, companyId: string, name: string) =>
  (await tx.all(skillFiles, { companyId })).filter(({ path }) => skillOf(path) === name);

async function oneSkill(tx: ReadTx, companyId: string, name: string) {
  const files = await rowsOf(tx, companyId, name);
  if (files.length === 0) throw notFound("skill", name);
  return present(name, files);
}

function present(name: string, files: Awaited<ReturnType<typeof rowsOf>>) {
  return {
    name,
    description: files.find(({ path }) => path === `${name}/SKILL.md`)?.description ?? "",
    files: files.map(({ path, id, version, size }) => ({
      path: path.slice(name.length + 1),
      id,
      version,
      size,
    })),
    updatedAt: new Date(Math.max(...files.map(({ updated_at }) => updated_at))).toISOString(),
  };
}

const inSkill = (name: string, file: CompanyFile) => ({
  path: `${name}/${file.path}`,
  content: decodeFile(file, contract.mostSkillBytes),
});

const place = insertion("skill_files");
const displace = deleting("skill_files", ["company_id", "path"]);
