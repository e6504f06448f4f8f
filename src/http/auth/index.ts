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
  /** The operator's rate for all classes; undefined: the rates of the contract. */
  rate: number | "off" | undefined;
};

/** Routers for the actions of /auth and their pages. */
export function authRouters({ counter, rate, ...parts }: AuthParts): Router[] {
  const options: AuthOptions = {
    ...parts,
    cookie: sessionCookie(parts),
    tokens: formTokens(parts.deps.keyRing.deriveKey("console-forms")),
    limits: createAuthLimits({ counter, rate }),
  };
  return [authRouter(authActions(parts.deps), options), authPages(options)];
}

/** The routes of /auth, for the documentation. */
export const authRoutes = (deps: AuthOptions["deps"]): Route[] => authActions(deps).map(({ route }) => route);
