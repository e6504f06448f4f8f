import { content } from "../../scripts/soak/content.ts";
import { sampled } from "./sampled.ts";

sampled(content);
