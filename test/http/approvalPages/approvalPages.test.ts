import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { expect } from "chai";
import type { LinkedApproval } from "#src/channels/approvalDecisions.ts";
import type { Renewal } from "#src/channels/approvalRenewal.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { listPage } from "#src/http/approvalPages/listPage.ts";
import { Rejected } from "#streams/decider.ts";
import { carded, changed, longWords, newer, ordinary, withHtml } from "#test/channels/email/examples.ts";
import { listOfAll } from "./examples.ts";
import { ApprovalPagesServer, list, nonceIn, token } from "./server.ts";

const hour = 60 * 60 * 1000;
const decided = (
  decision: "approved" | "rejected" | "stale" | "failed" | "sent",
  reason?: string,
): Partial<ApprovalView> => ({
  decided: { decision, by: "anna@harbour.example", at: "2026-11-20T10:00:00.000Z", reason },
});

type PossibleRenewal = Extract<Renewal, { place: unknown }>;

describe("the page that lists drafts", () => {
  it("the list of drafts shows each waiting draft's number of warnings, or that its own page shows them", () => {
    const body = listPage(listOfAll, list);
    expect(body).to.include("<p>Waits for your decision</p>").and.to.include("<p><strong>4 warnings</strong>");
    expect(body).to.include("It is long: open its page to see whether there are warnings.");
  });
});

