import type { RequestHandler, Router } from "express";
import type { Logger } from "pino";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { approvalLists } from "#src/commands/approvals/bundleLists.ts";
import { chatQuestion } from "#src/commands/approvals/chatQuestions.ts";
import { approvalRenewals } from "#src/commands/approvals/renewals.ts";
import { checkoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { recordProcessorEvent } from "#src/commands/billing/customers.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createPostReceiver } from "#src/commands/inbound/postedMail.ts";
import { sendGridReports } from "#src/commands/sends/providerEvents.ts";
import { unsubscribeLinks } from "#src/commands/serviceMail/unsubscribes.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { approvalListPages } from "./approvalPages/listRouter.ts";
import { approvalPages } from "./approvalPages/router.ts";
import { authRouters } from "./auth/index.ts";
import { createAuthLimits } from "./auth/limits.ts";
import { billingPage } from "./billingPage/router.ts";
import { createConsole } from "./console/index.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { peoplesRoutes } from "./drafts/peoplesDecisions.ts";
import type { BodyParser } from "./framework/body/bodyParser.ts";
import { createInProcess } from "./framework/inProcess.ts";
import type { Authenticate, CarriesRevoked } from "./framework/keys/authenticate.ts";
import type { RequestsInFlight } from "./framework/keys/requestsInFlight.ts";
import type { Revocation } from "./framework/keys/revocation.ts";
import type { ForgivingCounter } from "./framework/rateLimits/hitCounter.ts";
import { createNotifyLimit } from "./framework/rateLimits/rateLimits.ts";
import type { UnauthenticatedLimits } from "./framework/rateLimits/unauthenticatedLimits.ts";
import type { Route } from "./framework/route.ts";
import { frontPage } from "./frontPage.ts";
import type { ReadinessCheck } from "./health/health.ts";
import { sendGridEvents } from "./hooks/sendGrid/events.ts";
import { sendGridInbound } from "./hooks/sendGrid/inbound.ts";
import { slackInteractions } from "./hooks/slack/interactions.ts";
import { stripeHook } from "./hooks/stripe.ts";
import { telegramHook } from "./hooks/telegram.ts";
import type { HttpOptions } from "./httpOptions.ts";
import { createCancellations } from "./mcp/cancellations.ts";
import { type McpOptions, mcpRouter } from "./mcp/router.ts";
import { tools } from "./mcp/tools/index.ts";
import { createOutboxAccess } from "./outbox/access.ts";
import { outboxPages } from "./outbox/outbox.ts";
import { unsubscribePages } from "./unsubscribePages/router.ts";
import { consoleAssets } from "./web/assets.ts";
import { sessionCookie } from "./web/cookie.ts";
import type { CountUnknown } from "./web/linkPages.ts";

/** Dependencies of the pages and hooks outside the API. */
export type NonApiRouterOptions = {
  options: HttpOptions;
  deps: HttpDependencies;
  routes: readonly Route[];
  inFlight: RequestsInFlight;
  counter: ForgivingCounter;
  bodies: BodyParser;
  strangers: UnauthenticatedLimits;
  revocation: Pick<Revocation, "upToDate" | "drain">;
  authenticate: Authenticate;
  carriesRevoked: CarriesRevoked;
  limits: McpOptions["limits"];
  readiness: readonly ReadinessCheck[];
};

/** Routers outside /v1: pages behind mailed links, the console, providers' hooks, the front page, the outbox. */
export function nonApiRouters(parts: NonApiRouterOptions): RequestHandler[] {
  const { options, deps, routes, inFlight, counter, bodies, strangers, revocation, readiness } = parts;
  const { logger, publicUrl, outbox } = options;
  const { clock } = deps;
  const cookie = sessionCookie({ publicUrl });
  const assets = consoleAssets();
  const countUnknown: CountUnknown = (request) => strangers.count("bad_link", request);
  const access = createOutboxAccess({
    token: options.outboxToken,
    production: options.production,
    cookieKey: deps.keyRing.deriveKey("outbox-cookie"),
    clock,
    countWrong: (request) => strangers.count("bad_key", request),
  });
  const renewals = {
    ...approvalRenewals(deps),
    nonceKey: deps.keyRing.deriveKey("approval-nonce"),
    clock,
    countNotify: createNotifyLimit({ counter, rates: options.rateLimits }),
  };
  return [
    approvalPages({
      ...approvalDecisions(deps, deps.requireReadable),
      ...renewals,
      next: approvalLists(deps, deps.requireReadable).next,
      countUnknown,
      onError: (error) => logger.error({ err: error }, "approval page failed"),
    }),
    approvalListPages({
      ...approvalLists(deps, deps.requireReadable),
      ...renewals,
      countUnknown,
      onError: (error) => logger.error({ err: error }, "approval page failed"),
    }),
    slackInteractions({
      ...approvalDecisions(deps, deps.requireReadable),
      ...options.slack,
      question: (token) => chatQuestion(deps, token),
      publicUrl,
      clock: deps.clock,
      countUnknown,
      onError: (error) => logger.error({ err: error }, "a button press in Slack could not be answered"),
    }),
    unsubscribePages({
      ...unsubscribeLinks(deps),
      nonceKey: deps.keyRing.deriveKey("stop-nonce"),
      clock: deps.clock,
      countUnknown,
      onError: (error) => logger.error({ err: error }, "stop page failed"),
    }),
    sendGridInbound({
      ...{ ...options.sendGridInbound, take: createPostReceiver(deps, options.sendGridInbound), clock, logger },
      countUnknown,
    }),
    ...authRouters({
      ...{ ...options, assets, deps, counter, inFlight, revocation, countUnknown },
      rate: options.rateLimits.auth,
    }),
    // The console comes before the plans page, because both serve /billing; the plans page is for visitors without a session.
    createConsole({
      deps: { ...deps, limits: createAuthLimits({ counter, rate: options.rateLimits.auth }) },
      ...{
        assets,
        inFlight,
        counter,
        clock,
        logger,
        publicUrl,
        rate: options.rateLimits.console,
        production: options.production,
      },
      upToDate: () => revocation.upToDate(),
      askRoute: createInProcess({
        ...{ ...deps, bodies, checkResponses: options.checkResponses },
        routes: [...routes, ...peoplesRoutes(deps)],
      }),
    }),
    mcpRouter({
      ...{ deps, inFlight, strangers, publicUrl, tools },
      authenticate: parts.authenticate,
      carriesRevoked: parts.carriesRevoked,
      limits: parts.limits,
      cancellations: createCancellations({ database: options.database }),
      upToDate: () => revocation.upToDate(),
      askRoute: createInProcess({ ...deps, routes, bodies, checkResponses: options.checkResponses }),
      onError: (error) => logger.error({ err: error }, "a call of an MCP client failed"),
    }),
    ...billing(deps, { publicUrl, logger, countUnknown }),
    sendGridEvents({
      record: sendGridReports(deps),
      publicKey: options.sendGridEventsKey,
      countUnknown,
      ...{ clock, logger },
    }),
    telegramHook({ ...options.telegram, countForged: countUnknown }),
    frontPage({
      readiness,
      hasOutbox: (request) => outbox !== undefined && access.isOffered(request),
      hasSession: (request) => cookie.read(request) !== undefined,
    }),
    ...(outbox ? [outboxPages({ outbox, access, https: publicUrl.startsWith("https:") })] : []),
  ];
}

/** The plans page, and the payment processor's hook if one is configured. */
function billing(
  deps: Dependencies,
  { publicUrl, logger, countUnknown }: { publicUrl: string; logger: Logger; countUnknown: CountUnknown },
): Router[] {
  const { payments, ids } = deps;
  const causeOf = (id: string) => {
    const callId = ids.uuid();
    return { actor: { kind: "system" as const, id }, correlationId: callId, causationId: callId };
  };
  const page = billingPage({
    plans: () => ({ limits: deps.settings.planLimits ?? planLimits, publicUrl, isConnected: payments !== null }),
    outcome: (sessionId) => checkoutOutcome(deps, sessionId, causeOf("billing page")),
    countUnknown,
    onError: (error) => logger.error({ err: error }, "billing page failed"),
  });
  if (payments === null) return [page];
  const hook = stripeHook({
    payments,
    record: (event) => recordProcessorEvent(deps, event, { ...causeOf("stripe"), workspaceId: null }),
    countForged: countUnknown,
    onError: (error) =>
      logger.error({ err: error }, "an event from Stripe was not recorded; Stripe will send it again"),
  });
  return [page, hook];
}
