import { kills } from "../../scripts/soak/kills.ts";
import { sampled } from "./sampled.ts";

sampled(kills);
