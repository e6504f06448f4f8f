import { suspended } from "../../scripts/soak/suspended.ts";
import { sampled } from "./sampled.ts";

sampled(suspended);