describe("approval pages", () => {
  let pages: ApprovalPagesServer;
  beforeEach(async () => {
    pages = await new ApprovalPagesServer().listen();
  });
  afterEach(() => pages.close());

  describe("a link that is opened", () => {
    it("a link that is opened 50 times by GET and by HEAD decides nothing", async () => {
      for (let n = 0; n < 50; n += 1) {
        for (const choice of ["approve", "reject"]) {
          const shown = await pages.get(`/a/${token}?d=${choice}`);
          const head = await pages.get(`/a/${token}?d=${choice}`, "HEAD");
          expect([shown.status, head.status, head.body]).to.deep.equal([200, 200, ""]);
        }
      }
      expect(pages.found).to.have.length(200);
      expect(pages.decided).to.be.empty;
    });

    it("a link that is opened by GET with all of the form's fields decides nothing", async () => {
      const fields = new URLSearchParams({ decision: "approve", nonce: await pages.nonce("approve") });
      expect((await pages.get(`/a/${token}?${fields}`)).status).to.equal(200);
      expect(pages.decided).to.be.empty;
    });

    it("an approval page shows the whole draft, its recipients, its rationale and the message that it answers", async () => {
      const { body } = await pages.get();
      const { content, rationale, answers } = ordinary;
      for (const text of [
        content.subject,
        content.to[0],
        content.from.address,
        rationale,
        answers?.fromEmail,
        answers?.newText,
      ]) {
        expect(body).to.include(text);
      }
      expect(body)
        .to.include("no need to send it back")
        .and.to.include("Quay 4, Gothenburg")
        .and.to.include(ordinary.contentSha256);
    });

    it("an approval page shows warnings, changes, recipients and text, then the buttons, the rationale and the message", async () => {
      for (const view of [changed, longWords]) {
        pages.view = view;
        const { body } = await pages.get();
        const ids = [...body.matchAll(/<h2 id="(\w+)"/g)].map(([, id]) => id);
        const order = ["warnings", "changes", "letter", "decision", "why", "answers"];
        expect(ids).to.deep.equal(order.filter((id) => id !== "changes" || view.previous !== null));
        expect(body.indexOf('href="#decision"')).to.be.below(body.indexOf('id="warnings"'));
        const letter = body.slice(body.indexOf('id="letter"'), body.indexOf('id="decision"'));
        expect(letter.indexOf("<dt>To</dt>")).to.be.within(0, letter.indexOf('<div class="letter"'));
      }
    });

    it("an approval page shows changes, new recipients, attachments, hints, removed parts and the time left", async () => {
      pages.view = changed;
      const { body } = await pages.get();
      for (const part of [
        '<h2 id="changes">What changed since version 1</h2>',
        "The agent edited it.",
        "<ins>Underlined</ins> is new, <del>struck through</del> is gone.",
        '<del><span class="unseen">removed: </span>tomorrow</del><ins><span class="unseen">added: </span>on Monday</ins>',
        '<bdi lang="">claims@courier.example</bdi> <strong class="mark">new in this conversation</strong>',
        'label.pdf</bdi> <span class="meta">(application/pdf, 18 KB)</span>',
        'href="1" download>Download<span class="unseen"> label.pdf</span></a>',
        '<p class="caution">It is called a PDF and can run code.</p>',
        "Hint: It speaks to the agent instead of a person.",
        "<li>2 pictures loaded from elsewhere</li>",
        "<strong>45 minutes left.</strong> If it is not decided by 20 Nov 2026, 09:45 UTC, another approver will be asked.",
        "From is proven. To, Cc and Reply-To are not.",
        "<summary>1 link in it</summary>",
      ]) {
        expect(body).to.include(part);
      }
      expect(body.match(/ download>/g)).to.have.length(1);
      const quoted = body.split("Show the quoted text").map((part) => part.slice(0, 200));
      expect(quoted[1]).to.include("&gt; Hello,");
      expect(quoted[2]).to.include("Track it at");
    });

    it("an approval page shows where links lead, and unfolds them if one leads elsewhere than its text says", async () => {
      const html = '<a href="https://evil.example/login">bank.com</a>';
      pages.view = { content: { ...ordinary.content, body_html: html, body_text: "bank.com" } };
      const { body } = await pages.get();
      expect(body).to.include("bank.com</bdi> leads to <bdi>https://evil.example/login</bdi> <strong");
      expect(body).to.include("names <bdi>bank.com</bdi>, leads to <bdi>evil.example</bdi>");
      const many = Array.from({ length: 9 }, (_, n) => `https://harbour.example/${n}`).join(" ");
      pages.view = { content: { ...ordinary.content, body_text: many } };
      expect((await pages.get()).body).to.include("<details><summary>9 links in it</summary>");
      pages.view = { content: { ...ordinary.content, body_text: `${many} x`, body_html: `${html} ${many}` } };
      expect((await pages.get()).body).to.include("<details open><summary>10 links in it</summary>");
    });

    it("an approval page shows the plain text unfolded if it differs from the HTML, and folded if it does not", async () => {
      pages.view = withHtml;
      expect((await pages.get()).body).to.include("<h3>Plain-text version</h3>");
      pages.view = { content: { ...ordinary.content, body_html: "<p>Hello</p>", body_text: "Hello" } };
      const { body } = await pages.get();
      expect(body).not.to.include("<h3>As programs without");
      expect(body).to.include("Plain-text version</summary>");
    });

    it("an approval page puts the choice of its token first, whatever the address says", async () => {
      for (const [choice, other] of [
        ["approve", "reject"],
        ["reject", "approve"],
      ] as const) {
        pages.view = { action: choice };
        const { body } = await pages.get(`/a/${token}?d=${other}`);
        expect(body.indexOf(`value="${choice}"`)).to.be.below(body.indexOf(`value="${other}"`));
        expect(body).to.include(`class="${choice} first"`).and.not.to.include(`class="${other} first"`);
      }
    });

    it("the button of an approval page says whether the approval also sends", async () => {
      expect((await pages.get()).body).to.include(">Approve &amp; send</button>");
      pages.view = { sendsOnApproval: false };
      expect((await pages.get()).body)
        .to.include(">Approve</button>")
        .and.not.to.include("Approve &amp; send");
    });

    it("an approval page is not cached, not framed, and may load and run nothing", async () => {
      const { headers, body } = await pages.get();
      expect(headers.get("content-type")).to.equal("text/html; charset=utf-8");
      expect(headers.get("cache-control")).to.equal("no-store");
      expect(headers.get("referrer-policy")).to.equal("no-referrer");
      expect(headers.get("x-robots-tag")).to.include("noindex");
      expect(headers.get("x-content-type-options")).to.equal("nosniff");
      expect(headers.get("set-cookie")).to.equal(null);
      const policy = headers.get("content-security-policy")?.split("; ") ?? [];
      expect(policy[0]).to.equal("default-src 'none'");
      expect(policy[1]).to.equal("img-src data:");
      expect(policy[2]).to.match(/^style-src 'sha256-\S{44}' 'sha256-\S{44}'$/);
      expect(policy.slice(3)).to.deep.equal(["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"]);
      expect(body).not.to.match(/<script|<link|<img|\son\w+=/i);
    });

    it("every address that is no link gets the same page, and impossible tokens are not looked up", async () => {
      const unknown = await pages.get(`/a/${"x".repeat(43)}`);
      for (const path of ["/a/x", `/a/${token}%00`, `/a/${token}.`, `/a/${"y".repeat(500)}`]) {
        const other = await pages.get(path);
        expect([other.status, other.body]).to.deep.equal([404, unknown.body]);
      }
      expect(pages.found).to.deep.equal(["x".repeat(43)]);
    });

    it("a link answers 405 to other methods than GET, HEAD and POST", async () => {
      for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) {
        const { status, headers } = await pages.get(undefined, method);
        expect([status, headers.get("allow")]).to.deep.equal([405, "GET, HEAD, POST"]);
      }
      expect(pages.found).to.be.empty;
    });
  });

  describe("a link that can decide nothing any more", () => {
    const closed: [string, Partial<LinkedApproval>, number, RegExp][] = [
      ["approved", decided("approved"), 200, /^Already approved$/],
      ["sent", decided("sent"), 200, /^Already approved and sent$/],
      ["rejected", decided("rejected", "Offer the refund"), 200, /^Already rejected$/],
      ["failed", decided("failed", "550 no such mailbox"), 200, /could not be delivered$/],
      ["stale", { ...decided("stale"), newerMessage: newer }, 200, /^Not sent: a newer message arrived$/],
      ["changed", { superseded: true }, 409, /^This draft changed: review the new version$/],
      ["expired", { expiresAt: "2026-11-20T12:00:00.000Z" }, 410, /^This link has expired$/],
      ["closed", { closed: "link_leaked" }, 410, /^This link was closed$/],
    ];
    for (const [name, view, status, title] of closed) {
      it(`a link that can decide nothing shows the draft's status and no button: ${name}`, async () => {
        pages.view = view;
        const fields = { decision: "approve", nonce: "1.x" };
        for (const shown of [await pages.get(), await pages.post(fields)]) {
          expect(shown.status).to.equal(status);
          expect(shown.title).to.match(title);
          expect(shown.body).not.to.include("<form");
        }
        expect(pages.decided).to.be.empty;
      });
    }

    it("a link to a decided draft says who decided, when and why", async () => {
      pages.view = decided("rejected", "Offer the refund <b>");
      const { body } = await pages.get();
      expect(body)
        .to.include("anna@harbour.example")
        .and.to.include("20 Nov 2026, 10:00 UTC")
        .and.to.include("Offer the refund &lt;b&gt;");
    });

    it("a link to a stale draft shows the newer message", async () => {
      pages.view = { ...decided("stale"), newerMessage: newer };
      expect((await pages.get()).body).to.include(newer.newText);
    });

    it("a link that is expired, closed or about an edited draft shows nothing of the draft", async () => {
      const past = { expiresAt: "2026-11-20T11:00:00.000Z" };
      const leaked = { closed: "link_leaked", ...decided("sent") } as const;
      for (const view of [past, { superseded: true }, { ...past, ...decided("sent") }, leaked]) {
        pages.view = view;
        const { body } = await pages.get();
        expect(body).not.to.include("atlas").and.not.to.include("marta.lind");
      }
    });
  });

  describe("an attachment of an approval page", () => {
    const path = `/a/${token}/attachments`;
    const bytes = Buffer.from("<script>");
    const fileOf = (parts: () => AsyncIterable<Buffer>, size = bytes.length) => ({ name: "a.html", size, parts });
    beforeEach(() => {
      pages.file = fileOf(async function* () {
        yield bytes.subarray(0, 3);
        yield bytes.subarray(3);
      });
    });

    it("an attachment is a download of bytes, which a HEAD request does not read", async () => {
      const { status, body, headers } = await pages.get(`${path}/1`);
      expect([status, body]).to.deep.equal([200, "<script>"]);
      expect(headers.get("content-type")).to.equal("application/octet-stream");
      expect(headers.get("content-disposition")).to.match(/^attachment; filename="a\.html"/);
      expect(headers.get("content-security-policy")).to.equal("default-src 'none'; sandbox");
      // biome-ignore lint/correctness/useYield: it fails before there is anything
      pages.file = fileOf(async function* () {
        throw new Error("read");
      });
      const head = await pages.get(`${path}/1`, "HEAD");
      expect([head.status, head.body, head.headers.get("content-length")]).to.deep.equal([200, "", "8"]);
      expect([pages.found, pages.decided, pages.errors]).to.deep.equal([[], [], []]);
    });

    it("an unreadable attachment is an error page, and a partly readable one an incomplete download", async () => {
      let given = 0;
      pages.file = fileOf(async function* () {
        for (; given > 0; given -= 1) yield bytes.subarray(0, 3);
        throw new Error("read");
      });
      const { status, title } = await pages.get(`${path}/1`);
      expect([status, title]).to.deep.equal([500, "Something went wrong on our side"]);
      given = 1;
      const failure = await pages.get(`${path}/1`).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure).to.be.instanceOf(Error);
      expect(pages.errors).to.have.length(2);
    });

    it("a download of an attachment stops reading when the client disconnects", async () => {
      const part = Buffer.alloc(1_000_000);
      const all = 100;
      let read = 0;
      const stopped = new Promise<void>((resolve) => {
        pages.file = fileOf(async function* () {
          try {
            for (; read < all; read += 1) yield part;
          } finally {
            resolve();
          }
        }, all * part.length);
      });
      const response = await new Promise<IncomingMessage>((resolve) => get(pages.url(`${path}/1`), resolve));
      response.destroy();
      await stopped;
      expect(read).to.be.lessThan(all);
    });

    it("a missing attachment shows an error page, or what the link itself shows", async () => {
      pages.file = null;
      const answers: [Partial<LinkedApproval>, number, string][] = [
        [{}, 404, "Page not found"],
        [decided("sent"), 404, "Page not found"],
        [{ superseded: true }, 409, "This draft changed: review the new version"],
        [{ expiresAt: "2026-11-20T11:00:00.000Z" }, 410, "This link has expired"],
      ];
      for (const [view, status, title] of answers) {
        pages.view = view;
        const shown = await pages.get(`${path}/1`);
        expect([shown.status, shown.title]).to.deep.equal([status, title]);
        expect(shown.body).not.to.include("atlas");
      }
    });

    it("an attachment of an unknown link is counted as unknown, and impossible tokens are not looked up", async () => {
      for (const [address, counted] of [
        [`/a/${"x".repeat(43)}/attachments/1`, 1],
        [`/a/x/attachments/1`, 2],
        [`${path}/2`, 2],
      ] as const) {
        const { status } = await pages.get(address);
        expect([status, pages.unknown]).to.deep.equal([404, counted]);
      }
      expect(pages.fetched).to.deep.equal([
        ["x".repeat(43), 1],
        [token, 2],
      ]);
    });

    it("an attachment answers 405 to other methods than GET and HEAD", async () => {
      for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        const { status, headers } = await pages.get(`${path}/1`, method);
        expect([status, headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
      }
      expect(pages.fetched).to.be.empty;
    });
  });

  describe("the button of an approval page", () => {
    it("a press decides once, with the token, the reason, the IP address, the browser and the request id", async () => {
      const answer = await pages.post({
        decision: "reject",
        nonce: await pages.nonce("reject"),
        reason: " Two\r\nlines\u0000 ",
      });
      expect(pages.decided).to.deep.equal([
        {
          token,
          decision: "reject",
          reason: "Two\nlines",
          code: undefined,
          undoable: true,
          ip: "127.0.0.1",
          userAgent: "a browser",
          requestId: "request-1",
        },
      ]);
      expect(answer.status).to.equal(200);
    });

    it("an approval takes no reason along", async () => {
      await pages.post({ decision: "approve", nonce: await pages.nonce("approve"), reason: "x" });
      expect(pages.decided[0]?.reason).to.equal(undefined);
    });

    it("a press without the page's nonce is refused, and the page is shown again with a valid nonce", async () => {
      const approve = await pages.nonce("approve");
      const wrong: Record<string, string>[] = [
        { decision: "approve" },
        { decision: "approve", nonce: "" },
        { decision: "approve", nonce: "1.abc" },
        { decision: "approve", nonce: `${approve.slice(0, -1)}${approve.endsWith("A") ? "B" : "A"}` },
        { decision: "approve", nonce: `9${approve}` },
        { decision: "reject", nonce: approve, reason: "typed already" },
      ];
      for (const fields of wrong) {
        const refused = await pages.post(fields);
        expect(refused.status).to.equal(403);
        expect(refused.title).to.match(/^Not decided yet/);
        expect(refused.body)
          .to.include("Nothing was decided")
          .and.to.include(fields.reason ?? "");
        expect(pages.decided).to.be.empty;
      }
      const page = await pages.post(wrong[0] ?? {});
      await pages.post({ decision: "approve", nonce: nonceIn(page.body, "approve") });
      expect(pages.decided).to.have.length(1);
    });

    it("a page's nonce is valid for an hour, and for that version only", async () => {
      const nonce = await pages.nonce("approve");
      pages.now = new Date(pages.now.getTime() + hour - 1);
      pages.view = { version: 2 };
      expect((await pages.post({ decision: "approve", nonce })).status).to.equal(403);
      pages.view = { contentSha256: "0".repeat(64) };
      expect((await pages.post({ decision: "approve", nonce })).status).to.equal(403);
      pages.view = {};
      pages.now = new Date(pages.now.getTime() + 1);
      const late = await pages.post({ decision: "approve", nonce });
      expect(late.status).to.equal(403);
      expect(late.body).to.include("more than an hour");
      expect(pages.decided).to.be.empty;
      pages.now = new Date(pages.now.getTime() - 1);
      expect((await pages.post({ decision: "approve", nonce })).status).to.equal(200);
    });

    it("a form without a choice, with two choices or with an unknown choice is refused", async () => {
      const nonce = await pages.nonce("approve");
      for (const body of [
        `nonce=${nonce}`,
        `decision=delete&nonce=${nonce}`,
        `decision=approve&decision=reject&nonce=${nonce}`,
      ]) {
        expect((await pages.post(body)).status).to.equal(422);
      }
      const json = await fetch(pages.url(), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve", nonce }),
      });
      expect(json.status).to.equal(422);
      expect(pages.decided).to.be.empty;
    });

    it("a reason may have 2,048 bytes; a longer one is refused and stays in the form", async () => {
      const nonce = await pages.nonce("reject");
      const tooLong = `é${"x".repeat(2047)}`;
      const refused = await pages.post({ decision: "reject", nonce, reason: tooLong });
      expect(refused.status).to.equal(422);
      expect(refused.body).to.include(tooLong);
      expect(pages.decided).to.be.empty;
      await pages.post({ decision: "reject", nonce, reason: tooLong.slice(0, -1) });
      expect(Buffer.byteLength(pages.decided[0]?.reason ?? "")).to.equal(2048);
    });

    it("a form over 8 KB is refused", async () => {
      const refused = await pages.post({ decision: "reject", nonce: "x", reason: "x".repeat(9000) });
      expect([refused.status, refused.title]).to.deep.equal([413, "The text is too long"]);
      expect(refused.headers.get("content-security-policy")).to.include("default-src 'none'");
    });

    it("a request whose body stops in the middle decides nothing, and the server continues", async () => {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(new URL(pages.url()).port), "127.0.0.1", () => {
          const head = "Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 500";
          socket.write(`POST /a/${token} HTTP/1.1\r\n${head}\r\n\r\ndecision=approve`, () => socket.destroy());
        });
        socket.on("close", () => resolve());
      });
      expect((await pages.get()).status).to.equal(200);
      expect(pages.decided).to.be.empty;
    });
  });

  describe("a page that asks for a code", () => {
    beforeEach(() => {
      pages.view = { codeTriesLeft: 5 };
    });
    const press = async (decision: "approve" | "reject", fields: Record<string, string>) =>
      pages.post({ decision, nonce: await pages.nonce(decision), ...fields });

    it("a page that asks for a code has a labelled field with each choice, and no other page has one", async () => {
      const { body } = await pages.get();
      for (const choice of ["approve", "reject"]) {
        const form = body.split("<form").find((part) => part.includes(`value="${choice}"`)) ?? "";
        const field = /<input class="code"[^>]*>/.exec(form)?.[0] ?? "";
        expect(field).to.include('name="code" inputmode="numeric" autocomplete="one-time-code"');
        expect(field).to.include(`id="code-${choice}"`).and.not.include("value=");
        expect(form).to.include(`<label for="code-${choice}">Code`);
        // Read alone by a screen reader, each label names its choice.
        expect(form).to.include(`<span class="unseen"> to ${choice}</span></label>`);
      }
      pages.view = {};
      expect((await pages.get()).body).not.to.match(/one-time-code|name="code"/);
    });

    it("the typed code is passed on without blanks, with either choice, and an empty field is no code", async () => {
      for (const [typed, code] of [
        ["4831", "4831"],
        [" 48 31\u00a0\n", "4831"],
        ["", undefined],
        ["  \t", undefined],
        ["0000", "0000"],
        ["٤٨٣١", "٤٨٣١"],
      ] as const) {
        for (const decision of ["approve", "reject"] as const) {
          await press(decision, { code: typed });
          expect(pages.decided.pop()?.code, typed).to.equal(code);
        }
      }
      const twice = `decision=approve&nonce=${await pages.nonce("approve")}&code=1&code=2`;
      await pages.post(twice);
      expect(pages.decided.pop()?.code).to.equal(undefined);
    });

    it("a missing or wrong code is asked for again, with the tries left, and is not repeated in the page", async () => {
      for (const [result, status, sentence] of [
        [{ kind: "code_missing" }, 422, "Please type the four digits"],
        [{ kind: "code_wrong", triesLeft: 4 }, 403, "You have 4 tries left"],
        [{ kind: "code_wrong", triesLeft: 1 }, 403, "You have one try left"],
      ] as const) {
        pages.result = async () => result;
        const answer = await press("reject", { code: "4831", reason: "typed already" });
        expect(answer.status).to.equal(status);
        expect(answer.title).to.match(/^Not decided yet/);
        expect(answer.body).to.include('role="alert"').and.include(sentence).and.include("typed already");
        expect(answer.body).not.to.include("4831");
        expect(nonceIn(answer.body, "reject")).not.to.equal("");
      }
    });

    it("a press with a code but without the page's nonce is refused", async () => {
      const answer = await pages.post({ decision: "approve", nonce: "1.x", code: "4831" });
      expect([answer.status, pages.decided]).to.deep.equal([403, []]);
    });
  });

  describe("the outcome of a press", () => {
    const outcomes: [Awaited<ReturnType<ApprovalPagesServer["result"]>>, number, string, string][] = [
      [{ kind: "approved", sending: true }, 200, "Approved and on its way", "marta.lind@posten.example"],
      [{ kind: "approved", sending: false }, 200, "Approved", "has not been sent"],
      [{ kind: "approved", sending: false, note: "sending_paused" }, 200, "Approved, and waiting", "Sending is paused"],
      [
        { kind: "approved", sending: false, note: "plan_limit_reached" },
        200,
        "Approved, but not sent",
        "limit for outgoing mail",
      ],
      [{ kind: "approved", sending: false, note: "identity_disabled" }, 200, "Approved, but not sent", "is disabled"],
      [{ kind: "rejected" }, 200, "Rejected", "will not be sent"],
      [
        { kind: "already_decided", view: carded({ ...ordinary, ...decided("rejected") }) },
        200,
        "Already rejected",
        "anna@harbour.example",
      ],
      [{ kind: "changed" }, 409, "This draft changed: review the new version", "Nothing was decided"],
      [{ kind: "stale", newer }, 409, "Not sent: a newer message arrived", "my neighbour has just given me her copy"],
      [
        { kind: "stale", newer: { ...newer, newText: null } },
        409,
        "Not sent: a newer message arrived",
        "cannot be shown yet",
      ],
      [{ kind: "expired" }, 410, "This link has expired", "Nothing was decided"],
      [{ kind: "closed", because: "wrong_codes" }, 410, "This link was closed", "Five wrong codes"],
      [{ kind: "unknown" }, 404, "Page not found", "cut off"],
    ];
    for (const [result, status, title, sentence] of outcomes) {
      it(`the page after a press has its outcome as title: ${title} (${sentence})`, async () => {
        pages.result = async () => result;
        const page = await pages.post({ decision: "approve", nonce: await pages.nonce("approve") });
        expect([page.status, page.title]).to.deep.equal([status, title]);
        expect(page.body).to.include(sentence).and.to.include(`<h1>${title}</h1>`).and.not.to.include("<form");
      });
    }
  });

  describe("the button of an expired link's page", () => {
    const possible: PossibleRenewal = {
      ...{ workspaceId: "w1", workspaceName: "Harbour <b> https://evil.example/", kind: "possible" },
      place: { type: "email", address: "anna@harbour.example" },
    };
    const press = (nonce: string) => pages.post({ decision: "renew", nonce });
    beforeEach(() => {
      pages.view = { expiresAt: "2026-11-20T12:00:00.000Z" };
      pages.renewal = possible;
      pages.renewed = { ...possible, kind: "requested" };
    });

    it("an expired link's page names the mailbox and the workspace, shows nothing of the draft, and asks by its button alone", async () => {
      const { status, title, body } = await pages.get();
      expect([status, title]).to.deep.equal([410, "This link has expired"]);
      expect(body).to.include("anna@harbour.example").and.include(">Mail me a new request</button>");
      expect(body)
        .to.include("Harbour &lt;b&gt;")
        .and.not.match(/https:\/\/evil\.example|atlas|marta\.lind/);
      const nonce = nonceIn(body, "renew");
      for (let n = 0; n < 20; n += 1) await pages.get(`/a/${token}?decision=renew&nonce=${nonce}`);
      expect([pages.renewals, pages.notified]).to.deep.equal([[], []]);
      const pressed = await press(nonce);
      expect([pressed.status, pressed.title]).to.deep.equal([200, "A new request is on its way"]);
      expect(pages.renewals).to.deep.equal([
        { token, ip: "127.0.0.1", userAgent: "a browser", requestId: "request-1" },
      ]);
      expect([pages.notified, pages.decided]).to.deep.equal([["w1"], []]);
    });

    it("a press without the page's nonce, or an hour after it was opened, asks nobody and shows the button again", async () => {
      const nonce = nonceIn((await pages.get()).body, "renew");
      for (const bad of ["", "1.x", `${nonce.slice(0, -1)}_`]) expect((await press(bad)).status).to.equal(403);
      pages.now = new Date(pages.now.getTime() + 3_600_000);
      const late = await press(nonce);
      expect([late.status, nonceIn(late.body, "renew") !== ""]).to.deep.equal([403, true]);
      expect(late.body).to.include("no new request was made");
      expect([pages.renewals, pages.notified]).to.deep.equal([[], []]);
    });

    it("a press on a link that works shows its page, and asks nobody", async () => {
      const nonce = nonceIn((await pages.get()).body, "renew");
      pages.view = {};
      const { status, body } = await press(nonce);
      expect([status, nonceIn(body, "approve") !== ""]).to.deep.equal([200, true]);
      expect([pages.renewals, pages.notified]).to.deep.equal([[], []]);
    });

    it("a press above the workspace's rate of requests asks nobody, and says when to try again", async () => {
      const nonce = nonceIn((await pages.get()).body, "renew");
      pages.notifyFails = new Rejected("rate_limited", "too many", { retryAfter: 40 });
      const { status, title, headers } = await press(nonce);
      expect([status, title, headers.get("retry-after")]).to.deep.equal([429, "Please try again in a minute", "40"]);
      expect(pages.renewals).to.be.empty;
    });

    it("a press that another one overtook says what is so now", async () => {
      const nonce = nonceIn((await pages.get()).body, "renew");
      pages.renewed = { ...possible, kind: "recent" };
      pages.renewal = possible;
      const first = await press(nonce);
      expect([first.status, first.title]).to.deep.equal([410, "This link has expired"]);
      pages.renewal = { ...possible, kind: "live" };
      const second = await press(nonce);
      expect([second.status, pages.renewals.length]).to.deep.equal([410, 1]);
      expect(second.body).to.include("A newer request is valid").and.not.include("<form");
    });

    const without: [Renewal["kind"], string][] = [
      ["stopped", "is stopped, so no new request can be mailed"],
      ["live", "A newer request is valid, or on its way"],
      ["recent", "A new request was made a short while ago"],
      ["elsewhere", "Other approvers are asked about this draft now"],
      ["changes_requested", "You will be asked about its next version"],
      ["decided", "Nothing waits for a decision behind this link"],
    ];
    for (const [kind, words] of without) {
      it(`an expired link's page without a button says why, and who can be asked: ${kind}`, async () => {
        pages.renewal = { ...possible, kind } as Renewal;
        const { status, body } = await pages.get();
        expect([status, body.includes(words)]).to.deep.equal([410, true]);
        expect(body).to.include("Its owners, or the people who run the agent").and.include('href="/review"');
        expect(body).not.to.include("<form");
      });
    }

    for (const [type, label] of [
      ["telegram", "Ask again in Telegram"],
      ["slack", "Ask again in Slack"],
    ] as const) {
      it(`an expired link's page asks again in its chat: ${type}`, async () => {
        pages.renewal = { ...possible, place: { type } };
        const { body } = await pages.get();
        expect(body).to.include(`>${label}</button>`).and.not.include("anna@harbour.example");
        pages.renewed = { ...pages.renewal, kind: "requested" };
        expect((await press(nonceIn(body, "renew"))).body).to.include("Look into the chat");
      });
    }
  });

  describe("the offers of the page after a press", () => {
    const undoUntil = "2026-11-20T12:00:10.000Z";
    const approve = async (path?: string) =>
      pages.post({ decision: "approve", nonce: await pages.nonce("approve") }, path);

    it("the page after an approval offers the undo, and only the press of its button undoes", async () => {
      pages.result = async () => ({ kind: "approved", sending: true, undoUntil });
      const { body } = await approve();
      expect(body).to.include("in a few seconds, unless you undo").and.to.include(">Undo the approval</button>");
      const nonce = nonceIn(body, "undo");
      for (let n = 0; n < 20; n += 1) await pages.get(`/a/${token}?decision=undo&nonce=${nonce}`);
      expect(pages.undone).to.be.empty;
      const answer = await pages.post({ decision: "undo", nonce });
      expect([answer.status, answer.title]).to.deep.equal([200, "Your approval is undone"]);
      expect(pages.undone).to.deep.equal([{ token, ip: "127.0.0.1", userAgent: "a browser", requestId: "request-1" }]);
      expect(pages.decided).to.have.length(1);
    });

    it("an undo with the nonce of another button, of another page or of the hour before is refused", async () => {
      pages.result = async () => ({ kind: "approved", sending: true, undoUntil });
      const late = nonceIn((await approve()).body, "undo");
      for (const nonce of [await pages.nonce("approve"), await pages.nonce("reject"), "", "1.x"]) {
        const { status, title } = await pages.post({ decision: "undo", nonce });
        expect([status, title]).to.deep.equal([403, "Nothing was undone"]);
      }
      pages.now = new Date(pages.now.getTime() + hour);
      expect((await pages.post({ decision: "undo", nonce: late })).status).to.equal(403);
      expect(pages.undone).to.be.empty;
    });

    it("an opened page of a decided draft offers the undo only if this link approved and the time is not over", async () => {
      for (const [undo, offered] of [
        [undoUntil, true],
        [null, false],
      ] as const) {
        pages.view = { ...decided("approved"), undoUntil: undo };
        expect((await pages.get()).body.includes("Undo the approval")).to.equal(offered);
      }
      pages.view = { ...decided("approved"), undoUntil, expiresAt: "2026-11-20T11:00:00.000Z" };
      expect((await pages.get()).body).not.to.include("Undo the approval");
    });

    it("the page after a rejection offers no undo", async () => {
      pages.result = async () => ({ kind: "rejected" });
      const { body } = await pages.post({ decision: "reject", nonce: await pages.nonce("reject") });
      expect(body).to.include("<h1>Rejected</h1>").and.not.to.include("Undo");
    });

    it("a page that was opened from a list leads to the next draft of that list and back to it", async () => {
      pages.next = { token: "N".repeat(43) };
      const { body } = await approve(`/a/${token}?d=approve&list=${list}`);
      expect(body)
        .to.include(`href="${"N".repeat(43)}?d=approve&amp;list=${list}"`)
        .and.to.include(`href="../l/${list}"`);
      pages.next = { token: null };
      expect((await approve(`/a/${token}?list=${list}`)).body).to.include("No other draft on your list waits for you.");
    });

    it("a page that was opened from no list, or from one that does not exist, leads to the console", async () => {
      for (const query of ["", "?list=", `?list=${"x".repeat(43)}`, `?list=${list}&list=${list}`, "?list=%3Cb%3E"]) {
        const { body } = await approve(`/a/${token}${query}`);
        expect(body, query).to.include('href="/review"').and.not.to.include("../l/");
      }
    });
  });

  describe("failures behind an approval page", () => {
    it("an approval page asks to try again if the look-up or the decision is unavailable", async () => {
      const nonce = await pages.nonce("approve");
      pages.result = async () => {
        throw new Unavailable("the log is away");
      };
      const pressed = await pages.post({ decision: "approve", nonce });
      expect(pressed.body).to.include("could not confirm your decision");
      pages.findFails = new Unavailable("the read model is away");
      for (const page of [pressed, await pages.get()]) {
        expect([page.status, page.title]).to.deep.equal([503, "Please try again in a moment"]);
        expect(page.headers.get("retry-after")).to.equal("2");
        expect(page.headers.get("content-security-policy")).to.include("default-src 'none'");
        expect(page.body).not.to.include("away");
      }
      expect(pages.errors).to.be.empty;
    });

    it("an internal error is logged, and its details are not shown on the page", async () => {
      pages.findFails = new Error("secret detail");
      const page = await pages.get();
      expect(page.status).to.equal(500);
      expect(page.body).not.to.include("secret detail");
      expect(pages.errors).to.deep.equal([pages.findFails]);
    });
  });
});
