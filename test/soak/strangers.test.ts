import { strangers } from "../../scripts/soak/strangers.ts";
import { sampled } from "./sampled.ts";

sampled(strangers);
