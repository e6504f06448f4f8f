import type { NoteVerifier } from "#src/audit/signedNote.ts";

/**
 * A witness of C2SP tlog-witness: a service of somebody else that remembers the newest head of each log, and cosigns a head only if it
 * continues that one.
 */
export type Witness = {
  cosigner: NoteVerifier;
  /** Posts the body of an `add-checkpoint` request. Rejects if there is no answer, or one that says the witness is out of order. */
  addCheckpoint(body: string): Promise<WitnessAnswer>;
};

export type WitnessAnswer = { status: number; text: string };

/** A witness of the settings: its verifier key, and the URL below which its calls are. */
export type NamedWitness = { verifierKey: string; url: string };

/** Reads a witness of the settings: a verifier key and a URL, with a space between. */
export function namedWitness(text: string): NamedWitness {
  const [verifierKey = "", url = ""] = text.split(/\s+/);
  return { verifierKey, url: url.replace(/\/+$/, "") };
}
