import { inFull } from "#test/support/full.ts";
import { escalations } from "../../scripts/soak/escalations.ts";
import { sampled } from "./sampled.ts";

// Two services, and the time until a claim runs out: test/processes/escalateUnanswered.test.ts has each step of it in every run.
if (inFull) sampled(escalations);
