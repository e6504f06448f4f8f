import express, { type Request, type Router } from "express";
import { findReset } from "#src/commands/users/passwords.ts";
import { findNewEmail } from "#src/commands/users/profile.ts";
import { type SignedIn, signedInBy, workspacesOf } from "#src/commands/users/signIn.ts";
import { findConfirmation } from "#src/commands/users/signUp.ts";
import { answer, type EntryPoint } from "../framework/entryPoint.ts";
import { ownPath } from "../framework/sameOrigin.ts";
import { redirectTo } from "../web/answers.ts";
import type { SessionCookie } from "../web/cookie.ts";
import type { FormTokens } from "../web/formToken.ts";
import type { FormPage, FormState } from "./action.ts";
import { firstPageIn, sessionJson } from "./answers.ts";
import { invitationPage, linkPage, type ShownLinkPage } from "./linkForms.ts";
import * as pages from "./pages.ts";
import { type AuthOptions, pageReply, refusalPage } from "./serve.ts";

/** Notices about the action that led to this page; the URL contains the key. */
const said: Record<string, string> = {
  out: "You are signed out.",
  reset: "Your new password is set. You were signed out everywhere: sign in with the new password.",
  email: "Your new address is set. Sign in with the new address.",
};

/** The sign-in and sign-up pages. Viewing one changes nothing and uses no link. */
export function authPages(options: AuthOptions): Router {
  const { deps } = options;
  const entryPoint: EntryPoint<undefined> = {
    credential: async () => undefined,
    refused: (error, request) => refusalPage(error, request, options),
  };
  const router = express.Router({ caseSensitive: true, strict: true });
  // Only invalid links are counted: a valid link is shown whatever others try from the same address.
  const counting = (request: Request) => () => options.countUnknown(request);
  const at = (path: string, page: (request: Request) => Promise<FormPage | string>) =>
    router.get(path, async (request, response) => {
      await answer({ request, response }, entryPoint, async () => {
        const shown = await page(request);
        return typeof shown === "string" ? redirectTo(shown) : pageReply(shown, options);
      });
    });

  at("/sign-in", async (request) => {
    const next = ownPath(one(request, "next"));
    const who = one(request, "again") === undefined ? await whoIs(request, options) : undefined;
    if (who) return next ?? firstPageIn(await sessionJson(deps, who));
    const done = one(request, "done") ?? "";
    const notice = Object.hasOwn(said, done) ? said[done] : undefined;
    return pages.signIn(pages.empty, { next, said: notice, mayRegister: deps.settings.signUp === "open" });
  });
  at("/sign-up", async (request) => {
    if (one(request, "done") === "mailed") return pages.mailed("sign-up");
    return deps.settings.signUp === "open" ? pages.signUp(pages.empty) : pages.signUpClosed();
  });
  at("/forgot", async (request) =>
    one(request, "done") === "mailed" ? pages.mailed("reset") : pages.forgot(pages.empty),
  );
  const linked = (request: Request, link: ShownLinkPage) => linkPage(tokenOf(request), link, counting(request));
  at("/confirm/:token", (request) =>
    linked(request, { kind: "confirm", find: (token) => findConfirmation(deps, token), shownAs: pages.confirm }),
  );
  at("/reset/:token", (request) =>
    linked(request, { kind: "reset", find: (token) => findReset(deps, token), shownAs: pages.reset }),
  );
  at("/new-email/:token", (request) =>
    linked(request, { kind: "email", find: (token) => findNewEmail(deps, token), shownAs: pages.newEmail }),
  );
  at("/invitation/:token", async (request) => {
    const who = await whoIs(request, options);
    const state: FormState = { ...pages.empty, formToken: formTokenOf(who, options) };
    const shown = { state, token: tokenOf(request), signedInAs: who?.person.email };
    return invitationPage(deps, shown, counting(request));
  });
  at("/workspaces", async (request) => {
    const who = await whoIs(request, options);
    if (!who) return "/sign-in?next=%2Fworkspaces";
    const state: FormState = { ...pages.empty, formToken: formTokenOf(who, options) };
    return pages.workspaces(state, {
      listed: await workspacesOf(deps, who.person.userId),
      shown: who.session.workspaceId,
    });
  });
  return router;
}

/** A query parameter that is given exactly once; undefined otherwise. */
function one({ query }: Request, name: string): string | undefined {
  const given = query[name];
  return typeof given === "string" ? given : undefined;
}

const tokenOf = ({ params }: Request): string => String(params.token).slice(0, 200);

/** The signed-in visitor, if any. Does not rotate the session's token: these pages only read. */
async function whoIs(
  request: Request,
  { deps, cookie }: Pick<AuthOptions, "deps"> & { cookie: SessionCookie },
): Promise<SignedIn | undefined> {
  const token = cookie.read(request);
  const session = token === undefined ? undefined : await deps.accounts.sessions.find(token);
  return session && signedInBy(deps, session);
}

const formTokenOf = (who: SignedIn | undefined, { tokens }: { tokens: FormTokens }): string =>
  who ? tokens.of(who.session.id) : "";
