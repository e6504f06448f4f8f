// Node before 22.18 does not load TypeScript in threads, and tsx from --import does not apply to threads: register it here.
import { register } from "tsx/esm/api";

register();
export const { parseInThread } = await import("./parserThread.ts");
