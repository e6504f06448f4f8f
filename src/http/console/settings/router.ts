import { html, type Markup } from "#src/html/html.ts";
import type { Scope } from "../../framework/keys/scopes.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consolePage, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { billingRoutes } from "./billing.ts";
import { confirmRoutes } from "./confirm.ts";
import { keyRoutes } from "./keys.ts";
import { sessionRoutes } from "./sessions.ts";
import { workspaceSettings } from "./workspace.ts";

/** /settings and the pages below it, except members and profile; and the workspace's billing. */
export const settingsPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /settings", async (context) => shown({ title: "Settings", main: overview(context) })),
  ...keyRoutes(deps),
  ...workspaceSettings(),
  ...sessionRoutes(deps),
  ...confirmRoutes(deps),
  ...billingRoutes(deps),
];

/** `scope`: the link is shown only to people who have it. */
type SettingsLink = { path: string; name: string; about: string; scope?: Scope };

const ofWorkspace: readonly SettingsLink[] = [
  { path: "/settings/members", name: "Members", about: "People, their roles, and invitations." },
  {
    path: "/settings/keys",
    name: "API keys",
    about: "Agents and other programs use them to call the API. Revoking a key stops its agent.",
    scope: "read:keys",
  },
  {
    path: "/settings/workspace",
    name: "Workspace",
    about: "Its name, required approval, and the pause of all sending.",
    scope: "read:workspace",
  },
  {
    path: "/billing",
    name: "Plan and billing",
    about: "Your plan, its usage, payment and invoices.",
    scope: "read:billing",
  },
];

const own: readonly SettingsLink[] = [
  {
    path: "/settings/profile",
    name: "Your profile",
    about: "Your name, address, password, and mail about drafts and signed heads.",
  },
  { path: "/settings/sessions", name: "Where you are signed in", about: "Devices you are signed in on." },
  { path: "/workspaces", name: "Your workspaces", about: "Open another workspace, or create one." },
];

const overview = ({ may }: Pick<PageContext, "may">): Markup => html`<h1>Settings</h1>
<section><h2>This workspace</h2>${listOf(ofWorkspace.filter(({ scope }) => scope === undefined || may(scope)))}</section>
<section><h2>You</h2>${listOf(own)}</section>`;

function listOf(parts: readonly SettingsLink[]): Markup {
  return html`<ul class="plain parts">${parts.map(
    ({ path, name, about }) =>
      html`<li><a class="press" href="${path}">${name}</a> <span class="soft">${about}</span></li>`,
  )}</ul>`;
}
