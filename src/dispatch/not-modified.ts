/**
 * Thrown when the caller already has the version that it asked for. The transaction is rolled back: nothing was shown, and
 * nothing is recorded.
 */
export class NotModified extends Error {}

/** Names one version of a file. The description is part of the version, so it counts too. */
export const tagOf = ({ version, hash }: { readonly version: number; readonly hash: string }): string =>
  `${version}-${hash}`;
