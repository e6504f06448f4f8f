/** A proof that an entry is in a signed tree, in the form of C2SP tlog-proof. */
type InclusionProof = { entry: number; hashes: readonly Buffer[]; checkpoint: string };

const header = "c2sp.org/tlog-proof@v1";

export const writeProof = ({ entry, hashes, checkpoint }: InclusionProof): string =>
  `${[header, `index ${entry}`, ...hashes.map((hash) => hash.toString("base64")), "", checkpoint].join("\n")}`;
