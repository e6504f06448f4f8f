import { grants } from "../../scripts/soak/grants.ts";
import { sampled } from "./sampled.ts";

sampled(grants);
