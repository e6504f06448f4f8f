import { corpus } from "../../scripts/soak/corpus.ts";
import { sampled } from "./sampled.ts";

sampled(corpus);
