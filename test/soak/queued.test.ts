import { inFull } from "#test/support/full.ts";
import { queued } from "../../scripts/soak/queued.ts";
import { sampled } from "./sampled.ts";

// A small one is in test/processes/deliver.test.ts every time: this one starts the service twice.
if (inFull) sampled(queued);
