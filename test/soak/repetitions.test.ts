import { repetitions } from "../../scripts/soak/repetitions.ts";
import { sampled } from "./sampled.ts";

sampled(repetitions);
