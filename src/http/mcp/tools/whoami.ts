import Type from "typebox";
import type { Tool } from "../tool.ts";

/** Limits that a model plans by; what is left of them is in the plan. */
const most = 100;

/** Who the key is, and what it may do. */
export const whoami: Tool = {
  name: "whoami",
  title: "Who am I",
  description:
    "Tells which workspace and email addresses (identities) this key works for, what it may do, and how much of the plan is used. Call it first.",
  scopes: ["read:identities"],
  input: Type.Object({}, { additionalProperties: false }),
  limit: "read",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run({ ask, scopes }) {
    const identities = await ask("GET /v1/identities", { query: { limit: most } });
    const workspace = scopes.includes("read:workspace") ? await ask("GET /v1/workspaces/me") : undefined;
    const shown = identities.data.map((identity: any) => ({
      id: identity.id,
      email_address: identity.email_address,
      status: identity.status,
      require_human_approval: identity.require_human_approval,
    }));
    const lines = [
      ...(workspace ? [`Workspace: ${workspace.name} (plan ${workspace.plan}).`] : []),
      shown.length === 0 ? "No identities yet: ask the user to create one." : "Identities:",
      ...shown.map((identity: any) => `- ${identity.email_address} (identity_id ${identity.id}, ${identity.status})`),
      `This key may: ${scopes.join(", ")}.`,
    ];
    return { text: lines.join("\n"), structured: { workspace: workspace ?? null, identities: shown, scopes } };
  },
};
