import { search } from "../../scripts/soak/search.ts";
import { sampled } from "./sampled.ts";

sampled(search);
