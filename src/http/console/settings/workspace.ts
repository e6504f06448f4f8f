import type { Notice } from "../framework/notices.ts";
import { type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { type ApprovalSwitch, approvalSwitchPage, type ShownWorkspace, workspacePage } from "./workspacePages.ts";

/** Settings of the workspace: its name, required approval, the pause of sending, and its usage. */
export const workspaceSettings = (): ConsoleRoute[] => [
  consolePage("GET /settings/workspace", async (context) => workspaceShown(context)),

  consoleForm("POST /settings/workspace", async (context) => {
    const refused = await change(context, { name: context.form.get("name") ?? "" });
    return refused ? workspaceShown(context, refused) : seeOther("/settings/workspace", "saved");
  }),

  ...tighten.flatMap((each) => switchRoutes({ ...each, loosens: false })),
  // Turning a requirement off asks for the password.
  ...loosen.flatMap((each) => switchRoutes({ ...each, loosens: true }, { sensitive: true })),
];

const tighten: (ApprovalSwitch & { notice: Notice })[] = [
  {
    path: "require-approval",
    patch: { require_human_approval: true },
    title: "Require approval by a person for every reply",
    consequence:
      "Every reply of every identity will then wait until a person has approved it. Approvals by API keys, rules and identities' settings no longer count.",
    button: "Require approval by a person",
    notice: "approval_required",
  },
  {
    path: "require-sign-in",
    patch: { require_named_approvers: true },
    title: "Require a sign-in for decisions by link",
    consequence:
      "Links in approval mails and chats will then lead to the sign-in, and only members of this workspace decide by them. Invite every approver as a member first. Buttons in chats keep deciding: a chat names who presses.",
    button: "Require a sign-in",
    notice: "sign_in_required",
  },
];

const loosen: typeof tighten = [
  {
    path: "waive-approval",
    patch: { require_human_approval: false },
    title: "Let each identity decide",
    consequence:
      "Identities that do not require approval by a person may then have replies approved by API keys, rules or their own settings, so mail can be sent that no person has read.",
    button: "Let each identity decide",
    notice: "approval_waived",
  },
  {
    path: "waive-sign-in",
    patch: { require_named_approvers: false },
    title: "Let links decide without a sign-in",
    consequence:
      "Whoever has an approval mail can then decide by its links again, and the history names the mailbox instead of a member.",
    button: "Let links decide",
    notice: "sign_in_waived",
  },
];

/** The page that asks before a change of who has to approve, and its form. */
const switchRoutes = (
  each: (typeof tighten)[number] & { loosens: boolean },
  options: { sensitive?: true } = {},
): ConsoleRoute[] => [
  consolePage(
    `GET /settings/workspace/${each.path}`,
    async (context) => shown({ title: each.title, main: approvalSwitchPage(context, each) }),
    options,
  ),
  consoleForm(
    `POST /settings/workspace/${each.path}`,
    async (context) => {
      const refused = await change(context, each.patch);
      return refused ? workspaceShown(context, refused) : seeOther("/settings/workspace", each.notice);
    },
    options,
  ),
];

const change = (context: PageContext, body: object): Promise<PageRefusal | undefined> =>
  context.attempt(() => context.ask("PATCH /v1/workspaces/me", { body }));

async function workspaceShown(context: PageContext, refused?: PageRefusal) {
  const workspace: ShownWorkspace = await context.ask("GET /v1/workspaces/me");
  const name = refused && context.form.has("name") ? (context.form.get("name") ?? "") : workspace.name;
  return shown({
    title: "Workspace",
    status: refused?.status ?? 200,
    main: workspacePage(context, workspace, { refused, name }),
  });
}
