import { randomUUID } from "node:crypto";
import Type from "typebox";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { createRevocation } from "#src/http/framework/keys/revocation.ts";
import { route } from "#src/http/framework/route.ts";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { barrier, serveRoutes } from "./support.ts";

/** One instance in a separate process, for a test that suspends it. Prints its URL and serves until it is killed. */
const database = connectDatabase({ serviceUrl: process.env.SERVICE_URL!, ownerUrl: process.env.SERVICE_URL! });
const inFlight = createRequestsInFlight();
const revocation = createRevocation({ database, instanceId: randomUUID(), inFlight, clock: systemClock });
const gate = barrier();
const common = { limit: "write", summary: "", answers: Type.Unknown() } as const;

await revocation.start();
const { url } = await serveRoutes(
  [
    route("GET /v1/parked", { ...common, scope: "read:threads" }, async () => {
      console.log("entered");
      await gate.opened;
      return "done";
    }),
    route("GET /v1/quick", { ...common, scope: "read:threads" }, async () => "quick"),
    route("POST /v1/gate", { ...common, scope: null }, async () => gate.open() ?? "open"),
    route("DELETE /v1/keys/:id", { ...common, scope: "write:keys" }, async ({ params, callId }) =>
      revocation.drain(params.id, { exclude: callId }),
    ),
  ],
  { inFlight, upToDate: revocation.upToDate },
);
console.log(url);
