import { html, type Markup } from "#src/html/html.ts";
import type { Role } from "#streams/member/roles.ts";

/** Each role in one sentence; the scopes are in src/http/framework/roles.ts. */
export const roleWords: Record<Role, string> = {
  owner: "Can do everything, including billing, API keys and other owners.",
  admin:
    "Sets everything up, decides about drafts and invites people. Only owners manage billing, API keys and owners.",
  approver: "Reads conversations and decides about drafts. Cannot change settings.",
  auditor: "Reads everything, including histories and decisions. Cannot change anything.",
};

export const rolesExplained = (): Markup =>
  html`<h2>What the roles may do</h2>
<dl class="roles">${Object.entries(roleWords).map(([role, words]) => html`<dt>${role}</dt><dd>${words}</dd>`)}</dl>
`;
