import { Rejected } from "#streams/decider.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, type ConsoleRoute, consoleForm, consolePage, seeOther } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { deletePage } from "./deletePage.ts";
import { domainList, domainPage } from "./pages.ts";

/** Pages for the domains of a workspace and their DNS records. */
export const domainPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /domains", (context) => domainList(context)),
  consoleForm("POST /domains", add),
  consolePage("GET /domains/:id", (context) => domainPage(deps, context)),
  consoleForm("POST /domains/:id/verify", verify),
  consolePage("GET /domains/:id/delete", async (context) => {
    requireMayWrite(context);
    return deletePage(context);
  }),
  consoleForm("POST /domains/:id/delete", remove),
];

function requireMayWrite({ may, principal }: PageContext): void {
  if (may("write:domains")) return;
  throw new Rejected(
    "insufficient_scope",
    `your role in this workspace (${principal.role}) does not allow you to change domains`,
  );
}

async function add(context: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(context);
  const said = (name: string) => context.form.get(name)?.trim() ?? "";
  const body = { domain_name: said("domain_name"), inbound_subdomain: said("inbound_subdomain") || null };
  let id = "";
  const refused = await context.attempt(async () => {
    ({ id } = await context.ask("POST /v1/domains", { body }));
  });
  return refused ? domainList(context, refused) : seeOther(`/domains/${id}`, "domainAdded");
}

async function verify(context: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = context.params;
  await context.ask("POST /v1/domains/:domain_id/verify", { params: { domain_id: id } });
  return seeOther(`/domains/${id}`, "checkAsked");
}

async function remove(context: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(context);
  const { id = "" } = context.params;
  const refused = await context.attempt(() =>
    context.ask("DELETE /v1/domains/:domain_id", { params: { domain_id: id } }),
  );
  return refused ? deletePage(context, refused) : seeOther("/domains", "deleted");
}
