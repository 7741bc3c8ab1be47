/**
 * The key of this browser's pages. With the cookie, which no script can read, it is the credential of every call. It is kept
 * in the storage of this host and port, which pages of other ports can't read.
 */
const place = "agency.pageKey";
const listeners = new Set<() => void>();

export function pageKey(): string | null {
  return localStorage.getItem(place);
}

export function keepPageKey(key: string): void {
  localStorage.setItem(place, key);
  tell();
}

export function forgetPageKey(): void {
  if (pageKey() === null) return;
  localStorage.removeItem(place);
  tell();
}

/** Calls the listener when this browser signs in or out, here or in another tab. */
export function onPageKey(listener: () => void): () => void {
  listeners.add(listener);
  const elsewhere = ({ key }: StorageEvent): void => {
    if (key === place || key === null) listener();
  };
  addEventListener("storage", elsewhere);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", elsewhere);
  };
}

function tell(): void {
  for (const listener of listeners) listener();
}
