import { request as httpRequest } from "node:http";
import { expect } from "chai";
import { atTheDoor, goodPassword, mailedToken, mailsTo, newUser } from "#test/support/door.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";

/** Values of `next` that could redirect a browser to another site, and one that is no path. */
const elsewhere = [
  "https://evil.example/",
  "//evil.example/",
  "/\\evil.example",
  "/\t/evil.example",
  "\\\\evil.example",
  "javascript:alert(1)",
  "/..//evil.example",
  "review",
];

describe("the sign-in pages [4 /auth/*]", () => {
  let service: InProcess;
  let counter = 0;
  const freshAddress = () => `page.${++counter}@people.example`;
  const door = () => atTheDoor(service.url);

  before(async () => {
    service = await startInProcess({ LOG_LEVEL: "silent" });
  });
  after(() => service.stop());

  it("the sign-in pages lead from sign-up to sign-out without a script", async () => {
    const email = freshAddress();
    const visitor = door();
    const page = await visitor.get("/sign-up");
    expect(page.text).to.include('action="/auth/sign-up"').and.to.include('autocomplete="username"');
    const asked = await visitor.form("/auth/sign-up", { email, name: "", workspace_name: "Quay" });
    expect([asked.status, asked.location]).to.deep.equal([303, "/sign-up?done=mailed"]);
    expect((await visitor.get("/sign-up?done=mailed")).text).to.include("Check your inbox");
    const token = await mailedToken(service, { address: email, page: "confirm" });
    const refused = await visitor.form("/auth/confirm", { token, password: "password1234" });
    expect(refused.status).to.equal(422);
    expect(refused.text).to.include("easy to guess").and.to.include(email).and.to.include(token);
    expect(refused.text).not.to.include("password1234");
    const confirmed = await visitor.form("/auth/confirm", { token, password: goodPassword });
    expect([confirmed.status, confirmed.location]).to.deep.equal([303, "/review"]);
    expect((await visitor.get("/auth/session")).body.workspaces[0].name).to.equal("Quay");
    expect((await visitor.get("/sign-in")).location).to.equal("/review");
    const workspaces = await visitor.get("/workspaces");
    const formToken = /name="form_token" value="([^"]+)"/.exec(workspaces.text)![1]!;
    const out = await visitor.form("/auth/sign-out", { form_token: formToken });
    expect([out.status, out.location]).to.deep.equal([303, "/sign-in?done=out"]);
    expect((await visitor.get("/workspaces")).location).to.equal("/sign-in?next=%2Fworkspaces");
  });

  it("the sign-in pages allow no frame, no script and nothing from other sites, and leak no referrer", async () => {
    for (const path of ["/sign-in", "/sign-up", "/forgot", "/confirm/x", "/reset/x", "/invitation/x"]) {
      const { status, headers, text } = await door().get(path);
      expect(status, path).to.equal(200);
      const policy = headers.get("content-security-policy")!;
      for (const rule of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
        expect(policy, path).to.include(rule);
      expect(policy, path).not.to.include("unsafe");
      expect(headers.get("referrer-policy"), path).to.equal("same-origin");
      expect(headers.get("cache-control"), path).to.equal("no-store");
      expect(text, path).not.to.match(/<script|\son\w+=|\sstyle=/i);
      expect(text.match(/<h1/g), path).to.have.length(1);
    }
  });

  it("sign-in redirects only to paths of this service", async () => {
    const { user } = await newUser(service, { email: freshAddress() });
    for (const next of elsewhere) {
      const shown = await door().get(`/sign-in?next=${encodeURIComponent(next)}`);
      expect(shown.text, next).not.to.include("evil.example");
      const { status, location } = await door().form("/auth/sign-in", {
        email: user.email,
        password: goodPassword,
        next,
      });
      expect([status, location], next).to.deep.equal([303, "/review"]);
    }
    const own = "/drafts/0199aaaa-0000-7000-8000-000000000001?at=3";
    const shown = await door().get(`/sign-in?next=${encodeURIComponent(own)}`);
    expect(shown.text).to.include(`name="next" value="${own}"`);
    const { location } = await door().form("/auth/sign-in", { email: user.email, password: goodPassword, next: own });
    expect(location).to.equal(own);
  });

  it("a form on another site's page can neither sign in, sign out nor sign up", async () => {
    const { door: visitor, user } = await newUser(service, { email: freshAddress() });
    const pair = { email: user.email, password: goodPassword };
    const foreign: Record<string, string>[] = [
      { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" },
      { "Sec-Fetch-Site": "same-site", Origin: service.url },
      { "Sec-Fetch-Site": "none" },
      { "Sec-Fetch-Site": "", Origin: "null" },
    ];
    for (const headers of foreign) {
      const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ""));
      for (const [path, fields] of [
        ["/auth/sign-in", pair],
        ["/auth/sign-out", {}],
        ["/auth/sign-up", { email: freshAddress() }],
      ] as const) {
        const answer = await atTheDoor(service.url, { cookie: visitor.cookie()! }).form(path, fields, {
          "Sec-Fetch-Site": "cross-site",
          ...given,
        });
        expect(answer.status, `${path} ${JSON.stringify(given)}`).to.equal(403);
        expect(answer.headers.get("set-cookie"), path).to.equal(null);
      }
    }
    // A form of this site with another session's form token.
    const withoutToken = await visitor.form("/auth/sign-out", { form_token: "x".repeat(43) });
    expect(withoutToken.status).to.equal(403);
    expect((await visitor.get("/auth/session")).status).to.equal(200);
  });

  it("/auth accepts JSON only as application/json, and none that another site's page sends", async () => {
    const { user } = await newUser(service, { email: freshAddress() });
    const pair = { email: user.email, password: goodPassword };
    for (const type of ["text/plain", "application/json; charset=latin1", "multipart/form-data", ""]) {
      const { status, body } = await door().json("/auth/sign-in", pair, { "Content-Type": type });
      expect([status, body.field], type).to.deep.equal([422, "Content-Type"]);
    }
    const foreign = await door().json("/auth/sign-in", pair, {
      Origin: "https://evil.example",
      "Sec-Fetch-Site": "cross-site",
    });
    expect([foreign.status, foreign.body.field]).to.deep.equal([422, "Origin"]);
    expect((await door().json("/auth/sign-in", pair, { "Sec-Fetch-Site": "same-origin" })).status).to.equal(200);
  });

  it("mailed links are under PUBLIC_URL, whatever host names the request's headers claim", async () => {
    const email = freshAddress();
    const { hostname, port } = new URL(service.url);
    const body = JSON.stringify({ email });
    const status = await new Promise((resolve) => {
      const headers = {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
        Host: "localhost",
        "X-Forwarded-Host": "evil.example",
        Forwarded: "host=evil.example",
      };
      httpRequest({ hostname, port, path: "/auth/sign-up", method: "POST", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end(body);
    });
    expect(status).to.equal(202);
    await mailedToken(service, { address: email, page: "confirm" });
    const [mail] = await mailsTo(service, email);
    expect(mail!.text).to.include(`${service.deps.settings.publicUrl}/confirm/`);
    expect(`${mail!.text} ${mail!.html}`).not.to.include("evil.example");
    // A request with a host name that is not the service's is refused.
    const other = await new Promise((resolve) => {
      httpRequest({ hostname, port, path: "/sign-in", headers: { Host: "evil.example" } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end();
    });
    expect(other).to.equal(421);
  });

  it("/auth refuses bodies that are broken, too large or have unknown fields", async () => {
    const huge = await door().json("/auth/sign-in", { email: "a@b.example", password: "x".repeat(70_000) });
    expect([huge.status, huge.body.error]).to.deep.equal([413, "payload_too_large"]);
    const more = await door().json("/auth/sign-in", { email: "a@b.example", password: "x", admin: true });
    expect(more.status).to.equal(422);
    const broken = await fetch(`${service.url}/auth/sign-in`, {
      method: "POST",
      body: "{",
      headers: { "Content-Type": "application/json" },
    });
    expect(broken.status).to.equal(422);
    expect(await broken.json()).to.include.keys("error", "message", "request_id");
    expect((await door().get("/auth/nothing")).status).to.equal(404);
  });
});
