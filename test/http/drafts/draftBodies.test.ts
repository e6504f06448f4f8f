import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { expect } from "chai";
import PostalMime from "postal-mime";
import { updateIdentity } from "#src/commands/identities/identities.ts";
import { operator } from "#test/support/cause.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startPictureServer } from "#test/support/pictureServer.ts";
import { pictures } from "#test/support/pictures.ts";
import { worksInThreads } from "#test/support/sharedThreads.ts";

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const shell = (body: string) => `<!doctype html><html><head><meta charset="utf-8"></head><body>${body}</body></html>`;
const attached = (content_id: string | null, bytes: Buffer, [content_type, filename] = ["image/png", "a.png"]) => ({
  filename,
  content_type,
  content: bytes.toString("base64"),
  ...(content_id === null ? {} : { content_id }),
});

describe("what is shown is what is sent", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  async function submit(different: Record<string, unknown>, to = identity) {
    const id = `q${++mails}@customer.example`;
    await service.deliver(to.address, mail({ id, subject: `Question ${mails}` }));
    const thread = (await workspace.ask(`GET /v1/threads?identity_id=${to.id}&limit=1`)).json.data[0];
    const { json } = await workspace.ask(`GET /v1/threads/${thread.id}`);
    const body = { thread_id: thread.id, identity_id: to.id, based_on_message_id: json.messages.at(-1).id };
    return workspace.ask("POST /v1/drafts", { json: { ...body, ...different } });
  }

  async function submitted(different: Record<string, unknown>, to = identity) {
    const { status, json } = await submit(different, to);
    expect(status, JSON.stringify(json)).to.equal(201);
    return json;
  }

  const contentOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}/content`)).json;

  /** The mail as it left, after a key sent it. */
  async function sent(id: string) {
    expect((await workspace.ask(`POST /v1/drafts/${id}/send`)).status).to.equal(202);
    await until(async () => (await workspace.ask(`GET /v1/drafts/${id}`)).json.status === "sent");
    const { json } = await workspace.ask(`GET /v1/drafts/${id}`);
    for await (const caught of service.outbox.after(0)) {
      if (caught.subject !== json.subject || !caught.headers["in-reply-to"]) continue;
      const raw = (await service.outbox.raw(caught.id)) as Buffer;
      return { raw, parsed: await PostalMime.parse(raw) };
    }
    throw new Error("it did not leave");
  }

  it("what no approver was shown never leaves: it is taken out when the draft is submitted", async () => {
    const hidden = [
      "secret textarea",
      "secret option",
      "secret value",
      "secret comment",
      "secret style",
      "secret title",
    ];
    const body_html = [
      "<html><head><title>secret title</title><style>p::after{content:'secret style'}</style></head><body>",
      "<p>Dear Ann</p>",
      "<textarea>secret textarea</textarea><select><option>secret option</option></select>",
      '<input value="secret value"><!--[if mso]>secret comment<![endif]-->',
      '<img src="https://tracker.example/p.gif" alt="Our shop">',
      "</body></html>",
    ].join("");
    const draft = await submitted({ body_html });
    expect(draft.body_html).to.include("Dear Ann").and.to.include("Our shop");
    const what = draft.html_removed.map((removed: any) => removed.what);
    expect(what).to.include.members(["element:textarea", "element:select", "element:input", "comment", "image:remote"]);
    const { raw, parsed } = await sent(draft.id);
    for (const secret of hidden) {
      expect(JSON.stringify(draft), secret).not.to.include(secret);
      expect(raw.toString("latin1"), secret).not.to.include(secret);
      expect(`${parsed.html}${parsed.text}`, secret).not.to.include(secret);
    }
    expect(parsed.html?.trimEnd()).to.equal(shell(draft.body_html));
  });

  it("what lies within the limits comes back, and leaves, byte for byte", async () => {
    const body_html =
      '<div dir="ltr">Hello&nbsp;Ann,<br>\n  <b>it</b> costs &euro;5 &#8212; <a href="https://shop.example/?a=1&amp;b=2">see</a></div>';
    const draft = await submitted({
      body_html,
      body_text: "Hello Ann,\nit costs €5 — see https://shop.example/?a=1&b=2",
    });
    expect([draft.body_html, draft.html_removed, draft.text_derived]).to.deep.equal([body_html, [], false]);
    const again = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_html } });
    expect([again.json.version, again.json.body_html]).to.deep.equal([1, body_html]);
    expect((await sent(draft.id)).parsed.html?.trimEnd()).to.equal(shell(body_html));
  });

  it("a style that strikes, raises or renumbers is an element that everybody is shown, or is gone and named", async () => {
    const asked = await service.identity(workspace.id, {
      approvalChannel: { type: "email", config: { to: "marks@x.example" } },
    });
    const given =
      '<p>We will <span style="text-decoration:line-through">not</span> pay 10<span style="vertical-align:super;font-size:9px">00</span></p><ol start=1000 style="list-style-type:none"><li>a</li></ol>';
    const kept = '<p>We will <s>not</s> pay 10<sup style="font-size:9px">00</sup></p><ol start="1000"><li>a</li></ol>';
    const draft = await submitted({ body_html: given }, asked);
    expect([draft.body_html, draft.html_removed]).to.deep.equal([kept, [{ what: "style:list-style-type", count: 1 }]]);
    const text = "We will ~~not~~ pay 10^00\n\n 1000. a";
    expect((await contentOf(draft.id)).body_text).to.equal(text);
    let approval: { text: string; html: string | undefined } | undefined;
    await until(async () => {
      for await (const caught of service.outbox.after(0)) {
        if (!caught.envelope.to.includes("marks@x.example")) continue;
        const raw = (await service.outbox.raw(caught.id)) as Buffer;
        approval = { text: caught.text, html: (await PostalMime.parse(raw)).html };
      }
      return approval !== undefined;
    });
    expect(approval?.text).to.include("~~not~~ pay 10^00").and.to.include("1000. a");
    expect(approval?.html).to.include("~~not~~ pay 10^00").and.to.include("1000. a");
    const page = await fetch(`${service.url}${/\/a\/[\w-]+/.exec(approval?.text ?? "")?.[0]}`);
    const shown = (await page.text()).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"');
    expect(shown).to.include('We will <s>not</s> pay 10<sup>00</sup></p><ol start="1000"><li>a</li></ol>');
    const { parsed } = await sent(draft.id);
    expect(parsed.html?.trimEnd()).to.equal(shell(kept));
    expect(parsed.text?.trimEnd()).to.equal(text);
  });

  it("refuses HTML of which nothing can be shown, also beside a text, and HTML that is too deep", async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ body_html: "<style>p{}</style><!-- only -->" }, "body_html"],
      [{ body_html: "<img src='https://x.example/p.gif'>", body_text: "Hello." }, "body_html"],
      [{ body_html: "  \n&nbsp;", body_text: "Hello." }, "body_html"],
      [{ body_html: `${"<div>".repeat(101)}x${"</div>".repeat(101)}`, body_text: "Hello." }, "body_html"],
    ];
    for (const [body, field] of cases) {
      const { status, json } = await submit(body);
      expect([status, json.error, json.field], JSON.stringify(body)).to.deep.equal([422, "invalid_request", field]);
      expect(json.message.length).to.be.greaterThan(40);
    }
    const draft = await submitted({ body_html: `${"<div>".repeat(100)}x${"</div>".repeat(100)}` });
    const { status } = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, {
      json: { body_html: "<script>1</script>" },
    });
    expect(status).to.equal(422);
  });

  it("what is long is reduced, read and compared in threads, and is what it would have been; what is short is not", async () => {
    const link = '<a href="https://x.example/">a</a> <b>b</b>';
    let draft: any;
    const works = await worksInThreads(async () => {
      draft = await submitted({ body_html: link.repeat(6_000) });
    });
    expect(works).to.include.members(["picturesNamed", "reduceBody", "textOfBody"]);
    const { body_html, body_text } = await contentOf(draft.id);
    expect(body_html).to.equal(link.repeat(6_000));
    expect(body_text.split("https://x.example/")).to.have.length(6_001);

    const approver = await service.identity(workspace.id, {
      approvalChannel: { type: "email", config: { to: "boss@approvers.example" } },
    });
    const asked = (id: string) =>
      until(async () => {
        return (await workspace.ask(`GET /v1/drafts/${id}`)).json.notification_status.state === "sent";
      });
    const told = await worksInThreads(async () => {
      const { id } = await submitted(
        { body_html: `<p>${"b ".repeat(600)}</p>`, body_text: "a ".repeat(600) },
        approver,
      );
      await asked(id);
    });
    expect(told).to.deep.equal(["reviewCard"]);
    const short = await worksInThreads(async () => {
      const { id } = await submitted({ body_html: "<p>Short</p>", body_text: "Short, too" }, approver);
      await asked(id);
    });
    expect(short).to.deep.equal([]);
  });

  it("a text part that nobody wrote is made when the draft is submitted, and stored", async () => {
    const draft = await submitted({ body_html: "<p>One</p><ol><li>first</li><li>second</li></ol>" });
    expect([draft.body_text, draft.text_derived]).to.deep.equal([null, true]);
    const content = await contentOf(draft.id);
    expect(content.body_text).to.match(/One\s+1\. first\s+2\. second/);
    const hash = createHash("sha256")
      .update(canonicalize(content) as string)
      .digest("hex");
    expect(hash).to.equal(draft.content_sha256);
    const edited = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_html: "<p>Two</p>" } });
    expect([edited.json.body_text, edited.json.text_derived]).to.deep.equal([null, true]);
    expect((await contentOf(draft.id)).body_text).to.equal("Two");
    const written = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text: "Two!" } });
    expect([written.json.body_text, written.json.text_derived]).to.deep.equal(["Two!", false]);
    const taken = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text: null } });
    expect([taken.json.body_text, taken.json.text_derived]).to.deep.equal([null, true]);
    const { data } = (await workspace.ask(`GET /v1/drafts/${draft.id}/versions`)).json;
    expect(data.map((version: any) => version.body_text)).to.deep.equal([null, null, "Two!"]);
    expect((await sent(draft.id)).parsed.text?.trim()).to.equal("Two");
  });

  describe("pictures", () => {
    const png = sha256(pictures.png);

    it("are attachments named by content id, and bound by the hash of their bytes", async () => {
      const draft = await submitted({
        body_html: '<p>Look: <img src="cid:logo" alt="Logo"></p>',
        attachments: [
          attached("logo", pictures.png, ["text/html", "logo.png"]),
          attached(null, Buffer.from("x"), ["text/plain", "x.txt"]),
        ],
      });
      expect(draft.body_html).to.equal(`<p>Look: <img src="cid:${png}" alt="Logo"></p>`);
      expect(draft.attachments[0]).to.deep.equal({ filename: "logo.png", content_type: "image/png", sha256: png });
      const { parsed, raw } = await sent(draft.id);
      expect(parsed.html?.trimEnd()).to.equal(shell(draft.body_html));
      expect(
        parsed.attachments.map(({ contentId, disposition, mimeType }) => [contentId, disposition, mimeType]),
      ).to.deep.equal([
        [`<${png}>`, "inline", "image/png"],
        [undefined, "attachment", "text/plain"].map((each) => each ?? parsed.attachments[1]?.contentId),
      ]);
      expect(Buffer.from(parsed.attachments[0]?.content as ArrayBuffer)).to.deep.equal(pictures.png);
      expect(raw.toString("latin1")).to.include("multipart/related");
    });

    it("inside an address become attachments, and go with the body that had them", async () => {
      const data = `data:image/gif;base64,${pictures.gif.toString("base64")}`;
      const draft = await submitted({ body_html: `<p>A <img src="${data}" alt="dot"></p>` });
      const gif = sha256(pictures.gif);
      expect(draft.body_html).to.equal(`<p>A <img src="cid:${gif}" alt="dot"></p>`);
      expect(draft.attachments).to.deep.equal([{ filename: "picture-1.gif", content_type: "image/gif", sha256: gif }]);
      const kept = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, {
        json: { body_html: draft.body_html.replace("A", "B") },
      });
      expect([kept.json.version, kept.json.attachments.length]).to.deep.equal([2, 1]);
      const gone = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_html: "<p>C</p>" } });
      expect(gone.json.attachments).to.deep.equal([]);
      const back = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_html: draft.body_html } });
      expect(back.json.html_removed).to.deep.equal([{ what: "element:img", count: 1 }]);
    });

    it("of another draft, that are none, or that nobody attached are not shown", async () => {
      const other = await submitted({
        body_html: '<p>x <img src="cid:a" alt="A"></p>',
        attachments: [attached("a", pictures.webp, ["image/webp", "a.webp"])],
      });
      const draft = await submitted({
        body_html: `<p>y <img src="cid:${other.attachments[0].sha256}" alt="foreign"><img src="cid:no"><img src="cid:pdf"></p>`,
        attachments: [attached("pdf", Buffer.from("%PDF-1.7"), ["image/png", "a.pdf"])],
      });
      expect(draft.body_html).not.to.include("<img");
      expect(draft.body_html).to.include("foreign");
      expect(draft.html_removed).to.deep.include({ what: "element:img", count: 3 });
      expect(draft.attachments).to.have.length(1);
    });

    it("inside the letter are what their bytes are, whatever was declared or appended", async () => {
      const trap = Buffer.concat([
        pictures.gif,
        Buffer.from("<html><body><p>We will pay 1,000,000 EUR.</p></body></html>"),
      ]);
      const draft = await submitted({
        body_html: `<p>Hi <img alt="5 > 3" src="cid:${sha256(trap)}"></p>`,
        body_text: "Hi",
        attachments: [attached(null, trap, ["text/html", "logo.html"])],
      });
      expect(draft.attachments[0].content_type).to.equal("image/gif");
      const { parsed } = await sent(draft.id);
      expect(parsed.attachments.map(({ mimeType, contentId }) => [mimeType, contentId])).to.deep.equal([
        ["image/gif", `<${sha256(trap)}>`],
      ]);
      expect(`${parsed.html}${parsed.text}`).not.to.include("1,000,000");
    });

    it("that the page has no room for, or that move, are not shown inside a letter", async () => {
      const large = Buffer.concat([pictures.png, Buffer.alloc(1024 * 1024)]);
      const refused = await submit({ body_html: '<img src="cid:a" alt="a">', attachments: [attached("a", large)] });
      expect([refused.status, refused.json.field]).to.deep.equal([422, "body_html"]);
      const plain = await submit({ body_text: "Hi", attachments: [attached("a", large)] });
      expect(plain.status).to.equal(201);
      const at = pictures.png.indexOf("IDAT") - 4;
      const moving = Buffer.concat([
        pictures.png.subarray(0, at),
        Buffer.from("00000008acTL", "latin1"),
        pictures.png.subarray(at),
      ]);
      const draft = await submitted({
        body_html: '<p>x<img src="cid:a" alt="a"></p>',
        attachments: [attached("a", moving)],
      });
      expect(draft.html_removed).to.deep.equal([{ what: "element:img", count: 1 }]);
    });

    it("stand on the approval page itself, on white and on black", async () => {
      const channel = { type: "email", config: { to: "boss@x.example" } } as const;
      const asked = await service.identity(workspace.id, { approvalChannel: channel });
      const draft = await submitted(
        { body_html: '<p>Look <img src="cid:logo" alt="Logo"></p>', attachments: [attached("logo", pictures.png)] },
        asked,
      );
      let link: string | undefined;
      await until(async () => {
        for await (const caught of service.outbox.after(0)) {
          if (caught.envelope.to.includes("boss@x.example")) link = /\/a\/[\w-]+/.exec(caught.text)?.[0];
        }
        return link !== undefined;
      });
      const page = await fetch(`${service.url}${link}`);
      const text = (await page.text()).replaceAll("&quot;", '"').replaceAll("&amp;", "&");
      const data = `src="data:image/png;base64,${pictures.png.toString("base64")}"`;
      expect(text.split(data)).to.have.length(3);
      expect(text).to.include("[image: Logo]");
      expect(draft.attachments).to.have.length(1);
    });

    it("keep their content ids through edits; two attachments cannot have the same one", async () => {
      const draft = await submitted({
        body_text: "Hi",
        attachments: [attached("a%20b", pictures.jpeg, ["image/jpeg", "a.jpg"])],
      });
      const { json } = await workspace.ask(`PATCH /v1/drafts/${draft.id}`, {
        json: { body_html: '<img src="cid:a%2520b" alt="hi">' },
      });
      expect(json.body_html).to.equal(`<img src="cid:${sha256(pictures.jpeg)}" alt="hi">`);
      const twice = await submit({
        body_text: "x",
        attachments: [attached("a", pictures.png), attached("a", pictures.gif)],
      });
      expect([twice.status, twice.json.field]).to.deep.equal([422, "attachments[1].content_id"]);
      const bad = await submit({ body_text: "x", attachments: [attached("a b", pictures.png)] });
      expect([bad.status, bad.json.field]).to.deep.equal([422, "attachments[0].content_id"]);
    });
  });

  describe("signatures", () => {
    it("are reduced when they are saved, their pictures fetched once and sent inside", async () => {
      const web = await startPictureServer({ "/logo.png": pictures.png, "/page.html": Buffer.from("<html>") });
      /** As PATCH /v1/identities does it, with a source that may reach this server. */
      const save = async (signatureHtml: string) => {
        const update = {
          workspaceId: workspace.id,
          identityId: identity.id,
          changes: { signatureHtml },
          mayLoosen: false,
        };
        await updateIdentity({ ...service.deps, pictures: web.source }, update, operator(workspace.id));
        await service.caughtUp();
        return workspace.ask(`GET /v1/identities/${identity.id}`);
      };
      try {
        const signature_html = `<p onclick="x()">Ann <img src="${web.url("/logo.png")}" alt="Logo"><img src="${web.url("/page.html")}"><img src="${web.url("/gone.png")}"></p>`;
        const { json } = await save(signature_html);
        const png = sha256(pictures.png);
        expect(json.signature_html).to.equal(`<p>Ann <img src="cid:${png}" alt="Logo"></p>`);
        expect(json.html_removed).to.deep.equal([
          { what: "attribute:onclick", count: 1 },
          { what: "image:remote", count: 2 },
        ]);
        const asked = web.asked.length;
        const again = await workspace.ask(`PATCH /v1/identities/${identity.id}`, {
          json: { signature_html: json.signature_html },
        });
        expect([again.json.signature_html, again.json.html_removed]).to.deep.equal([json.signature_html, []]);
        const draft = await submitted({ body_html: "<p>Hello</p>", body_text: "Hello" });
        const content = await contentOf(draft.id);
        expect([content.signature_html, content.attachments]).to.deep.equal([json.signature_html, []]);
        expect(content.signature_text).to.match(/^Ann .*Logo/);
        const { parsed } = await sent(draft.id);
        expect(parsed.html?.trimEnd()).to.equal(shell(`<p>Hello</p>${json.signature_html}`));
        expect(parsed.text?.trim()).to.equal(`Hello\n\n-- \n${content.signature_text}`);
        expect(parsed.attachments.map(({ contentId }) => contentId)).to.deep.equal([`<${png}>`]);
        expect(web.asked.length, "nothing is fetched at a send").to.equal(asked);
        const foreign = await service.identity(workspace.id);
        const stolen = await workspace.ask(`PATCH /v1/identities/${foreign.id}`, {
          json: { signature_html: json.signature_html },
        });
        expect(stolen.json.signature_html, "another identity's picture").not.to.include("<img");
      } finally {
        await web.stop();
        await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { signature_html: null } });
      }
    });

    it("given as text are in the HTML too; two forms that differ are told of", async () => {
      const own = await service.identity(workspace.id, { signatureText: "Ann\nDesk <1>" });
      const draft = await submitted({ body_html: "<p>Hello</p>" }, own);
      const content = await contentOf(draft.id);
      expect(content.signature_text).to.equal("Ann\nDesk <1>");
      expect(content.signature_html).to.match(/Ann<br>\n?Desk &lt;1&gt;/);
      const plain = await submitted({ body_text: "Hello" }, own);
      expect((await contentOf(plain.id)).signature_html).to.equal(null);
      const { json } = await workspace.ask(`PATCH /v1/identities/${own.id}`, {
        json: { signature_html: "<p>Ann<br>Desk 2, $5</p>", signature_text: "Ann\nDesk 1, €5" },
      });
      expect(json.signature_difference.only_html.join(" ")).to.include("2").and.to.include("$");
      const same = await workspace.ask(`PATCH /v1/identities/${own.id}`, {
        json: { signature_html: "<p>Ann<br>Desk 1, €5</p>" },
      });
      expect(same.json.signature_difference).to.equal(null);
      const refused = await workspace.ask(`PATCH /v1/identities/${own.id}`, {
        json: { signature_html: "<script>1</script>" },
      });
      expect([refused.status, refused.json.field]).to.deep.equal([422, "signature_html"]);
    });
  });
});
