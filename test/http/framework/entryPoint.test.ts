import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { expect } from "chai";
import express from "express";
import { admit, answer, type EntryPoint, RightEnded, refusalHandler } from "#src/http/framework/entryPoint.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { Reply } from "#src/http/framework/reply.ts";

type Work = Parameters<typeof answer<string>>[2];

const text = (words: string, status = 200): Reply => new Reply({ bytes: Buffer.from(words) }, status, {});

describe("the HTTP entry point", () => {
  let close: () => void = () => {};
  afterEach(() => close());

  /** Serves one path behind an entry point that records the order of its checks in `noted`. */
  async function served(work: Work, entryPoint: Partial<EntryPoint<string>> = {}) {
    const inFlight = createRequestsInFlight();
    const noted: string[] = [];
    const interrupted: unknown[] = [];
    const whole: EntryPoint<string> = {
      requireOrigin: () => void noted.push("origin"),
      requireReadable: () => void noted.push("readable"),
      credential: async () => {
        noted.push("credential");
        return "key-1";
      },
      enter: (id, callId) => inFlight.enter(id, callId),
      upToDate: () => void noted.push("up to date"),
      refused: (error) =>
        error instanceof RightEnded ? text("ended", 401) : text(`refused: ${(error as Error).message}`, 422),
      interrupted: (error) => interrupted.push(error),
      ...entryPoint,
    };
    const app = express().use(express.text({ limit: 10 }));
    app.all("/", async (request, response, next) => {
      if (!(await answer({ request, response }, whole, work))) next();
    });
    app.use((_request, response) => void response.send("the next entryPoint"));
    app.use(refusalHandler(whole));
    const server = app.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    close = () => {
      server.closeAllConnections();
      server.close();
    };
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ask = async (init: RequestInit = {}) => {
      const response = await fetch(url, init);
      return [response.status, await response.text()] as const;
    };
    return { ask, inFlight, noted, interrupted };
  }

  it("the entry point checks origin, readable state and credential, and reads all revocations before it answers", async () => {
    const { ask, noted } = await served(async ({ who }) => {
      noted.push("work");
      return text(who);
    });
    expect(await ask()).to.deep.equal([200, "key-1"]);
    expect(noted).to.deep.equal(["origin", "readable", "credential", "work", "up to date"]);
  });

  it("a request that the entry point refuses does no work", async () => {
    let worked = 0;
    const refuse = () => {
      throw new Error("not from here");
    };
    for (const step of ["requireOrigin", "requireReadable", "credential"] as const) {
      const { ask } = await served(
        async () => {
          worked += 1;
          return text("done");
        },
        { [step]: refuse },
      );
      expect(await ask()).to.deep.equal([422, "refused: not from here"]);
      close();
    }
    expect(worked).to.equal(0);
  });

  it("a request that an entry point neither admits nor refuses goes to the next entry point", async () => {
    const { ask } = await served(async () => text("done"), {
      credential: async () => {
        throw new Error("signed out");
      },
      refused: () => undefined,
    });
    expect(await ask()).to.deep.equal([200, "the next entryPoint"]);
  });

  it("a request whose right has already ended is refused and does no work", async () => {
    let worked = 0;
    const { ask, inFlight } = await served(async () => {
      worked += 1;
      return text("done");
    });
    inFlight.revoke("key-1");
    expect([await ask(), worked]).to.deep.equal([[401, "ended"], 0]);
  });

  it("a request whose right ends is refused at once, and stays in flight until its work is over", async () => {
    let begun = () => {};
    const working = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let finish = () => {};
    const stream = new Readable({ read() {} });
    const { ask, inFlight } = await served(async () => {
      begun();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return new Reply({ stream }, 200, {});
    });
    const asked = ask();
    await working;
    inFlight.revoke("key-1");
    expect(await asked).to.deep.equal([401, "ended"]);
    let isOver = false;
    const over = inFlight.ended("key-1").then(() => {
      isOver = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isOver).to.equal(false);
    finish();
    await over;
    // The stream of a late answer is closed and not sent.
    expect(stream.destroyed).to.equal(true);
  });

  it("an answer made before its right ended on another instance is not sent", async () => {
    const { ask, inFlight } = await served(async () => text("secret"), { upToDate: () => inFlight.revoke("key-1") });
    expect(await ask()).to.deep.equal([401, "ended"]);
  });

  it("a refusal made before its right ended on another instance is not sent", async () => {
    const { ask, inFlight } = await served(
      async () => {
        throw new Error("draft 7 is stale");
      },
      { upToDate: () => inFlight.revoke("key-1") },
    );
    expect(await ask()).to.deep.equal([401, "ended"]);
  });

  it("an answer that fails after its first byte closes the connection", async () => {
    const fault = new Error("the disk is gone");
    const { ask, interrupted } = await served(async ({ response }) => {
      response.write("the first half");
      throw fault;
    });
    const failed = await ask().catch((error: Error) => error);
    expect(failed).to.be.instanceOf(Error);
    expect(interrupted).to.deep.equal([fault]);
  });

  it("a body that a body parser could not read is refused in the entry point's own form", async () => {
    const { ask } = await served(async () => text("done"));
    expect(
      await ask({ method: "POST", body: "more than ten bytes", headers: { "Content-Type": "text/plain" } }),
    ).to.deep.equal([422, "refused: request entity too large"]);
  });

  it("an entry point admits a request for a library that writes the answer, and its signal aborts when the right ends", async () => {
    const inFlight = createRequestsInFlight();
    const entryPoint: EntryPoint<string> = {
      credential: async () => "key-2",
      enter: (id, callId) => inFlight.enter(id, callId),
      refused: () => undefined,
    };
    const exchange = {} as Parameters<typeof admit>[0];
    const { who, signal, flight } = await admit(exchange, entryPoint);
    expect([who, signal.aborted]).to.deep.equal(["key-2", false]);
    inFlight.revoke("key-2");
    expect([signal.aborted, flight?.revoked]).to.deep.equal([true, true]);
    const second = await admit(exchange, entryPoint).catch((error: unknown) => error);
    expect(second).to.be.instanceOf(RightEnded);
    flight?.leave();
    await inFlight.ended("key-2");
  });
});
