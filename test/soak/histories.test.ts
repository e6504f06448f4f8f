import { describeInFull } from "#test/support/full.ts";
import { histories } from "../../scripts/soak/histories.ts";
import { sampled } from "./sampled.ts";

// Eight starts of a service; each long stream has its own tests of snapshots and pages.
describeInFull("in full alone", () => sampled(histories));
