import { inFull } from "#test/support/full.ts";
import { outage } from "../../scripts/soak/outage.ts";
import { sampled } from "./sampled.ts";

// A server of its own that is stopped: test/outages.test.ts stops one for 5 s in every run.
if (inFull) sampled(outage);
