import type { Tool } from "../tool.ts";
import { whoami } from "./whoami.ts";

/** Every tool there is. None approves: that is a person's. */
export const tools: readonly Tool[] = [whoami];
