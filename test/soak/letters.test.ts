import { letters } from "../../scripts/soak/letters.ts";
import { sampled } from "./sampled.ts";

sampled(letters);
