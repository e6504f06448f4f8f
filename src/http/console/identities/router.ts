import { randomUUID } from "node:crypto";
import { Rejected } from "#streams/decider.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, type ConsoleRoute, consoleForm, consolePage, seeOther } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
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
  consolePage("GET /identities/:id", (visit) => identityPage(deps, visit)),
  consoleForm("POST /identities/:id", async (visit) =>
    visit.form.get("do") === "preview"
      ? preview(deps, visit)
      : change(visit, "mail", (again) => identityPage(deps, visit, { again })),
  ),
  consolePage("GET /identities/:id/approval", onlyIfMayWrite(approvalPage), sensitive),
  consoleForm(
    "POST /identities/:id/approval",
    (visit) => change(visit, "approval", (again) => approvalPage(visit, again)),
    sensitive,
  ),
  consoleForm("POST /identities/:id/status", setStatus),
  consolePage("GET /identities/:id/delete", onlyIfMayWrite(deletePage), sensitive),
  consoleForm("POST /identities/:id/delete", remove, sensitive),
  consoleForm("POST /identities/:id/test", sendTest),
  consolePage("GET /identities/:id/tests/:task_id", (visit) => testPage(deps, visit)),
];

const sensitive = { sensitive: true } as const;

/** Shows a form only to people who may submit it. */
function onlyIfMayWrite(
  page: (visit: PageContext) => Promise<ConsoleAnswer>,
): (visit: PageContext) => Promise<ConsoleAnswer> {
  return async (visit) => {
    requireMayWrite(visit);
    return page(visit);
  };
}

function requireMayWrite({ may, principal }: PageContext): void {
  if (may("write:identities")) return;
  throw new Rejected(
    "insufficient_scope",
    `your role in this workspace (${principal.role}) does not allow you to change identities`,
  );
}

async function newForm(visit: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(visit);
  return newPage(visit, { form: emptyForm() }, await readWorkspaceContext(visit));
}

async function create(visit: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(visit);
  let id = "";
  const refused = await visit.attempt(async () => {
    ({ id } = await visit.ask("POST /v1/identities", { body: bodyOf(visit.form, "new") }));
  });
  if (!refused) return seeOther(`/identities/${id}`, "created");
  // A corrected form is a new request, with its own id.
  const form = new URLSearchParams(visit.form);
  form.set("once", randomUUID());
  return newPage(visit, { form, refused }, await readWorkspaceContext(visit));
}

/** Sends the changed fields. If another person changed them meanwhile, the form shows that instead of overwriting it. */
async function change(
  visit: PageContext,
  part: FormPart,
  showAgain: (again: RefusedForm) => Promise<ConsoleAnswer>,
): Promise<ConsoleAnswer> {
  requireMayWrite(visit);
  const identity = await identityOf(visit);
  const now = baseOf(identity, part);
  const base = readBase(visit.form) ?? now;
  const changes = changesOf(visit.form, base, part);
  const path = `/identities/${identity.id}`;
  const touched = Object.keys(changes);
  const again = () => mergedForm(identity, part, { typed: visit.form, touched });
  const conflicts = conflictsOf(changes, base, now);
  if (conflicts.length > 0) return showAgain({ form: again(), conflicts });
  if (touched.length === 0) return seeOther(path, "saved");
  const call = { params: { identity_id: identity.id }, body: changes };
  const refused = await visit.attempt(() => visit.ask("PATCH /v1/identities/:identity_id", call));
  return refused ? showAgain({ form: again(), refused }) : seeOther(path, "saved");
}

/** Shows the sanitised signature without saving it. */
async function preview(deps: ConsoleDependencies, visit: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(visit);
  let made: Awaited<ReturnType<typeof signaturePreview>> | undefined;
  const refused = await visit.attempt(async () => {
    made = await signaturePreview(deps, visit.principal.workspaceId, visit.form.get("signature_html") ?? "");
  });
  const identity = await identityOf(visit);
  const touched = Object.keys(changesOf(visit.form, readBase(visit.form) ?? baseOf(identity, "mail"), "mail"));
  const form = mergedForm(identity, "mail", { typed: visit.form, touched });
  const again = { form, ...(refused && { refused }) };
  return identityPage(deps, visit, { again, ...(made && { preview: made }) });
}

async function setStatus(visit: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = visit.params;
  const status = visit.form.get("status");
  await visit.ask("PATCH /v1/identities/:identity_id", { params: { identity_id: id }, body: { status } });
  return seeOther(`/identities/${id}`, status === "active" ? "identityEnabled" : "identityDisabled");
}

async function remove(visit: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = visit.params;
  const refused = await visit.attempt(() =>
    visit.ask("DELETE /v1/identities/:identity_id", { params: { identity_id: id } }),
  );
  return refused ? deletePage(visit, refused) : seeOther("/identities", "deleted");
}

async function sendTest(visit: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = visit.params;
  const channel = visit.form.get("channel") === "secondary" ? "secondary" : "primary";
  const { task_id } = await visit.ask("POST /v1/identities/:id/test-notification", {
    params: { id },
    body: { channel },
  });
  return seeOther(`/identities/${id}/tests/${task_id}?channel=${channel}`);
}
