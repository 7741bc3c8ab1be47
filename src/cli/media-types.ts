/** Media types by the ending of a file's name, and the other way round. */
const types: Readonly<Record<string, string>> = {
  md: "text/markdown",
  markdown: "text/markdown",
  txt: "text/plain",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  xml: "application/xml",
  json: "application/json",
  yaml: "application/yaml",
  yml: "application/yaml",
  toml: "application/toml",
  pdf: "application/pdf",
  zip: "application/zip",
  gz: "application/gzip",
  tar: "application/x-tar",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
};

/** `ending` is what extname() returns, such as ".md". */
export const mediaTypeOf = (ending: string, isText: boolean): string =>
  types[ending.slice(1).toLowerCase()] ?? (isText ? "text/plain" : "application/octet-stream");

/** The ending with its dot. Empty if the type is unknown. */
export function endingOf(mediaType: string): string {
  const found = Object.entries(types).find(([, type]) => type === mediaType);
  return found === undefined ? "" : `.${found[0]}`;
}
