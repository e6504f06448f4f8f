import { inFull } from "#test/support/full.ts";
import { neighbours } from "../../scripts/soak/neighbours.ts";
import { sampled } from "./sampled.ts";

// Four workspaces on a service of their own: backlog has the paused one in every run.
if (inFull) sampled(neighbours);
