import { expect } from "chai";
import Type from "typebox";
import { createAuthenticate } from "#src/http/framework/keys/authenticate.ts";
import { rememberingKeys } from "#src/http/framework/keys/knownKeys.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import type { KeyPrincipal } from "#src/http/framework/principal.ts";
import { route } from "#src/http/framework/route.ts";
import { keyId, serveRoutes, workspaceId } from "./support.ts";

describe("the cache of API keys", () => {
  const key: KeyPrincipal = { kind: "api_key", id: keyId, workspaceId, name: "busy", scopes: ["read:threads"] };

  /** Caches look-ups in the map `live`; `seen` counts them and sets the time in milliseconds. */
  function lookUps() {
    const live = new Map<string, KeyPrincipal>();
    /** `asleepMs`: how long the machine slept: its date advanced, its monotonic clock did not. */
    const seen = { at: 1_000_000, asleepMs: 0, asked: 0 };
    const findLive = async (hash: string) => {
      seen.asked += 1;
      return live.get(hash);
    };
    const clock = { monotonic: () => seen.at, now: () => new Date(seen.at + seen.asleepMs) };
    return { live, seen, find: rememberingKeys(findLive, clock) };
  }

  it("a cached API key is looked up again one second after its last look-up", async () => {
    const { live, seen, find } = lookUps();
    live.set("hash", key);
    for (let times = 0; times < 10; times++) expect(await find("hash")).to.equal(key);
    seen.at += 999;
    expect(await find("hash")).to.equal(key);
    expect(seen.asked).to.equal(1);
    live.delete("hash");
    seen.at += 1;
    expect(await find("hash")).to.equal(undefined);
    expect(seen.asked).to.equal(2);
  });

  it("a cached API key is looked up again after the machine slept or its date was set back", async () => {
    const { live, seen, find } = lookUps();
    for (const asleepMs of [1_000, -5_000]) {
      live.set("hash", key);
      expect(await find("hash")).to.equal(key);
      live.delete("hash");
      seen.asleepMs += asleepMs;
      expect(await find("hash")).to.equal(undefined);
    }
  });

  it("an unknown API key is not cached: it works as soon as it exists", async () => {
    const { live, seen, find } = lookUps();
    expect(await find("hash")).to.equal(undefined);
    live.set("hash", key);
    expect(await find("hash")).to.equal(key);
    expect(await find("another hash")).to.equal(undefined);
    expect(seen.asked).to.equal(3);
  });

  it("a cached API key is refused as soon as this instance learns of its revocation", async () => {
    const { live, find } = lookUps();
    live.set("hash", key);
    const inFlight = createRequestsInFlight();
    const authenticate = createAuthenticate({ findKey: find, keyHash: () => "hash" });
    let ran = 0;
    const routes = [
      route(
        "GET /v1/toys",
        { scope: "read:threads", limit: "read", summary: "", answers: Type.Unknown() },
        async () => {
          ran += 1;
          return {};
        },
      ),
    ];
    const service = await serveRoutes(routes, { authenticate, inFlight });
    try {
      expect((await service.ask("GET /v1/toys")).status).to.equal(200);
      inFlight.revoke(keyId);
      expect((await service.ask("GET /v1/toys")).status).to.equal(401);
      expect(ran).to.equal(1);
    } finally {
      await service.close(0);
    }
  });
});
