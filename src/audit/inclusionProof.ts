/** A proof that an entry is in a signed tree, in the form of C2SP tlog-proof. */
export type InclusionProof = { entry: number; hashes: readonly Buffer[]; checkpoint: string };

const header = "c2sp.org/tlog-proof@v1";

export const writeProof = ({ entry, hashes, checkpoint }: InclusionProof): string =>
  `${[header, `index ${entry}`, ...hashes.map((hash) => hash.toString("base64")), "", checkpoint].join("\n")}`;

/** Reads a proof; undefined if it is none. */
export function readProof(text: string): InclusionProof | undefined {
  const end = text.indexOf("\n\n");
  const [first, index = "", ...hashes] = text.slice(0, end).split("\n");
  const [, entry] = /^index (0|[1-9]\d{0,14})$/.exec(index) ?? [];
  if (end < 0 || first !== header || entry === undefined || hashes.length > 63) return undefined;
  if (hashes.some((hash) => !/^[A-Za-z0-9+/]{43}=$/.test(hash))) return undefined;
  return {
    entry: Number(entry),
    hashes: hashes.map((hash) => Buffer.from(hash, "base64")),
    checkpoint: text.slice(end + 2),
  };
}
