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
  consolePage("GET /settings/keys", async (context) =>
    shown({ title: "API keys", main: keysPage(context, await keysOf(context)) }),
  ),

  consolePage("GET /settings/keys/new", async (context) => formFor(context), { sensitive: true }),

  consoleForm(
    "POST /settings/keys/new",
    async (context) => {
      let key: Answers["POST /v1/api-keys"] | undefined;
      const refused = await context.attempt(async () => {
        key = await context.ask("POST /v1/api-keys", {
          body: { name: context.form.get("name") ?? "", scopes: scopesIn(context) },
        });
      });
      if (!key) return formFor(context, refused);
      // No redirect: the key is not stored, so only this answer can show it.
      return shown({ title: "The new API key", main: createdKeyPage(key, settings.publicUrl) });
    },
    { sensitive: true },
  ),

  consolePage(
    "GET /settings/keys/:id/revoke",
    async (context) => shown({ title: "Revoke an API key", main: revokePage(context, await keyOf(context)) }),
    { sensitive: true },
  ),

  consoleForm(
    "POST /settings/keys/:id/revoke",
    async (context) => {
      await context.ask("DELETE /v1/api-keys/:key_id", { params: { key_id: context.params.id ?? "" } });
      return seeOther("/settings/keys", "key_revoked");
    },
    { sensitive: true },
  ),
];

/** Returns all keys of the workspace. One request suffices, because a workspace has at most one page of keys. */
const keysOf = async (context: PageContext): Promise<ShownKey[]> =>
  (await context.ask("GET /v1/api-keys", { query: { limit: 100 } })).data;

async function keyOf(context: PageContext): Promise<ShownKey> {
  requireWriter(context);
  const key = (await keysOf(context)).find(({ id }) => id === context.params.id);
  if (!key) throw new Rejected("not_found", "no such resource");
  return key;
}

function formFor(context: PageContext, refused?: PageRefusal) {
  requireWriter(context);
  return shown({
    title: "Create an API key",
    status: refused?.status ?? 200,
    main: newKeyPage(context, refused && { refused, name: context.form.get("name") ?? "", scopes: chosen(context) }),
  });
}

/** Throws insufficient_scope before showing a form to people who may not submit it. */
function requireWriter(context: PageContext): void {
  if (!context.may("write:keys"))
    throw new Rejected("insufficient_scope", "only an owner may create and revoke API keys");
}

const chosen = ({ form }: PageContext): KeyScope[] | "all" =>
  form.get("access") === "chosen" ? allScopes.filter((scope) => form.getAll("scope").includes(scope)) : "all";

/** The scopes chosen in the form. For full access all scopes are listed by name, because the API gives some of them only if listed. */
function scopesIn(context: PageContext): readonly KeyScope[] {
  const scopes = chosen(context);
  if (scopes === "all") return allScopes;
  if (scopes.length > 0) return scopes;
  throw new Rejected("invalid_request", "choose at least one scope", { field: "scope" });
}
