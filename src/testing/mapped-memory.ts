/** How much of a mapped file a process holds in memory, from its `/proc/…/smaps`. */
export function mappedKilobytes(smaps: string, file: string): number {
  let isOfFile = false;
  let sum = 0;
  for (const line of smaps.split("\n"))
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isOfFile = line.endsWith(` ${file}`);
    else if (isOfFile && line.startsWith("Rss:")) sum += Number.parseInt(line.slice(4), 10);
  return sum;
}
