import { queued } from "../../scripts/soak/queued.ts";
import { sampled } from "./sampled.ts";

sampled(queued);
