import type { Static } from "typebox";
import { button, choice, errorAt, errorSummary, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { type Role, roles } from "#streams/member/roles.ts";
import type { Member } from "../../schemas/members.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { rolesExplained, roleWords } from "./roleWords.ts";

/** A member as GET /v1/members answers it. */
export type ShownMember = Static<typeof Member>;

/** The part of the page context that these pages need. */
type Viewer = Pick<PageContext, "principal" | "formToken" | "zone" | "may">;

const nameOf = ({ name, email }: Pick<ShownMember, "name" | "email">): string => shortLine(name ?? email, 120);

/** Roles that the viewer may give: only owners make owners. */
const givable = ({ principal }: Viewer): readonly Role[] =>
  principal.role === "owner" ? roles : roles.filter((role) => role !== "owner");

/** True if the viewer may change or remove this member. The route checks it again. */
export const mayChange = (viewer: Viewer, member: Pick<ShownMember, "role">): boolean =>
  viewer.may("write:members") && (viewer.principal.role === "owner" || member.role !== "owner");

const isOnlyOwner = (member: ShownMember, all: readonly ShownMember[]): boolean =>
  member.role === "owner" &&
  member.status === "active" &&
  all.filter(({ role, status }) => role === "owner" && status === "active").length === 1;

/** All members and invitations; `now`: ISO 8601. */
export function membersPage(
  viewer: Viewer,
  { members, now, refused }: { members: readonly ShownMember[]; now: string; refused?: PageRefusal | undefined },
): Markup {
  const self = members.find(({ id }) => id === viewer.principal.memberId);
  const canChange = viewer.may("write:members");
  return html`<h1>Members</h1>
${errorSummary(refused)}${
  canChange &&
  html`<p><a class="button approve" href="/settings/members/invite">Invite a member</a></p>
`
}<div class="scroll"><table>
<thead><tr><th scope="col">Who</th><th scope="col">Role</th><th scope="col">Since</th>${canChange && html`<th scope="col">Change</th>`}</tr></thead>
<tbody>${members.map((member) => memberRow(viewer, { member, now }))}</tbody>
</table></div>
${rolesExplained()}${leaving(viewer, self !== undefined && isOnlyOwner(self, members))}`;
}

function memberRow(viewer: Viewer, { member, now }: { member: ShownMember; now: string }): Markup {
  const { id, email, name, role } = member;
  const isSelf = id === viewer.principal.memberId;
  const change = mayChange(viewer, member)
    ? html`<a href="/settings/members/${id}">Change<span class="unseen"> ${nameOf(member)}</span></a>`
    : "";
  return html`<tr><th scope="row"><bdi>${shortLine(name ?? email, 120)}</bdi>${isSelf && " (you)"}${
    name !== null && html`<br><span class="soft"><bdi>${shortLine(email, 254)}</bdi></span>`
  }</th><td>${role}</td><td>${since(viewer, { member, now })}</td>${viewer.may("write:members") && html`<td>${change}</td>`}</tr>
`;
}

function since(viewer: Viewer, { member, now }: { member: ShownMember; now: string }): MarkupValue {
  const { status, created_at: at, expires_at: until, invited_by: by } = member;
  if (status === "active") return when(viewer, at);
  const who = by?.name ? html` by <bdi>${shortLine(by.name, 80)}</bdi>` : "";
  const isOver = until !== null && until <= now;
  const end = isOver ? html`the invitation ended ${when(viewer, until)}` : html`good until ${when(viewer, until)}`;
  return html`Invited ${when(viewer, at)}${who}; ${end}`;
}

/** For people who may not see other members: their own membership. */
export const ownMembership = (viewer: Viewer, refused?: PageRefusal): Markup =>
  html`<h1>Members</h1>
${errorSummary(refused)}<p>You are an ${viewer.principal.role} of this workspace. ${roleWords[viewer.principal.role]} Only owners, admins and auditors can see the other members.</p>
${leaving(viewer, false)}`;

const leaving = (viewer: Viewer, onlyOwner: boolean): Markup =>
  html`<h2>Leave this workspace</h2>
${
  onlyOwner
    ? html`<p>You are the only owner, and a workspace needs one. Make another member an owner first.</p>
`
    : html`<p>You will no longer have access to this workspace. To come back, you need a new invitation.</p>
${form(viewer, { action: "/settings/members/leave" }, button("Leave the workspace", { kind: "danger" }))}`
}`;

/** The form to invite a person. `once`: see form. */
export function invitePage(
  viewer: Viewer,
  { given, refused, once }: { given: URLSearchParams; refused?: PageRefusal | undefined; once: string },
): Markup {
  return html`<h1>Invite a member</h1>
<p>They get a mail with a link. It works once, for 7 days, and only for that address. Every owner is notified when they join.</p>
${withErrorSummary(
  refused,
  form(
    viewer,
    { action: "/settings/members/invite", once },
    field({
      ...{ name: "email", label: "Address", type: "email", autocomplete: "off", required: true },
      ...{ value: given.get("email"), error: errorAt(refused, "email") },
    }),
    roleField(viewer, { value: given.get("role") ?? "approver", error: errorAt(refused, "role") }),
    html`<div class="buttons">${button("Send the invitation", { kind: "approve" })}<a href="/settings/members">Back</a></div>`,
  ),
)}${rolesExplained()}`;
}

/** The form to change one member or invitation. */
export function changePage(
  viewer: Viewer,
  { member, refused }: { member: ShownMember; refused?: PageRefusal | undefined },
): Markup {
  const { id, email, role, status } = member;
  const path = `/settings/members/${id}`;
  const invited = status === "invited";
  return html`<h1><bdi>${nameOf(member)}</bdi></h1>
<p>${invited ? "Invited" : "A member"} as ${role}${member.name !== null && html`, under the address <bdi>${shortLine(email, 254)}</bdi>`}.</p>
${withErrorSummary(
  refused,
  html`<h2>Role</h2>
<p>${invited ? "The person gets the role that is set here when they accept." : "A new role takes effect immediately, also in pages that they have open."}</p>
${form(viewer, { action: `${path}/role` }, roleField(viewer, { value: role, error: errorAt(refused, "role") }), button("Change the role"))}`,
)}${
  invited &&
  html`<h2>The invitation</h2>
<p>The new mail has a new link, which works for 7 days. The previous link stops working.</p>
${form(viewer, { action: `${path}/resend` }, button("Send it again"))}`
}<h2>${invited ? "Withdraw" : "Remove"}</h2>
<p>${invited ? "The link in the mail stops working." : "They will no longer have access to this workspace. Their decisions stay in the histories."}</p>
${form(viewer, { action: `${path}/remove` }, button(invited ? "Withdraw the invitation" : "Remove from the workspace", { kind: "danger" }))}<p><a href="/settings/members">Back</a></p>
${rolesExplained()}`;
}

const roleField = (viewer: Viewer, { value, error }: { value: string; error: string | undefined }): Markup =>
  choice({
    ...{ name: "role", label: "Role", value, error, required: true },
    choices: givable(viewer).map((role) => ({ value: role, label: role })),
  });
