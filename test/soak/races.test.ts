import { races } from "../../scripts/soak/races.ts";
import { sampled } from "./sampled.ts";

sampled(races);
