import { corpus } from "./corpus.ts";
import type { Proof } from "./proof.ts";

/** Every long proof, in the order in which they run. */
export const proofs: readonly Proof[] = [corpus];
