import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import express from "express";
import { billingPage } from "#src/http/billingPage/router.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";

describe("strangers who ask for checkouts", () => {
  let server: Server;
  let asked = 0;
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  before(async () => {
    const page = billingPage({
      plans: () => ({ limits: planLimits, publicUrl: "https://x.example", isConnected: true }),
      async outcome() {
        asked++;
        await answered;
        return { kind: "open" };
      },
      countUnknown: async () => {},
      onError: () => {},
    });
    server = createServer(express().use(page));
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it("all at once, take no more than a few questions to the payment processor; the others are told to come again", async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/billing`;
    let refused = 0;
    const calls = Array.from({ length: 50 }, async (_, n) => {
      const { status, headers } = await fetch(`${url}?session_id=${n}`);
      if (status !== 503) return status;
      expect(headers.get("retry-after")).to.match(/^\d+$/);
      // Those that wait are let go when all the others have been told.
      if (++refused === 46) answer();
      return status;
    });
    const statuses = await Promise.all(calls);
    expect([asked, statuses.filter((status) => status === 200).length]).to.deep.equal([4, 4]);
    expect((await fetch(url)).status).to.equal(200);
    expect((await fetch(`${url}?session_id=x`)).status).to.equal(200);
  });
});
