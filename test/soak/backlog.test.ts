import { backlog } from "../../scripts/soak/backlog.ts";
import { sampled } from "./sampled.ts";

sampled(backlog);
