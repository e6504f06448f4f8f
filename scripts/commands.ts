/** The service and the operator's commands, by their names for run.mjs. */
export const commands: Record<string, () => Promise<unknown>> = {
  start: async () => (await import("#src/program.ts")).runService(),
  /** Only loads the service, so that Node's compile cache holds it before the first start. */
  build: () => import("#src/program.ts"),
  workspace: () => import("./workspace.ts"),
  users: () => import("./users.ts"),
  projections: () => import("./projections.ts"),
  processes: () => import("./processes.ts"),
  secrets: () => import("./secrets.ts"),
  "event-store": () => import("./eventStore.ts"),
  audit: () => import("./audit.ts"),
  backup: () => import("./backup.ts"),
  blobs: () => import("./blobs.ts"),
  inbound: () => import("./inbound.ts"),
  mcp: () => import("./mcp.ts"),
};
