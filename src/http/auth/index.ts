import type { Router } from "express";
import type { ForgivingCounter } from "../framework/rateLimits/hitCounter.ts";
import type { Route } from "../framework/route.ts";
import { sessionCookie } from "../web/cookie.ts";
import { formTokens } from "../web/formToken.ts";
import { authActions } from "./actions.ts";
import { createAuthLimits } from "./limits.ts";
import { authPages } from "./pageRouter.ts";
import { type AuthOptions, authRouter } from "./serve.ts";

export type AuthParts = Omit<AuthOptions, "cookie" | "tokens" | "limits"> & {
  counter: ForgivingCounter;
  /** The operator's own number for all of them; undefined: the contract's. */
  rate: number | "off" | undefined;
};

/** How people come in: what /auth does, and the pages in front of it. */
export function authDoors({ counter, rate, ...parts }: AuthParts): Router[] {
  const options: AuthOptions = {
    ...parts,
    cookie: sessionCookie(parts),
    tokens: formTokens(parts.deps.keyRing.deriveKey("console-forms")),
    limits: createAuthLimits({ counter, rate }),
  };
  return [authRouter(authActions(parts.deps), options), authPages(options)];
}

/** What the documents tell of /auth. */
export const authRoutes = (deps: AuthOptions["deps"]): Route[] => authActions(deps).map(({ route }) => route);
