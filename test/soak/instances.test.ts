import { inFull } from "#test/support/full.ts";
import { instances } from "../../scripts/soak/instances.ts";
import { sampled } from "./sampled.ts";

// Two services, and the time until a claim runs out: `suspended` has two instances in every run, and test/work/ has each step of a claim.
if (inFull) sampled(instances);
