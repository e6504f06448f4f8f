import { loops } from "../../scripts/soak/loops.ts";
import { sampled } from "./sampled.ts";

sampled(loops);
