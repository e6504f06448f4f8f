import { stale } from "../../scripts/soak/stale.ts";
import { sampled } from "./sampled.ts";

sampled(stale);
