import type { Clock } from "#src/platform/clock.ts";
import { sessionCookie } from "../web/cookie.ts";
import { formTokens } from "../web/formToken.ts";
import { principalOf } from "../web/sessionPrincipal.ts";
import { auditPages } from "./audit/router.ts";
import { componentPages } from "./components/router.ts";
import type { ConsoleDependencies } from "./dependencies.ts";
import { domainPages } from "./domains/router.ts";
import { draftPages } from "./drafts/router.ts";
import type { ConsoleRoute } from "./framework/page.ts";
import { type ConsoleOptions, consoleRouter } from "./framework/serve.ts";
import { identityPages } from "./identities/router.ts";
import { livePages } from "./live/router.ts";
import { memberPages } from "./members/router.ts";
import { profilePages } from "./profile/router.ts";
import { reviewPages } from "./review/router.ts";
import { settingsPages } from "./settings/router.ts";
import { threadPages } from "./threads/router.ts";

/** All pages and forms of the console. */
export const consolePages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  ...auditPages(deps),
  ...domainPages(deps),
  ...draftPages(deps),
  ...identityPages(deps),
  ...livePages(deps),
  ...memberPages(deps),
  ...profilePages(),
  ...reviewPages(deps),
  ...settingsPages(deps),
  ...threadPages(deps),
];

export type ConsoleParts = Pick<
  ConsoleOptions,
  "askRoute" | "assets" | "inFlight" | "upToDate" | "counter" | "rate" | "logger" | "publicUrl"
> & {
  deps: ConsoleDependencies;
  clock: Clock;
  /** False: the pages for development are served too. */
  production: boolean;
};

/** Pages that help to build pages: not served in production. */
export const developmentPages = (): ConsoleRoute[] => componentPages();

/** Router of the pages for signed-in people: /review, /threads, … Visitors without a session are redirected to /sign-in. */
export const createConsole = (parts: ConsoleParts, pages = consolePages(parts.deps)) =>
  consoleRouter(parts.production ? pages : [...pages, ...developmentPages()], {
    ...parts,
    principalOf: principalOf(parts.deps),
    cookie: sessionCookie(parts),
    tokens: formTokens(parts.deps.keyRing.deriveKey("console-forms")),
  });
