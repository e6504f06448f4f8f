import { neighbours } from "../../scripts/soak/neighbours.ts";
import { sampled } from "./sampled.ts";

sampled(neighbours);
