import { html, type Markup } from "#src/html/html.ts";
import type { Role } from "#streams/member/roles.ts";

/** Each role in one sentence; the scopes are in src/http/framework/roles.ts. */
export const roleWords: Record<Role, string> = {
  owner: "Does everything, with billing, API keys and the other owners.",
  admin:
    "Sets everything up, decides about drafts and invites people; billing, API keys and owners are left to owners.",
  approver: "Reads conversations and decides about drafts; changes no settings.",
  auditor: "Reads everything, with histories and what was decided; changes nothing.",
};

export const rolesExplained = (): Markup =>
  html`<h2>What the roles may do</h2>
<dl class="roles">${Object.entries(roleWords).map(([role, words]) => html`<dt>${role}</dt><dd>${words}</dd>`)}</dl>
`;
