import { servers } from "../../scripts/soak/servers.ts";
import { sampled } from "./sampled.ts";

sampled(servers);
