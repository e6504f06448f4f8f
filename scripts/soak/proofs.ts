import { backlog } from "./backlog.ts";
import { content } from "./content.ts";
import { corpus } from "./corpus.ts";
import { escalations } from "./escalations.ts";
import { grants } from "./grants.ts";
import { histories } from "./histories.ts";
import { instances } from "./instances.ts";
import { kills } from "./kills.ts";
import { neighbours } from "./neighbours.ts";
import { outage } from "./outage.ts";
import type { Proof } from "./proof.ts";
import { queued } from "./queued.ts";
import { races } from "./races.ts";
import { relay } from "./relay.ts";
import { repetitions } from "./repetitions.ts";
import { requests } from "./requests.ts";
import { scanner } from "./scanner.ts";
import { stale } from "./stale.ts";
import { strangers } from "./strangers.ts";
import { suspended } from "./suspended.ts";

/** Every long proof, in the order in which they run. */
export const proofs: readonly Proof[] = [
  content,
  corpus,
  stale,
  races,
  kills,
  outage,
  relay,
  scanner,
  suspended,
  instances,
  repetitions,
  requests,
  grants,
  backlog,
  queued,
  escalations,
  neighbours,
  strangers,
  histories,
];
