// Node before 22.18 runs no TypeScript in a thread, and tsx given by --import does not apply to threads: it is registered here.
import { register } from "tsx/esm/api";

register();
export const { doTask } = await import("./thread.ts");
