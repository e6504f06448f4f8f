import { expect } from "chai";
import { cookieFaults, headerFaults, pageFaults } from "./pageFaults.ts";

/** Tests the checks themselves: each of these faults has to be found. */
describe("checks of console pages", () => {
  const page = (inner: string) =>
    `<!doctype html><html lang="en"><head><title>T</title></head><body><main><h1>H</h1>${inner}</main></body></html>`;

  it("a page in order passes the checks of console pages", () => {
    const good = `<form method="post" action="/x"><input type="hidden" name="form_token" value="1"></form>
      <iframe class="letter-frame" sandbox="" title="Letter" srcdoc="&lt;p&gt;Hello&lt;/p&gt;"></iframe><a href="/threads?q=1">more</a>`;
    expect(pageFaults(page(good))).to.deep.equal([]);
  });

  for (const [inner, fault] of [
    ["<script>alert(1)</script>", /a script in the page/],
    ['<p style="color:red">', /style.* no attribute of ours/],
    ["<style>p{}</style>", /<style> is no element/],
    ['<p onclick="x()">', /onclick/],
    ['<button hx-on:click="x()">', /hx-on/],
    ['<a href="https://evil.example/">', /leads elsewhere/],
    ['<a href="//evil.example/">', /leads elsewhere/],
    ['<a href="javascript:alert(1)">', /javascript/],
    ['<form method="post" action="/x"><button>Go</button></form>', /has no token/],
    ['<form method="post" action="https://evil.example/"><input name="form_token"></form>', /leads elsewhere/],
    ['<iframe srcdoc="x"></iframe>', /a frame with sandbox/],
    ['<iframe sandbox="allow-scripts" srcdoc="x"></iframe>', /a frame with sandbox/],
    ['<iframe sandbox="" srcdoc="&lt;script&gt;1&lt;/script&gt;"></iframe>', /<script> in a frame/],
    ['<iframe sandbox="" srcdoc="&lt;img src=https://x.example/&gt;"></iframe>', /<img src.* in a frame/],
    ['<p id="a"></p><p id="a"></p>', /twice/],
    ["<h1>Again</h1>", /2 headings/],
    ["<marquee>", /<marquee> is no element/],
    ["<p>\u202eturned</p>", /U\+202e/],
    ["<i data-zq>x</i>", /data-zq/],
    ["<!-- theirs -->", /a comment/],
  ] as [string, RegExp][]) {
    it(`the checks of console pages find ${JSON.stringify(inner)}`, () => {
      expect(pageFaults(page(inner)).join("\n")).to.match(fault);
    });
  }

  it("the checks of console pages find each missing header and each policy that allows too much", () => {
    const good = {
      "Content-Security-Policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
      "Referrer-Policy": "same-origin",
      "Cross-Origin-Opener-Policy": "same-origin",
      "X-Robots-Tag": "noindex, nofollow",
    };
    expect(headerFaults(new Headers(good))).to.deep.equal([]);
    for (const name of Object.keys(good)) {
      const left = Object.fromEntries(Object.entries(good).filter(([each]) => each !== name));
      expect(headerFaults(new Headers(left)), name).not.to.deep.equal([]);
    }
    for (const [from, to] of [
      ["script-src 'self'", "script-src 'self' 'unsafe-inline'"],
      ["script-src 'self'", "script-src 'unsafe-eval'"],
      ["style-src 'self'", "style-src *"],
      ["connect-src 'self'", "connect-src https:"],
      ["frame-ancestors 'none'", "frame-ancestors 'self'"],
      ["form-action 'self'; ", ""],
    ] as [string, string][]) {
      const policy = good["Content-Security-Policy"].replace(from, to);
      expect(headerFaults(new Headers({ ...good, "Content-Security-Policy": policy })), to).not.to.deep.equal([]);
    }
  });

  it("the checks of console pages find each missing or wrong attribute of a cookie", () => {
    const faults = (cookie: string, https = true) => cookieFaults(new Headers({ "Set-Cookie": cookie }), { https });
    expect(faults("__Host-session=1; Path=/; HttpOnly; Secure; SameSite=Lax")).to.deep.equal([]);
    expect(faults("session=1; Path=/; HttpOnly; SameSite=Lax", false)).to.deep.equal([]);
    expect(faults("__Host-session=1; Path=/; Secure; SameSite=Lax").join()).to.contain("read by scripts");
    expect(faults("__Host-session=1; Path=/; HttpOnly; Secure").join()).to.contain("SameSite");
    expect(faults("__Host-session=1; Path=/; HttpOnly; SameSite=Lax").join()).to.contain("plain HTTP");
    expect(faults("session=1; Path=/; HttpOnly; Secure; SameSite=Lax").join()).to.contain("__Host-");
    expect(faults("__Host-session=1; Path=/; Domain=x; HttpOnly; Secure; SameSite=None").length).to.equal(2);
  });
});
