import { Rejected } from "#streams/decider.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, type ConsoleRoute, consoleForm, consolePage, seeOther } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { deletePage } from "./deletePage.ts";
import { domainList, domainPage } from "./pages.ts";

/** Pages for the domains of a workspace and their DNS records. */
export const domainPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /domains", (visit) => domainList(visit)),
  consoleForm("POST /domains", add),
  consolePage("GET /domains/:id", (visit) => domainPage(deps, visit)),
  consoleForm("POST /domains/:id/verify", verify),
  consolePage("GET /domains/:id/delete", async (visit) => {
    requireMayWrite(visit);
    return deletePage(visit);
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

async function add(visit: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(visit);
  const said = (name: string) => visit.form.get(name)?.trim() ?? "";
  const body = { domain_name: said("domain_name"), inbound_subdomain: said("inbound_subdomain") || null };
  let id = "";
  const refused = await visit.attempt(async () => {
    ({ id } = await visit.ask("POST /v1/domains", { body }));
  });
  return refused ? domainList(visit, refused) : seeOther(`/domains/${id}`, "domainAdded");
}

async function verify(visit: PageContext): Promise<ConsoleAnswer> {
  const { id = "" } = visit.params;
  await visit.ask("POST /v1/domains/:domain_id/verify", { params: { domain_id: id } });
  return seeOther(`/domains/${id}`, "checkAsked");
}

async function remove(visit: PageContext): Promise<ConsoleAnswer> {
  requireMayWrite(visit);
  const { id = "" } = visit.params;
  const refused = await visit.attempt(() => visit.ask("DELETE /v1/domains/:domain_id", { params: { domain_id: id } }));
  return refused ? deletePage(visit, refused) : seeOther("/domains", "deleted");
}
