import { relay } from "../../scripts/soak/relay.ts";
import { sampled } from "./sampled.ts";

sampled(relay);
