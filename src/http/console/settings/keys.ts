import { Rejected } from "#streams/decider.ts";
import { allScopes, type KeyScope } from "../../framework/keys/scopes.ts";
import type { Answers } from "../../routes.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { createdKeyPage, keysPage, newKeyPage, revokePage, type ShownKey } from "./keyPages.ts";

/**
 * Pages for API keys: people with the right see them; owners create and revoke them. Each form has its own page, so that the password is
 * asked for before anything is typed.
 */
export const keyRoutes = ({ settings }: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /settings/keys", async (visit) =>
    shown({ title: "API keys", main: keysPage(visit, await keysOf(visit)) }),
  ),

  consolePage("GET /settings/keys/new", async (visit) => formFor(visit), { sensitive: true }),

  consoleForm(
    "POST /settings/keys/new",
    async (visit) => {
      let key: Answers["POST /v1/api-keys"] | undefined;
      const refused = await visit.attempt(async () => {
        key = await visit.ask("POST /v1/api-keys", {
          body: { name: visit.form.get("name") ?? "", scopes: scopesIn(visit) },
        });
      });
      if (!key) return formFor(visit, refused);
      // No redirect: the key is not stored, so only this answer can show it.
      return shown({ title: "The new API key", main: createdKeyPage(key, settings.publicUrl) });
    },
    { sensitive: true },
  ),

  consolePage(
    "GET /settings/keys/:id/revoke",
    async (visit) => shown({ title: "Revoke an API key", main: revokePage(visit, await keyOf(visit)) }),
    { sensitive: true },
  ),

  consoleForm(
    "POST /settings/keys/:id/revoke",
    async (visit) => {
      await visit.ask("DELETE /v1/api-keys/:key_id", { params: { key_id: visit.params.id ?? "" } });
      return seeOther("/settings/keys", "key_revoked");
    },
    { sensitive: true },
  ),
];

/** Returns all keys of the workspace. One request suffices, because a workspace has at most one page of keys. */
const keysOf = async (visit: PageContext): Promise<ShownKey[]> =>
  (await visit.ask("GET /v1/api-keys", { query: { limit: 100 } })).data;

async function keyOf(visit: PageContext): Promise<ShownKey> {
  requireWriter(visit);
  const key = (await keysOf(visit)).find(({ id }) => id === visit.params.id);
  if (!key) throw new Rejected("not_found", "no such resource");
  return key;
}

function formFor(visit: PageContext, refused?: PageRefusal) {
  requireWriter(visit);
  return shown({
    title: "Create an API key",
    status: refused?.status ?? 200,
    main: newKeyPage(visit, refused && { refused, name: visit.form.get("name") ?? "", scopes: chosen(visit) }),
  });
}

/** Throws insufficient_scope before showing a form to people who may not submit it. */
function requireWriter(visit: PageContext): void {
  if (!visit.may("write:keys"))
    throw new Rejected("insufficient_scope", "only an owner may create and revoke API keys");
}

const chosen = ({ form }: PageContext): KeyScope[] | "all" =>
  form.get("access") === "chosen" ? allScopes.filter((scope) => form.getAll("scope").includes(scope)) : "all";

/** The scopes chosen in the form. For full access all scopes are listed by name, because the API gives some of them only if listed. */
function scopesIn(visit: PageContext): readonly KeyScope[] {
  const scopes = chosen(visit);
  if (scopes === "all") return allScopes;
  if (scopes.length > 0) return scopes;
  throw new Rejected("invalid_request", "choose at least one scope", { field: "scope" });
}
