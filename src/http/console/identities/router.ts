import { randomUUID } from "node:crypto";
import { Rejected } from "#streams/decider.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, type ConsoleRoute, consoleForm, consolePage, seeOther } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { writeChannel } from "./channelFields.ts";
import { deletePage } from "./deletePage.ts";
import type { FormPart } from "./fields.ts";
import { mergedForm, newPage, type RefusedForm } from "./formPages.ts";
import { approvalPage, identityOf, identityPage } from "./identityPage.ts";
import { identityList } from "./listPage.ts";
import { baseOf, bodyOf, changesOf, conflictsOf, emptyForm, readBase } from "./readForm.ts";
import { signaturePreview } from "./signature.ts";
import { testPage } from "./testPage.ts";
import { readWorkspaceContext } from "./workspaceContext.ts";

/** Pages for identities and their channels. Changes of approvals require the password again. */
export const identityPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /identities", identityList),
  consolePage("GET /identities/new", newForm, sensitive),
  consoleForm("POST /identities/new", create, { ...sensitive, once: true }),
  consolePage("GET /identities/:id", (context) => identityPage(deps, context)),
  consoleForm("POST /identities/:id", async (context) =>
    context.form.get("do") === "preview"
      ? preview(deps, context)
      : change(context, "mail", (again) => identityPage(deps, context, { again })),
  ),
  consolePage("GET /identities/:id/approval", onlyIfMayWrite(approvalPage), sensitive),
  consoleForm(
    "POST /identities/:id/approval",
    (context) => change(context, "approval", (again) => approvalPage(context, again)),
    sensitive,
  ),
  consoleForm("POST /identities/:id/status", setStatus),
  consolePage("GET /identities/:id/delete", onlyIfMayWrite(deletePage), sensitive),
  consoleForm("POST /identities/:id/delete", remove, sensitive),
  consoleForm("POST /identities/:id/test", sendTest),
  consolePage("GET /identities/:id/tests/:task_id", (context) => testPage(deps, context)),
];

const sensitive = { sensitive: true } as const;

/** Shows a form only to people who may submit it. */
function onlyIfMayWrite(
  page: (context: PageContext) => Promise<ConsoleAnswer>,
): (context: PageContext) => Promise<ConsoleAnswer> {
  return async (context) => {
    requireMayWrite(context);
    return page(context);
  };
}

function requireMayWrite({ may, principal }: PageContext): void {
  if (may("write:identities")) return;
  throw new Rejected(
    "insufficient_scope",
    `your role in this workspace (${principal.role}) does not allow you to change identities`,
  );
}

async function newForm(context: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(context);
  const form = emptyForm();
  // Whoever sets up an identity is asked, until they name another approver.
  writeChannel(form, "approval_channel", { type: "email", config: { to: context.principal.user.email } });
  return newPage(context, { form }, await readWorkspaceContext(context));
}

async function create(context: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(context);
  let id = "";
  const refused = await context.attempt(async () => {
    ({ id } = await context.ask("POST /v1/identities", { body: bodyOf(context.form, "new") }));
  });
  if (!refused) return seeOther(`/identities/${id}`, "created");
  // A corrected form is a new request, with its own id.
  const form = new URLSearchParams(context.form);
  form.set("once", randomUUID());
  return newPage(context, { form, refused }, await readWorkspaceContext(context));
}

/** Sends the changed fields. If another person changed them meanwhile, the form shows that instead of overwriting it. */
async function change(
  context: PageContext,
  part: FormPart,
  showAgain: (again: RefusedForm) => Promise<ConsoleAnswer>,
): Promise<ConsoleAnswer> {
  requireMayWrite(context);
  const identity = await identityOf(context);
  const now = baseOf(identity, part);
  const base = readBase(context.form) ?? now;
  const changes = changesOf(context.form, base, part);
  const path = `/identities/${identity.id}`;
  const touched = Object.keys(changes);
  const again = () => mergedForm(identity, part, { typed: context.form, touched });
  const conflicts = conflictsOf(changes, base, now);
  if (conflicts.length > 0) return showAgain({ form: again(), conflicts });
  if (touched.length === 0) return seeOther(path, "saved");
  const call = { params: { identity_id: identity.id }, body: changes };
  const refused = await context.attempt(() => context.ask("PATCH /v1/identities/:identity_id", call));
  return refused ? showAgain({ form: again(), refused }) : seeOther(path, "saved");
}

/** Shows the sanitised signature without saving it. */
async function preview(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(context);
  let made: Awaited<ReturnType<typeof signaturePreview>> | undefined;
  const refused = await context.attempt(async () => {
    made = await signaturePreview(deps, context.principal.workspaceId, context.form.get("signature_html") ?? "");
  });
  const identity = await identityOf(context);
  const touched = Object.keys(changesOf(context.form, readBase(context.form) ?? baseOf(identity, "mail"), "mail"));
  const form = mergedForm(identity, "mail", { typed: context.form, touched });
  const again = { form, ...(refused && { refused }) };
  return identityPage(deps, context, { again, ...(made && { preview: made }) });
}

async function setStatus(context: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = context.params;
  const status = context.form.get("status");
  await context.ask("PATCH /v1/identities/:identity_id", { params: { identity_id: id }, body: { status } });
  return seeOther(`/identities/${id}`, status === "active" ? "identityEnabled" : "identityDisabled");
}

async function remove(context: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = context.params;
  const refused = await context.attempt(() =>
    context.ask("DELETE /v1/identities/:identity_id", { params: { identity_id: id } }),
  );
  return refused ? deletePage(context, refused) : seeOther("/identities", "deleted");
}

async function sendTest(context: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = context.params;
  const channel = context.form.get("channel") === "secondary" ? "secondary" : "primary";
  const { task_id } = await context.ask("POST /v1/identities/:id/test-notification", {
    params: { id },
    body: { channel },
  });
  return seeOther(`/identities/${id}/tests/${task_id}?channel=${channel}`);
}
