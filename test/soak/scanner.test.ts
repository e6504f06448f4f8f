import { scanner } from "../../scripts/soak/scanner.ts";
import { sampled } from "./sampled.ts";

sampled(scanner);
