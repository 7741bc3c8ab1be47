/**
 * The value of a key. If the key is missing, `make` makes the value, which is kept. Node 24 has no
 * Map.prototype.getOrInsertComputed().
 */
export function inMap<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
