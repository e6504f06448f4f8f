import { requests } from "../../scripts/soak/requests.ts";
import { sampled } from "./sampled.ts";

sampled(requests);
