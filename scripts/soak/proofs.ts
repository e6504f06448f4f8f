import { content } from "./content.ts";
import { histories } from "./histories.ts";
import { instances } from "./instances.ts";
import { kills } from "./kills.ts";
import { letters } from "./letters.ts";
import { loops } from "./loops.ts";
import { neighbours } from "./neighbours.ts";
import { outage } from "./outage.ts";
import { past } from "./past.ts";
import type { Proof } from "./proof.ts";
import { queued } from "./queued.ts";
import { races } from "./races.ts";
import { requests } from "./requests.ts";
import { search } from "./search.ts";
import { servers } from "./servers.ts";
import { strangers } from "./strangers.ts";

/** Every long proof, in the order in which they run. */
export const proofs: readonly Proof[] = [
  content,
  past,
  search,
  letters,
  races,
  kills,
  outage,
  instances,
  loops,
  requests,
  queued,
  neighbours,
  strangers,
  servers,
  histories,
];
