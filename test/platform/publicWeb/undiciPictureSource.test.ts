import { expect } from "chai";
import type { Lookup } from "#src/platform/dns/resolver.ts";
import { createUndiciPictureSource } from "#src/platform/publicWeb/undiciPictureSource.ts";
import { startPictureServer } from "#test/support/pictureServer.ts";
import { pictures } from "#test/support/pictures.ts";

describe("pictures on the web", () => {
  let server: Awaited<ReturnType<typeof startPictureServer>>;
  before(async () => {
    server = await startPictureServer({
      "/logo.png": pictures.png,
      "/large.png": Buffer.alloc(2_000, 1),
      "/moved.png": (response) => void response.writeHead(302, { location: "/logo.png" }).end(),
      "/endless.png": (response) => {
        response.writeHead(200);
        const again = () => void (response.destroyed || response.write(Buffer.alloc(64 * 1024), again));
        again();
      },
      "/silent.png": () => {},
      "/broken.png": (response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("begun", () => response.destroy());
      },
    });
  });
  after(() => server.stop());

  const fetch = (path: string, maxBytes = 1_000) => server.source.fetch(server.url(path), maxBytes);

  it("a picture on the web is fetched completely, up to a size", async () => {
    expect(await fetch("/logo.png")).to.deep.equal(pictures.png);
    expect(await fetch("/large.png")).to.equal(undefined);
    expect(await fetch("/large.png", 2_000)).to.have.length(2_000);
    expect(await fetch("/endless.png")).to.equal(undefined);
  });

  it("a picture is missing if its server answers anything else, breaks off or stays silent", async () => {
    for (const path of ["/missing.png", "/moved.png", "/broken.png"]) {
      expect(await fetch(path), path).to.equal(undefined);
    }
    const hasty = server.sourceWith(100);
    expect(await hasty.fetch(server.url("/silent.png"), 1_000)).to.equal(undefined);
    await hasty.close();
    expect(
      server.asked.filter((path) => path === "/logo.png"),
      "no redirect is followed",
    ).to.have.length(1);
  });

  it("a picture is never fetched from a private address, by plain http, or from an invalid URL", async () => {
    const private4 = async (): Promise<Lookup<string>> => ({ outcome: "found", records: ["127.0.0.1"] });
    const missing = async (): Promise<Lookup<string>> => ({ outcome: "missing" });
    const strict = createUndiciPictureSource({
      allowedHosts: [],
      resolver: { a: private4, aaaa: missing },
      ca: server.ca,
    });
    const asked = server.asked.length;
    for (const url of [
      server.url("/logo.png"),
      `https://127.0.0.1:${server.port}/logo.png`,
      `https://localhost:${server.port}/logo.png`,
      `http://pictures.test:${server.port}/logo.png`,
      "https://",
      "file:///etc/passwd",
    ]) {
      expect(await strict.fetch(url, 1_000), url).to.equal(undefined);
    }
    expect(server.asked).to.have.length(asked);
    await strict.close();
  });
});
