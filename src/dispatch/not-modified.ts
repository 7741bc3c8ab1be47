/**
 * The caller already has what it asked for. It is thrown, so the transaction is rolled back: nothing was shown, and nothing is
 * recorded.
 */
export class NotModified extends Error {}

/** Names one version of a file. Also the description belongs to the version. */
export const tagOf = ({ version, hash }: { readonly version: number; readonly hash: string }): string =>
  `${version}-${hash}`;
