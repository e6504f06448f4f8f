import { instances } from "../../scripts/soak/instances.ts";
import { sampled } from "./sampled.ts";

sampled(instances);
