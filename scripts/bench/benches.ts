import type { Bench } from "./bench.ts";

/** All benchmarks, in the order of the table. */
export const benches: Record<string, () => Promise<{ bench: Bench }>> = {
  append: () => import("./append.ts"),
  visible: () => import("./visible.ts"),
  "main-job": () => import("./mainJob.ts"),
  approvals: () => import("./approvals.ts"),
  catchup: () => import("./catchup.ts"),
  read: () => import("./read.ts"),
  search: () => import("./search.ts"),
  mixed: () => import("./mixed.ts"),
  "mixed-workspaces": () => import("./mixedWorkspaces.ts"),
  console: () => import("./console.ts"),
};
