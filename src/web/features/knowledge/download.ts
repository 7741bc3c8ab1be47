interface Binary {
  readonly description: string;
  readonly mediaType: string;
  readonly encoding: string;
  readonly content: string;
}

/** Saves the file. It never opens here, whatever its type is: the browser gets bytes without a type. */
export function download(file: Binary): void {
  const bytes = Uint8Array.from(atob(file.content), (char) => char.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName(file);
  link.click();
  URL.revokeObjectURL(address);
}

/** The first words of the description, with the ending of the file's type. */
export function fileName({ description, mediaType }: Pick<Binary, "description" | "mediaType">): string {
  const words =
    description
      .match(/[\p{L}\p{N}]+/gu)
      ?.join("-")
      .slice(0, 60) ?? "file";
  const ending = /^[a-z]+\/([a-z0-9]{1,8})(?:$|[+;])/.exec(mediaType)?.[1];
  return ending === undefined ? words : `${words}.${ending}`;
}
