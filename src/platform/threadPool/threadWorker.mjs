// Node before 22.18 reads no TypeScript in a thread, and tsx given by --import stays out of threads: it is registered here.
import { register } from "tsx/esm/api";

register();
export const { doTask } = await import("./thread.ts");
