import { past } from "../../scripts/soak/past.ts";
import { sampled } from "./sampled.ts";

sampled(past);
