import { type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import {
  requireApprovalPage,
  requireSignInPage,
  type ShownWorkspace,
  waivePage,
  waiveSignInPage,
  workspacePage,
} from "./workspacePages.ts";

/** Settings of the workspace: its name, required approval, the pause of sending, and its usage. */
export const workspaceSettings = (): ConsoleRoute[] => [
  consolePage("GET /settings/workspace", async (visit) => workspaceShown(visit)),

  consoleForm("POST /settings/workspace", async (visit) => {
    const refused = await change(visit, { name: visit.form.get("name") ?? "" });
    return refused ? workspaceShown(visit, refused) : seeOther("/settings/workspace", "saved");
  }),

  consolePage("GET /settings/workspace/require-approval", async (visit) =>
    shown({ title: "Require approval by a person for every reply", main: requireApprovalPage(visit) }),
  ),

  consoleForm("POST /settings/workspace/require-approval", async (visit) => {
    const refused = await change(visit, { require_human_approval: true });
    return refused ? workspaceShown(visit, refused) : seeOther("/settings/workspace", "approval_required");
  }),

  consolePage(
    "GET /settings/workspace/waive-approval",
    async (visit) => shown({ title: "Let each identity decide", main: waivePage(visit) }),
    { sensitive: true },
  ),

  consoleForm(
    "POST /settings/workspace/waive-approval",
    async (visit) => {
      const refused = await change(visit, { require_human_approval: false });
      return refused ? workspaceShown(visit, refused) : seeOther("/settings/workspace", "approval_waived");
    },
    { sensitive: true },
  ),
  ...namedApprovers(),
];

/** Pages that turn named approvers on and off; the latter asks for the password. */
const namedApprovers = (): ConsoleRoute[] => [
  consolePage("GET /settings/workspace/require-sign-in", async (visit) =>
    shown({ title: "Require a sign-in for decisions by link", main: requireSignInPage(visit) }),
  ),
  consoleForm("POST /settings/workspace/require-sign-in", async (visit) => {
    const refused = await change(visit, { require_named_approvers: true });
    return refused ? workspaceShown(visit, refused) : seeOther("/settings/workspace", "sign_in_required");
  }),
  consolePage(
    "GET /settings/workspace/waive-sign-in",
    async (visit) => shown({ title: "Let links decide without a sign-in", main: waiveSignInPage(visit) }),
    { sensitive: true },
  ),
  consoleForm(
    "POST /settings/workspace/waive-sign-in",
    async (visit) => {
      const refused = await change(visit, { require_named_approvers: false });
      return refused ? workspaceShown(visit, refused) : seeOther("/settings/workspace", "sign_in_waived");
    },
    { sensitive: true },
  ),
];

const change = (visit: PageContext, body: object): Promise<PageRefusal | undefined> =>
  visit.attempt(() => visit.ask("PATCH /v1/workspaces/me", { body }));

async function workspaceShown(visit: PageContext, refused?: PageRefusal) {
  const workspace: ShownWorkspace = await visit.ask("GET /v1/workspaces/me");
  const name = refused && visit.form.has("name") ? (visit.form.get("name") ?? "") : workspace.name;
  return shown({
    title: "Workspace",
    status: refused?.status ?? 200,
    main: workspacePage(visit, workspace, { refused, name }),
  });
}
