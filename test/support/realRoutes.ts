import type { Express } from "express";
import { pino } from "pino";
import { createApp } from "#src/http/app.ts";
import type { HttpDependencies } from "#src/http/dependencies.ts";
import { introduction } from "#src/http/docs/introduction.ts";
import { unauthorized } from "#src/http/framework/keys/authenticate.ts";
import { type Document, openApi } from "#src/http/framework/openapi/openapi.ts";
import type { Route } from "#src/http/framework/route.ts";
import { allRoutes } from "#src/http/routes.ts";

/** Placeholder for every dependency: no route is called here. */
const nobody: any = new Proxy(() => nobody, { get: (_, name) => (name === "then" ? undefined : nobody) });

/** Every route of the service, as declared. */
export const realRoutes = (): Route[] => allRoutes(nobody as HttpDependencies);

const info = () => ({
  title: "Countersign",
  version: "1",
  description: introduction(),
  serverUrl: "http://localhost:8080",
});

export const realDocument = (): Document => openApi(realRoutes(), info(), { idempotency: true, limits: true });

/** Returns the lines of the API that express itself has mounted, spelled as in the document. */
export function mountedRoutes(): string[] {
  const app: Express = createApp({
    routes: realRoutes(),
    info: info(),
    logger: pino({ level: "silent" }),
    authenticate: async () => {
      throw unauthorized();
    },
  });
  const lines = app.router.stack.flatMap(({ route }) =>
    route ? route.stack.map(({ method }) => `${method.toUpperCase()} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`) : [],
  );
  return lines.filter((line) => / \/(v1|audit|\.well-known)\//.test(line));
}
