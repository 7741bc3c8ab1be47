/** Whether an Accept-Encoding header accepts gzip: by name, or else by `*`. A weight of 0 refuses it. */
export function takesGzip(header = ""): boolean {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().slice(0, 1000).split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="))?.slice(2);
    weights.set(coding, weight === undefined ? 1 : Number(weight) || 0);
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
