import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { expect } from "chai";
import PostalMime from "postal-mime";
import { updateIdentity } from "#src/commands/identities/identities.ts";
import { operator } from "#test/support/cause.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { startPictureServer } from "#test/support/pictureServer.ts";
import { pictures } from "#test/support/pictures.ts";
import { worksInThreads } from "#test/support/sharedThreads.ts";
import type { StoryContent, StoryDraft } from "#test/support/story/draft.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");
const shell = (body: string) => `<!doctype html><html><head><meta charset="utf-8"></head><body>${body}</body></html>`;
const attached = (content_id: string | null, bytes: Buffer, [content_type, filename] = ["image/png", "a.png"]) => ({
  filename,
  content_type,
  content: bytes.toString("base64"),
  ...(content_id === null ? {} : { content_id }),
});

describe("http: what is shown is what is sent", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  const submit = async (content: StoryContent) => tenant.submit(await tenant.mail(), content);
  const submitted = async (content: StoryContent, to = tenant.identity) =>
    tenant.draft(await tenant.mail({ to }), content);
  const askedByMail = (to: string) => tenant.newIdentity({ approvalChannel: { type: "email", config: { to } } });
  const patchIdentity = async (id: string, json: object) => tenant.ask(`PATCH /v1/identities/${id}`, { json });

  /** Sends the draft by a key; returns the mail that was handed over. */
  async function sent(draft: StoryDraft) {
    await draft.sendNow();
    const { rows } = await service.database.query<{ id: number }>("select id from work.outbox order by id desc");
    for (const { id } of rows) {
      const raw = (await service.outbox.raw(id)) as Buffer;
      const parsed = await PostalMime.parse(raw);
      if (parsed.inReplyTo && parsed.to?.[0]?.address === "ann@customer.example") return { raw, parsed };
    }
    throw new Error("it was not sent");
  }

  it("parts of a body that no approver is shown are removed when the draft is submitted, and are not sent", async () => {
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
    const submission = await submitted({ body_html });
    const draft = submission.json;
    expect(draft.body_html).to.include("Dear Ann").and.to.include("Our shop");
    const what = draft.html_removed.map((removed: any) => removed.what);
    expect(what).to.include.members(["element:textarea", "element:select", "element:input", "comment", "image:remote"]);
    const { raw, parsed } = await sent(submission);
    for (const secret of hidden) {
      expect(JSON.stringify(draft), secret).not.to.include(secret);
      expect(raw.toString("latin1"), secret).not.to.include(secret);
      expect(`${parsed.html}${parsed.text}`, secret).not.to.include(secret);
    }
    expect(parsed.html?.trimEnd()).to.equal(shell(draft.body_html));
  });

  it("HTML within the limits is returned and sent byte for byte", async () => {
    const body_html =
      '<div dir="ltr">Hello&nbsp;Ann,<br>\n  <b>it</b> costs &euro;5 &#8212; <a href="https://shop.example/?a=1&amp;b=2">see</a></div>';
    const draft = await submitted({
      body_html,
      body_text: "Hello Ann,\nit costs €5 — see https://shop.example/?a=1&b=2",
    });
    expect(draft.json).to.deep.include({ body_html, html_removed: [], text_derived: false });
    expect(await draft.edit({ body_html })).to.include({ version: 1, body_html });
    expect((await sent(draft)).parsed.html?.trimEnd()).to.equal(shell(body_html));
  });

  it("a style that strikes, raises or renumbers text becomes an element that everybody is shown, or is removed and named", async () => {
    const asked = await askedByMail("marks@x.example");
    const given =
      '<p>We will <span style="text-decoration:line-through">not</span> pay 10<span style="vertical-align:super;font-size:9px">00</span></p><ol start=1000 style="list-style-type:none"><li>a</li></ol>';
    const kept = '<p>We will <s>not</s> pay 10<sup style="font-size:9px">00</sup></p><ol start="1000"><li>a</li></ol>';
    const draft = await submitted({ body_html: given }, asked);
    expect(draft.json.body_html).to.equal(kept);
    expect(draft.json.html_removed).to.deep.equal([{ what: "style:list-style-type", count: 1 }]);
    const text = "We will ~~not~~ pay 10^00\n\n 1000. a";
    expect((await draft.content()).body_text).to.equal(text);
    const approval = await draft.approvalMail("marks@x.example");
    expect(approval.text).to.include("~~not~~ pay 10^00").and.to.include("1000. a");
    expect(approval.html).to.include("~~not~~ pay 10^00").and.to.include("1000. a");
    const page = await fetch(`${service.url}/a/${approval.token()}`);
    const shown = (await page.text()).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"');
    expect(shown).to.include('We will <s>not</s> pay 10<sup>00</sup></p><ol start="1000"><li>a</li></ol>');
    const { parsed } = await sent(draft);
    expect(parsed.html?.trimEnd()).to.equal(shell(kept));
    expect(parsed.text?.trimEnd()).to.equal(text);
  });

  it("a draft with HTML of which nothing can be shown, or that is too deep, is refused, also if it has a text", async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ body_html: "<style>p{}</style><!-- only -->" }, "body_html"],
      [{ body_html: "<img src='https://x.example/p.gif'>", body_text: "Hello." }, "body_html"],
      [{ body_html: "  \n&nbsp;", body_text: "Hello." }, "body_html"],
      [{ body_html: `${"<div>".repeat(101)}x${"</div>".repeat(101)}`, body_text: "Hello." }, "body_html"],
    ];
    for (const [body, field] of cases) {
      const { outcome, json } = await submit(body);
      expect([outcome, json.field], JSON.stringify(body)).to.deep.equal(["422 invalid_request", field]);
      expect(json.message.length).to.be.greaterThan(40);
    }
    const draft = await submitted({ body_html: `${"<div>".repeat(100)}x${"</div>".repeat(100)}` });
    expect((await draft.ask("PATCH", { json: { body_html: "<script>1</script>" } })).status).to.equal(422);
  });

  it("long bodies are reduced, read and compared in worker threads with the same result; short ones are not", async () => {
    const link = '<a href="https://x.example/">a</a> <b>b</b>';
    let draft!: StoryDraft;
    const works = await worksInThreads(async () => {
      draft = await submitted({ body_html: link.repeat(6_000) });
    });
    expect(works).to.include.members(["picturesNamed", "reduceBody", "textOfBody"]);
    const { body_html, body_text } = await draft.content();
    expect(body_html).to.equal(link.repeat(6_000));
    expect(body_text.split("https://x.example/")).to.have.length(6_001);

    const approver = await askedByMail("boss@approvers.example");
    const worksOf = (content: StoryContent) => worksInThreads(async () => (await submitted(content, approver)).asked());
    const long = { body_html: `<p>${"b ".repeat(600)}</p>`, body_text: "a ".repeat(600) };
    expect(await worksOf(long)).to.deep.equal(["versionWarnings", "reviewCard"]);
    expect(await worksOf({ body_html: "<p>Short</p>", body_text: "Short, too" })).to.deep.equal([]);
  });

  it("a draft without a text gets one made from its HTML when it is submitted, and stores it", async () => {
    const draft = await submitted({ body_html: "<p>One</p><ol><li>first</li><li>second</li></ol>" });
    expect(draft.json).to.include({ body_text: null, text_derived: true });
    const content = await draft.content();
    expect(content.body_text).to.match(/One\s+1\. first\s+2\. second/);
    expect(sha256(canonicalize(content) as string)).to.equal(draft.json.content_sha256);
    expect(await draft.edit({ body_html: "<p>Two</p>" })).to.include({ body_text: null, text_derived: true });
    expect((await draft.content()).body_text).to.equal("Two");
    expect(await draft.edit({ body_text: "Two!" })).to.include({ body_text: "Two!", text_derived: false });
    expect(await draft.edit({ body_text: null })).to.include({ body_text: null, text_derived: true });
    const { data } = (await draft.ask("GET versions")).json;
    expect(data.map((version: any) => version.body_text)).to.deep.equal([null, null, "Two!"]);
    expect((await sent(draft)).parsed.text?.trim()).to.equal("Two");
  });

  const png = sha256(pictures.png);

  it("pictures in a body are attachments named by content id, and bound by the hash of their bytes", async () => {
    const draft = await submitted({
      body_html: '<p>Look: <img src="cid:logo" alt="Logo"></p>',
      attachments: [
        attached("logo", pictures.png, ["text/html", "logo.png"]),
        attached(null, Buffer.from("x"), ["text/plain", "x.txt"]),
      ],
    });
    const { body_html, attachments } = draft.json;
    expect(body_html).to.equal(`<p>Look: <img src="cid:${png}" alt="Logo"></p>`);
    expect(attachments[0]).to.deep.equal({ filename: "logo.png", content_type: "image/png", sha256: png });
    const { parsed, raw } = await sent(draft);
    expect(parsed.html?.trimEnd()).to.equal(shell(body_html));
    expect(
      parsed.attachments.map(({ contentId, disposition, mimeType }) => [contentId, disposition, mimeType]),
    ).to.deep.equal([
      [`<${png}>`, "inline", "image/png"],
      [undefined, "attachment", "text/plain"].map((each) => each ?? parsed.attachments[1]?.contentId),
    ]);
    expect(Buffer.from(parsed.attachments[0]?.content as ArrayBuffer)).to.deep.equal(pictures.png);
    expect(raw.toString("latin1")).to.include("multipart/related");
  });

  it("pictures in a data URL become attachments, and are removed with the body that had them", async () => {
    const data = `data:image/gif;base64,${pictures.gif.toString("base64")}`;
    const draft = await submitted({ body_html: `<p>A <img src="${data}" alt="dot"></p>` });
    const gif = sha256(pictures.gif);
    const { body_html, attachments } = draft.json;
    expect(body_html).to.equal(`<p>A <img src="cid:${gif}" alt="dot"></p>`);
    expect(attachments).to.deep.equal([{ filename: "picture-1.gif", content_type: "image/gif", sha256: gif }]);
    const kept = await draft.edit({ body_html: body_html.replace("A", "B") });
    expect([kept.version, kept.attachments.length]).to.deep.equal([2, 1]);
    expect((await draft.edit({ body_html: "<p>C</p>" })).attachments).to.deep.equal([]);
    expect((await draft.edit({ body_html })).html_removed).to.deep.equal([{ what: "element:img", count: 1 }]);
  });

  it("pictures of another draft, that are not attached, or that are no pictures are not shown", async () => {
    const other = await submitted({
      body_html: '<p>x <img src="cid:a" alt="A"></p>',
      attachments: [attached("a", pictures.webp, ["image/webp", "a.webp"])],
    });
    const draft = await submitted({
      body_html: `<p>y <img src="cid:${other.json.attachments[0].sha256}" alt="foreign"><img src="cid:no"><img src="cid:pdf"></p>`,
      attachments: [attached("pdf", Buffer.from("%PDF-1.7"), ["image/png", "a.pdf"])],
    });
    expect(draft.json.body_html).to.include("foreign").and.not.to.include("<img");
    expect(draft.json.html_removed).to.deep.include({ what: "element:img", count: 3 });
    expect(draft.json.attachments).to.have.length(1);
  });

  it("pictures in a body have the type of their bytes, whatever was declared or appended", async () => {
    const trap = Buffer.concat([
      pictures.gif,
      Buffer.from("<html><body><p>We will pay 1,000,000 EUR.</p></body></html>"),
    ]);
    const draft = await submitted({
      body_html: `<p>Hi <img alt="5 > 3" src="cid:${sha256(trap)}"></p>`,
      body_text: "Hi",
      attachments: [attached(null, trap, ["text/html", "logo.html"])],
    });
    expect(draft.json.attachments[0].content_type).to.equal("image/gif");
    const { parsed } = await sent(draft);
    expect(parsed.attachments.map(({ mimeType, contentId }) => [mimeType, contentId])).to.deep.equal([
      ["image/gif", `<${sha256(trap)}>`],
    ]);
    expect(`${parsed.html}${parsed.text}`).not.to.include("1,000,000");
  });

  it("pictures that are too large for the page, or that move, are not shown in a body", async () => {
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
    expect(draft.json.html_removed).to.deep.equal([{ what: "element:img", count: 1 }]);
  });

  it("pictures are in the approval page itself, on white and on black", async () => {
    const asked = await askedByMail("boss@x.example");
    const draft = await submitted(
      { body_html: '<p>Look <img src="cid:logo" alt="Logo"></p>', attachments: [attached("logo", pictures.png)] },
      asked,
    );
    const page = await fetch(`${service.url}/a/${(await draft.approvalMail()).token()}`);
    const text = (await page.text()).replaceAll("&quot;", '"').replaceAll("&amp;", "&");
    const data = `src="data:image/png;base64,${pictures.png.toString("base64")}"`;
    expect(text.split(data)).to.have.length(3);
    expect(text).to.include("[image: Logo]");
    expect(draft.json.attachments).to.have.length(1);
  });

  it("pictures keep their content ids through edits; two attachments cannot have the same one", async () => {
    const draft = await submitted({
      body_text: "Hi",
      attachments: [attached("a%20b", pictures.jpeg, ["image/jpeg", "a.jpg"])],
    });
    const { body_html } = await draft.edit({ body_html: '<img src="cid:a%2520b" alt="hi">' });
    expect(body_html).to.equal(`<img src="cid:${sha256(pictures.jpeg)}" alt="hi">`);
    const twice = await submit({
      body_text: "x",
      attachments: [attached("a", pictures.png), attached("a", pictures.gif)],
    });
    expect([twice.status, twice.json.field]).to.deep.equal([422, "attachments[1].content_id"]);
    const bad = await submit({ body_text: "x", attachments: [attached("a b", pictures.png)] });
    expect([bad.status, bad.json.field]).to.deep.equal([422, "attachments[0].content_id"]);
  });

  it("a signature is reduced when it is saved, and its pictures are fetched once and sent in the mail", async () => {
    const web = await startPictureServer({ "/logo.png": pictures.png, "/page.html": Buffer.from("<html>") });
    /** Saves a signature as PATCH /v1/identities does, with a source of pictures that may reach this server. */
    const save = async (signatureHtml: string) => {
      const update = {
        workspaceId: tenant.id,
        identityId: tenant.identity.id,
        changes: { signatureHtml },
        mayLoosen: false,
      };
      await updateIdentity({ ...service.deps, pictures: web.source }, update, operator(tenant.id));
      await service.caughtUp();
      return tenant.ask(`GET /v1/identities/${tenant.identity.id}`);
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
      const again = await patchIdentity(tenant.identity.id, { signature_html: json.signature_html });
      expect([again.json.signature_html, again.json.html_removed]).to.deep.equal([json.signature_html, []]);
      const draft = await submitted({ body_html: "<p>Hello</p>", body_text: "Hello" });
      const content = await draft.content();
      expect([content.signature_html, content.attachments]).to.deep.equal([json.signature_html, []]);
      expect(content.signature_text).to.match(/^Ann .*Logo/);
      const { parsed } = await sent(draft);
      expect(parsed.html?.trimEnd()).to.equal(shell(`<p>Hello</p>${json.signature_html}`));
      expect(parsed.text?.trim()).to.equal(`Hello\n\n-- \n${content.signature_text}`);
      expect(parsed.attachments.map(({ contentId }) => contentId)).to.deep.equal([`<${png}>`]);
      expect(web.asked.length, "nothing is fetched at a send").to.equal(asked);
      const foreign = await tenant.newIdentity();
      const stolen = await patchIdentity(foreign.id, { signature_html: json.signature_html });
      expect(stolen.json.signature_html, "another identity's picture").not.to.include("<img");
    } finally {
      await web.stop();
      await patchIdentity(tenant.identity.id, { signature_html: null });
    }
  });

  it("a signature given as text is in the HTML too; a difference of its two forms is reported", async () => {
    const own = await tenant.newIdentity({ signatureText: "Ann\nDesk <1>" });
    const draft = await submitted({ body_html: "<p>Hello</p>" }, own);
    const content = await draft.content();
    expect(content.signature_text).to.equal("Ann\nDesk <1>");
    expect(content.signature_html).to.match(/Ann<br>\n?Desk &lt;1&gt;/);
    const plain = await submitted({ body_text: "Hello" }, own);
    expect((await plain.content()).signature_html).to.equal(null);
    const forms = { signature_html: "<p>Ann<br>Desk 2, $5</p>", signature_text: "Ann\nDesk 1, €5" };
    const { json } = await patchIdentity(own.id, forms);
    expect(json.signature_difference.only_html.join(" ")).to.include("2").and.to.include("$");
    const same = await patchIdentity(own.id, { signature_html: "<p>Ann<br>Desk 1, €5</p>" });
    expect(same.json.signature_difference).to.equal(null);
    const refused = await patchIdentity(own.id, { signature_html: "<script>1</script>" });
    expect([refused.status, refused.json.field]).to.deep.equal([422, "signature_html"]);
  });
});
