import { planLimits } from "#streams/workspace/planLimits.ts";
import type { Answers, ListItem } from "../../routes.ts";
import { Strict } from "../../schemas/common.ts";
import { untrustedLine } from "../fence.ts";
import { tool } from "../tool.ts";
import { reading } from "./hints.ts";

type Workspace = Answers["GET /v1/workspaces/me"];

/** Maximum number of identities shown; every plan allows fewer. */
const most = 100;

export const whoami = tool({
  name: "whoami",
  title: "Who am I",
  description:
    "Returns the workspace and email addresses (identities) that this key works for, its scopes, whether a person has to approve, and how much of the plan's mail is left. Call it first.",
  scopes: ["read:identities"],
  input: Strict({}),
  limit: "read",
  annotations: reading,
  async run({ ask, scopes }) {
    const { data, total } = await ask("GET /v1/identities", { query: { limit: most } });
    const workspace = scopes.includes("read:workspace") ? await ask("GET /v1/workspaces/me") : undefined;
    const identities = data.map(shownIdentity);
    const plan = workspace && planOf(workspace);
    const lines = [
      ...(workspace ? workspaceLines(workspace, plan) : []),
      identities.length === 0 ? "No identities yet: ask the user to create one." : "Identities:",
      ...identities.map(identityLine),
      ...(total > most ? [`(${total - most} more identities.)`] : []),
      `This key may: ${scopes.join(", ")}.`,
      "The RateLimit header of each response gives the rate limit. Over the limit, an error says how long to wait.",
    ];
    return { text: lines.join("\n"), structured: { workspace: plan ?? null, identities, scopes } };
  },
});

const shownIdentity = (identity: ListItem<"GET /v1/identities">) => ({
  id: identity.id,
  email_address: identity.email_address,
  status: identity.status,
  require_human_approval: identity.require_human_approval,
  approvals_required: identity.approvals_required,
  auto_approve_replies: identity.auto_approve_replies,
});

const identityLine = (identity: ReturnType<typeof shownIdentity>): string =>
  [
    `- ${identity.email_address} (identity_id ${identity.id}, ${identity.status}`,
    identity.require_human_approval ? "; a person has to approve" : "",
    identity.approvals_required > 1 ? `; ${identity.approvals_required} approvals needed` : "",
    ")",
  ].join("");

function planOf(workspace: Workspace) {
  const limits = planLimits[workspace.plan];
  const isUnlimited = workspace.beta_override;
  const sent = workspace.emails_sent_this_period;
  return {
    id: workspace.id,
    name: untrustedLine(workspace.name),
    plan: workspace.plan,
    plan_status: workspace.plan_status,
    sending_paused: workspace.sending_paused,
    require_human_approval: workspace.require_human_approval,
    emails_sent_this_period: sent,
    emails_left_this_period: isUnlimited ? null : Math.max(0, limits.emailsPerPeriod - sent),
    current_period_end: workspace.current_period_end,
  };
}

function workspaceLines(workspace: Workspace, plan: ReturnType<typeof planOf> | undefined): string[] {
  const left = plan?.emails_left_this_period;
  return [
    `Workspace: ${untrustedLine(workspace.name)}`,
    `Plan ${workspace.plan} (${workspace.plan_status}); ${workspace.emails_sent_this_period} mails sent, ${left === null ? "no limit" : `${left} left`} in this period.`,
    ...(workspace.sending_paused ? ["Sending is paused: nothing is sent until a person resumes it."] : []),
    ...(workspace.require_human_approval ? ["A person has to approve each mail of this workspace."] : []),
  ];
}
