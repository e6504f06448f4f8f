import { randomUUID } from "node:crypto";
import { httpDependencies } from "#src/http/dependencies.ts";
import { peoplesRoutes } from "#src/http/drafts/peoplesDecisions.ts";
import { createBodyParser } from "#src/http/framework/body/bodyParser.ts";
import { errorReply } from "#src/http/framework/errors.ts";
import { createInProcess, type RouteCall } from "#src/http/framework/inProcess.ts";
import type { SessionPrincipal } from "#src/http/framework/principal.ts";
import type { Reply } from "#src/http/framework/reply.ts";
import { scopesOf } from "#src/http/framework/roles.ts";
import type { Route, RouteLine } from "#src/http/framework/route.ts";
import { allRoutes } from "#src/http/routes.ts";
import { systemClock } from "#src/platform/clock.ts";
import type { Role } from "#streams/member/roles.ts";
import type { InProcess } from "#test/support/inProcess.ts";

export const roles: readonly Role[] = ["owner", "admin", "approver", "auditor"];

/** A route's answer to a person: as over HTTP, but without the bytes of files. */
export type RouteAnswer = { status: number; json: any };

export type AskAs = (principal: SessionPrincipal, line: RouteLine, call?: RouteCall) => Promise<RouteAnswer>;

/** Calls the routes of a service as its pages do. The people need not be members: only their role is checked. */
export function askingAs(service: InProcess): { routes: Route[]; askAs: AskAs; close(): Promise<void> } {
  const closing = new AbortController();
  const deps = httpDependencies(service.deps, {
    database: service.database,
    revocation: { drain: async () => true, upToDate: async () => {} },
    webhookDeliveries: service.webhookDeliveries,
    closing: closing.signal,
  });
  const bodies = createBodyParser();
  const routes = [...allRoutes(deps), ...peoplesRoutes(deps)];
  const ask = createInProcess({ routes, bodies, requireReadable: () => {}, checkResponses: true, clock: systemClock });
  const askAs: AskAs = async (principal, line, call = {}) => {
    const behalf = { principal, request: asked(), signal: new AbortController().signal, again: async () => undefined };
    const reply = await ask(line, call, behalf).catch((error) => errorReply(error, { requestId: "" }));
    return told(reply);
  };
  return {
    routes,
    askAs,
    async close() {
      closing.abort();
      await bodies.close();
    },
  };
}

/** A request whose content does not matter. */
const asked = () => ({ id: "test", ip: "127.0.0.1", headers: {} }) as never;

function told({ status = 200, content }: Reply): RouteAnswer {
  if ("json" in content) return { status, json: JSON.parse(JSON.stringify(content.json)) };
  if ("stream" in content) (content.stream as { destroy?(): void }).destroy?.();
  return { status, json: undefined };
}

/** Makes a person with this role in this workspace who has just entered the password. */
export const personOf = (workspaceId: string, role: Role): SessionPrincipal => ({
  kind: "session",
  id: randomUUID(),
  workspaceId,
  name: `The ${role}`,
  scopes: scopesOf(role),
  user: { id: randomUUID(), email: `${role}@people.example`, name: `The ${role}` },
  memberId: randomUUID(),
  role,
  passwordAt: new Date(),
});
