import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { prepareServiceUser, usersOverHttp } from "#src/eventStore/eventStoreDb/serviceUser.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";

/**
 * Runs on the stand-in, which implements streams, and on an HTTP server that implements users as EventStoreDB does. It is not tested here
 * that a real server enforces the rights.
 */
describe("the service's user on EventStoreDB", () => {
  const log = new EventStoreDbStandIn();
  let http: Server;
  const users = new Map<string, string>();
  const asked: string[] = [];
  before(async () => {
    await log.start();
    http = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const body = JSON.parse(text);
      asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      const isNew = request.url === "/users/" && !users.has(body.loginName);
      const known = /^\/users\/(.+)\/command\/reset-password$/.exec(request.url!)?.[1];
      if (isNew) users.set(body.loginName, body.password);
      if (known) users.set(known, body.newPassword);
      response.writeHead(known ? 200 : isNew ? 201 : 409).end();
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
  });
  after(() => {
    log.stop();
    http.close();
  });

  const urlOf = (user: string, at: string) => `esdb://${user}@${at}?tls=false`;
  const prepare = (service: string) => {
    const at = new URL(log.url).host;
    const admin = "admin:a%2Fdmin";
    const { port } = http.address() as AddressInfo;
    return prepareServiceUser(
      { adminUrl: urlOf(admin, at), serviceUrl: urlOf(service, at) },
      usersOverHttp(urlOf(admin, `127.0.0.1:${port}`)),
    );
  };
  const stored = (stream: string) =>
    (log.log.streams.get(stream) ?? []).map(({ type, data }) => [type, JSON.parse(Buffer.from(data).toString())]);

  it("the EventStoreDB user is made once, may read and append, and only administrators may delete or truncate", async () => {
    expect(await prepare("countersign:one")).to.deep.equal({ user: "countersign", created: true, rights: "set" });
    const [[type, acl] = []] = stored("$settings");
    expect(type).to.equal("update-default-acl");
    const both = ["$admins", "countersign"];
    expect(acl.$userStreamAcl).to.deep.equal({ $r: both, $w: both, $d: "$admins", $mr: both, $mw: "$admins" });
    expect(new Set(Object.values(acl.$systemStreamAcl))).to.deep.equal(new Set(["$admins"]));
    expect(stored("$$$all")).to.deep.equal([["$metadata", { $acl: { $r: both } }]]);
    expect(asked).to.deep.equal([`POST /users/ Basic ${Buffer.from("admin:a/dmin").toString("base64")}`]);

    expect(await prepare("countersign:two")).to.deep.equal({
      user: "countersign",
      created: false,
      rights: "already so",
    });
    expect([...users]).to.deep.equal([["countersign", "two"]]);
    expect([stored("$settings"), stored("$$$all")].map(({ length }) => length)).to.deep.equal([1, 1]);
  });

  it("the EventStoreDB user is never one of the server's own", async () => {
    const refused = await prepare("admin:secret").catch((error) => error.message);
    expect(refused).to.include("name another one").and.not.to.include("secret");
    expect(users.has("admin")).to.equal(false);
  });
});
