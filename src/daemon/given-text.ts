import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { noDescriptor, othersCanRead } from "./texts.ts";

/**
 * A text that the daemon gets in a file or through a descriptor (`/dev/fd/3`). A descriptor is read by its number and closed:
 * while it is open, programs of the same user find it in /proc, and programs that the daemon starts may inherit it.
 */
export function givenText(file: string, { ownerOnly }: { readonly ownerOnly: boolean }): string {
  const descriptor = isDescriptor(file) ? givenDescriptor(Number(basename(file))) : openSync(file, "r");
  try {
    if (ownerOnly && (fstatSync(descriptor).mode & 0o077) !== 0) throw othersCanRead(file);
    return readFileSync(descriptor, "utf8").trim();
  } finally {
    closeSync(descriptor);
  }
}

export const isDescriptor = (file: string): boolean => /^\/dev\/fd\/\d{1,6}$/.test(file);

/** A wrong number may be a descriptor that Node uses itself. */
function givenDescriptor(number: number): number {
  try {
    const found = fstatSync(number);
    if (number > 2 && (found.isFile() || found.isFIFO() || found.isSocket())) return number;
  } catch {
    // The descriptor is not open.
  }
  throw noDescriptor(number);
}
