import { idOf, type Recorded } from "#streams/event.ts";
import type { WorkspaceEvent } from "#streams/workspace/events.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";

type Row = {
  id: string;
  name: string;
  slug: string;
  plan: string;
  plan_status: string;
  beta_override: boolean;
  sending_paused: boolean;
  created_at: string;
  updated_at: string;
};

const columns = [
  "id",
  "name",
  "slug",
  "plan",
  "plan_status",
  "beta_override",
  "sending_paused",
  "created_at",
  "updated_at",
] as const;

function apply(row: Row, event: WorkspaceEvent): Row {
  switch (event.type) {
    case "WorkspaceCreated": {
      const { name, slug, plan, planStatus, betaOverride, createdAt } = event.data;
      return { ...row, name, slug, plan, plan_status: planStatus, beta_override: betaOverride, created_at: createdAt };
    }
    case "WorkspaceRenamed":
      return { ...row, name: event.data.name };
    case "PlanSet": {
      const { plan, planStatus, betaOverride } = event.data;
      return { ...row, plan, plan_status: planStatus, beta_override: betaOverride };
    }
    case "SendingPaused":
      return { ...row, sending_paused: true };
    case "SendingResumed":
      return { ...row, sending_paused: false };
  }
}

export const workspaces: Projection = {
  name: "workspaces",
  version: 2,
  tables: ["workspaces"],
  handles: ["WorkspaceCreated", "WorkspaceRenamed", "PlanSet", "SendingPaused", "SendingResumed"],
  async project(tx, events) {
    const rows = await rowsById<Row>(
      tx,
      "workspaces",
      columns,
      events.map((event) => idOf(event.stream)),
    );
    for (const event of events as readonly Recorded[]) {
      const id = idOf(event.stream);
      const before = rows.get(id) ?? ({ id, sending_paused: false } as Row);
      rows.set(id, { ...apply(before, event as unknown as WorkspaceEvent), updated_at: event.metadata.at });
    }
    await upsertRows(tx, "workspaces", ["id"], columns, [...rows.values()]);
  },
};
