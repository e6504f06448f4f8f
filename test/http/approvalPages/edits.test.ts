import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

type Mail = Awaited<ReturnType<StoryDraft["approvalMail"]>>;
type Fields = Record<string, string>;

const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll("&amp;", "&");

describe("an edit on an approval link's page", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  const boss = { type: "email", config: { to: "boss@example.com" } } as const;
  const set = (json: object) => tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json });
  /** Settings with which the page can edit. */
  const allowed = { edit_by_channel: true, confirm_code: true };

  before(async () => {
    ({ service, tenant } = await startStory({}, { identity: { approvalChannel: boss, requireHumanApproval: true } }));
    expect((await set(allowed)).status).to.equal(200);
  });
  after(() => service.stop());

  async function asked(content: object = { body_text: "It arives tomorow." }) {
    const draft = await tenant.draft(await tenant.mail(), content);
    const mail = await draft.approvalMail();
    return { draft, mail, ...pageOf(mail) };
  }
  const pageOf = (mail: Mail, decision: "approve" | "reject" = "approve") => ({
    url: `${service.url}/a/${mail.token(decision)}`,
    code: /CODE: (\d{4})\n/.exec(mail.text)?.[1] ?? "",
  });
  const answerOf = async (response: Response) => ({ status: response.status, page: await response.text() });
  const open = async (url: string) => (await answerOf(await fetch(url))).page;
  const post = async (url: string, fields: Fields) =>
    answerOf(await fetch(`${url}?edit=1`, { method: "POST", body: new URLSearchParams(fields) }));
  /** The hidden fields of the form with this button. */
  const fieldsIn = (page: string, act: string): Fields => {
    const form = page.split("<form").find((part) => part.includes(`value="${act}"`)) ?? "";
    const inputs = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
    return Object.fromEntries(inputs.map(([, name = "", value = ""]) => [name, unescaped(value)]));
  };
  const edit = { subject: "Your parcel", text: "It arrives tomorrow.\n\nRegards" };

  /** Opens the page and presses "Check the edit". */
  async function preview(url: string, typed: Fields = edit) {
    const nonce = fieldsIn(await open(url), "preview").nonce ?? "";
    return post(url, { ...typed, nonce, act: "preview" });
  }
  const send = (url: string, page: string, more: Fields) =>
    post(url, { ...fieldsIn(page, "send"), act: "send", ...more });
  const typesOf = async (draft: StoryDraft) => (await draft.history()).map(({ type }) => type);
  /** Lets the time to undo pass, and waits until the draft is sent. */
  async function sent(draft: StoryDraft) {
    service.clock.advance(10_000);
    return draft.becomes("sent");
  }
  const untouched = async (draft: StoryDraft) => {
    const { status, version } = await draft.read();
    expect({ status, version }).to.deep.equal({ status: "pending", version: 1 });
    expect(await typesOf(draft)).not.to.include.members(["DraftEdited"]);
  };

  it("an approver edits the text, sees what changes, and the last press sends exactly that", async () => {
    const { draft, mail, url, code } = await asked();
    expect(mail.text).to.include(`${new URL(url).pathname}?d=approve#edit-form`);
    const shown = await preview(url);
    expect(shown.status, shown.page).to.equal(200);
    expect(shown.page).to.include("<ins>").and.to.include("It arrives tomorrow.").and.to.include("not saved yet");
    await untouched(draft);
    const done = await send(url, shown.page, { code });
    expect([done.status, done.page.includes("<h1>Approved</h1>")], done.page).to.deep.equal([200, true]);
    const mailed = await sent(draft);
    expect(mailed).to.include({ version: 2, subject: edit.subject, body_text: edit.text });
    expect(mailed.decided_by).to.deep.include({ kind: "email_link", id: "boss@example.com", version: 2 });
    const events = await draft.history();
    const at = events.findIndex(({ type }) => type === "DraftEdited");
    expect(events.slice(at, at + 2).map(({ type }) => type)).to.deep.equal(["DraftEdited", "DraftApproved"]);
    expect(events[at].data.content_sha256).to.equal(fieldsIn(shown.page, "send").previewed);
    const letters = (await service.outbox.newest(100)).filter(({ envelope }) => envelope.to.includes(mailed.to[0]));
    expect(letters.map(({ text }) => text.trim())).to.deep.equal([edit.text]);
  });

  it("a repeated last press sends nothing twice, and says that the draft is approved", async () => {
    const { draft, url, code } = await asked();
    const shown = await preview(url);
    const both = await Promise.all([send(url, shown.page, { code }), send(url, shown.page, { code })]);
    for (const { status, page } of both) expect([status, /pproved/.test(page)], page).to.deep.equal([200, true]);
    await sent(draft);
    const types = await typesOf(draft);
    for (const type of ["DraftEdited", "DraftApproved", "DraftSent"])
      expect(
        types.filter((each) => each === type),
        type,
      ).to.have.length(1);
  });

  it("an edit's approval can be undone by its link within ten seconds: the edited text stays, and is asked about anew", async () => {
    const { draft, mail, url, code } = await asked();
    const shown = await preview(url);
    const done = await send(url, shown.page, { code });
    expect(done.page).to.include("Undo the approval").and.to.include("It arrives tomorrow.");
    const nonce = fieldsIn(done.page, "undo").nonce ?? "";
    const body = new URLSearchParams({ decision: "undo", nonce });
    const undone = await answerOf(await fetch(url, { method: "POST", body }));
    expect(undone.page).to.include("Your approval is undone");
    service.clock.advance(10_000);
    await until(async () => (await draft.approvalMail()).link() !== mail.link());
    expect(await draft.read()).to.include({ status: "pending", version: 2, body_text: edit.text });
    expect(await open(url)).to.include("This draft changed");
    // The last press again edits nothing.
    expect((await send(url, shown.page, { code })).status).to.equal(409);
    expect((await draft.read()).status).to.equal("pending");
  });

  it("opening the page and the preview change nothing, and no press edits without the code", async () => {
    const { draft, url, code } = await asked();
    for (const path of [url, `${url}?edit=1`, `${url}?act=send&subject=x&text=y`, `${url}#edit-form`])
      expect(await open(path)).to.include("Check the edit");
    expect((await fetch(`${url}?edit=1`, { method: "HEAD" })).status).to.equal(200);
    const shown = await preview(url);
    for (const wrong of [{}, { code: "" }, { code: " " }] as Fields[]) {
      const refused = await send(url, shown.page, wrong);
      expect([refused.status, refused.page.includes("Please type the four digits")]).to.deep.equal([422, true]);
    }
    const other = String((Number(code) + 1) % 10_000).padStart(4, "0");
    const refused = await send(url, shown.page, { code: other });
    expect([refused.status, refused.page.includes("not the code")]).to.deep.equal([403, true]);
    await untouched(draft);
    // The refused press kept the text: it can be sent from the page that answered.
    expect((await send(url, refused.page, { code })).page).to.include("<h1>Approved</h1>");
  });

  it("forged forms edit nothing: other nonces, other texts, other drafts", async () => {
    const [one, two] = [await asked(), await asked()];
    const shown = await preview(one.url);
    const good = fieldsIn(shown.page, "send");
    const strange = fieldsIn((await preview(two.url)).page, "send");
    const page = await open(one.url);
    const approving = /name="nonce" value="([^"]*)"/.exec(
      page.split('value="approve"')[0]!.split("<form").at(-1)!,
    )![1]!;
    for (const [what, forged] of Object.entries({
      "the nonce of the form": { ...good, nonce: fieldsIn(page, "preview").nonce! },
      "the nonce to approve": { ...good, nonce: approving },
      "another draft's": { ...good, nonce: strange.nonce! },
      "no nonce": { ...good, nonce: "" },
      "another hash": { ...good, previewed: "0".repeat(64) },
      "the hash of the draft itself": { ...good, previewed: one.draft.json.content_sha256 ?? "" },
      "no hash": { ...good, previewed: "" },
    })) {
      const { status } = await post(one.url, { ...forged, act: "send", code: one.code });
      expect(status, what).to.equal(403);
    }
    // Another text than the one that was shown has another hash.
    const unseen = await post(one.url, { ...good, text: "Pay to another account.", act: "send", code: one.code });
    expect([unseen.status, unseen.page.includes("not the one that you were shown")]).to.deep.equal([422, true]);
    const subject = await post(one.url, { ...good, subject: "Other", act: "send", code: one.code });
    expect(subject.status).to.equal(422);
    // Recipients are no part of an edit.
    const more = { to: "eve@x.example", cc: "eve@x.example", bcc: "eve@x.example", body_html: "<p>Eve</p>" };
    const added = await post(one.url, { ...good, ...more, act: "send", code: one.code });
    expect(added.status).to.equal(200);
    const mailed = await sent(one.draft);
    expect([mailed.to, mailed.cc, mailed.bcc, mailed.body_html]).to.deep.equal([one.draft.json.to, [], [], null]);
    await untouched(two.draft);
  });

  it("an edit of a version that changed meanwhile, or that was decided, is refused", async () => {
    const { draft, url, code } = await asked();
    const shown = await preview(url);
    await draft.edit({ body_text: "The agent wrote anew." });
    const late = await send(url, shown.page, { code });
    expect([late.status, late.page.includes("This draft changed")]).to.deep.equal([409, true]);
    expect((await draft.read()).body_text).to.equal("The agent wrote anew.");
    const other = await asked();
    const ready = await preview(other.url);
    await other.draft.reject("no");
    expect((await send(other.url, ready.page, { code: other.code })).page).to.include("Already rejected");
    expect((await other.draft.read()).version).to.equal(1);
  });

  it("an edit after the customer wrote again is not made, and nothing is sent", async () => {
    const mail = await tenant.mail();
    const draft = await tenant.draft(mail, { body_text: "It arives." });
    const { url, code } = pageOf(await draft.approvalMail());
    const shown = await preview(url);
    await tenant.mail({ inReplyTo: mail });
    const late = await send(url, shown.page, { code });
    expect([late.status, late.page.includes("newer message arrived")], late.page).to.deep.equal([409, true]);
    expect((await draft.becomes("stale")).version).to.equal(1);
  });

  it("an edit and a new mail of the customer at the same moment: nothing is sent", async () => {
    for (const order of ["edit first", "mail first"]) {
      const mail = await tenant.mail();
      const draft = await tenant.draft(mail, { body_text: "It arives." });
      const { url, code } = pageOf(await draft.approvalMail());
      const text = `It arrives, ${order}.`;
      const shown = await preview(url, { ...edit, text });
      const works = [() => send(url, shown.page, { code }), () => tenant.mail({ inReplyTo: mail })];
      await Promise.all((order === "edit first" ? works : works.reverse()).map((work) => work()));
      service.clock.advance(10_000);
      await draft.becomes("stale");
      await service.caughtUp();
      expect((await service.outbox.newest(100)).filter(({ text: sent }) => sent.trim() === text)).to.deep.equal([]);
    }
  });

  it("hostile words in an edit are shown as text, on the form, in the preview and afterwards", async () => {
    const { draft, url, code } = await asked();
    const hostile = `"></textarea><script>alert(1)</script>\u202e<img src=x onerror=alert(1)>`;
    const shown = await preview(url, { subject: hostile, text: hostile });
    const back = await post(url, { subject: hostile, text: hostile, act: "back" });
    const done = await send(url, shown.page, { code });
    expect(done.status, done.page).to.equal(200);
    for (const { page } of [shown, back, done]) expect(page).not.to.match(/<script>alert|<img src=x/);
    // Nobody sees this character, so an edit leaves it out.
    expect(shown.page).not.to.include("[U+202E]");
    expect((await sent(draft)).body_text).to.equal(hostile.replace("\u202e", ""));
  });

  it("characters that nobody sees are left out of an edit, and marked as removed", async () => {
    const { draft, url, code } = await asked({ body_text: "It ari\u200bves tomorow." });
    const page = await open(url);
    const textarea = unescaped(/<textarea id="text"[^>]*>\n([^<]*)</.exec(page)?.[1] ?? "");
    expect(textarea).to.include("[U+200B]");
    const shown = await preview(url, { subject: draft.json.subject, text: textarea.replace("tomorow", "tomorrow") });
    expect(shown.page).to.match(/<del>.*?\[U\+200B\].*?<\/del>/s);
    await send(url, shown.page, { code });
    expect((await sent(draft)).body_text).to.equal("It arives tomorrow.");
  });

  it("an edit and an approval at the same moment: one of them decides, and one mail is sent", async () => {
    for (let round = 0; round < 4; round++) {
      const { draft, url, code } = await asked();
      const shown = await preview(url);
      const nonce = fieldsIn(await open(url), "approve").nonce ?? "";
      const approve = async () =>
        answerOf(await fetch(url, { method: "POST", body: new URLSearchParams({ decision: "approve", nonce, code }) }));
      const agent = () => draft.ask("PATCH", { json: { body_text: "The agent's text." } });
      const works = [() => send(url, shown.page, { code }), approve, ...(round % 2 === 0 ? [agent] : [])];
      await Promise.all((round < 2 ? works : works.reverse()).map((work) => work()));
      await service.caughtUp();
      const events = await draft.history();
      const approvals = events.filter(({ type }) => type === "DraftApproved");
      const now = await draft.read();
      if (approvals.length === 0) {
        expect([now.status, now.body_text]).to.deep.equal(["pending", "The agent's text."]);
        continue;
      }
      expect(approvals).to.have.length(1);
      const mailed = await sent(draft);
      const { version } = approvals[0].data;
      expect([mailed.version, ["It arives tomorow.", edit.text][version - 1]]).to.deep.equal([
        version,
        mailed.body_text,
      ]);
    }
  });

  it("an empty or too long text, and an unchanged one, come back in words with what was typed", async () => {
    const { draft, url } = await asked();
    for (const [typed, words] of [
      [{ ...edit, text: "   " }, "The text is empty"],
      [{ ...edit, subject: "  " }, "The subject is empty"],
      [{ ...edit, subject: "x".repeat(999) }, "At most 998 bytes"],
      [{ ...edit, text: "ä".repeat(128 * 1024 + 1) }, "At most 262,144 bytes"],
      [{ subject: draft.json.subject, text: "It arives tomorow.\r\n" }, "Nothing is changed yet"],
    ] as const) {
      const refused = await preview(url, typed);
      expect(refused.status, words).to.equal(422);
      expect(refused.page).to.include(words).and.to.include('<details id="edit-form" class="changes" open>');
    }
    const huge = await preview(url, { ...edit, text: "x".repeat(900_000) });
    expect(huge.status).to.equal(413);
    const back = await post(url, { ...edit, act: "back" });
    expect([back.status, back.page.includes("It arrives tomorrow.\n\nRegards</textarea>")]).to.deep.equal([200, true]);
    await untouched(draft);
  });

  it("the HTML of an edited draft says what its text says", async () => {
    const { draft, url, code } = await asked({
      body_html: "<p>It <b>arives</b> <a href='https://shop.example'>here</a>.</p>",
    });
    const shown = await preview(url);
    await send(url, shown.page, { code });
    const mailed = await sent(draft);
    expect([mailed.body_text, mailed.body_html]).to.deep.equal([
      edit.text,
      "<p>It arrives tomorrow.</p><p>Regards</p>",
    ]);
  });

  it("an edit is one approval of the new version: the others are asked again, and its link says so", async () => {
    await set({
      approvals_required: 2,
      secondary_approval_channel: { type: "email", config: { to: "cfo@example.com" } },
    });
    try {
      const draft = await tenant.draft(await tenant.mail(), { body_text: "It arives tomorow." });
      const [own, other] = [await draft.approvalMail("boss@example.com"), await draft.approvalMail("cfo@example.com")];
      const { url, code } = pageOf(own);
      const shown = await preview(url);
      expect(shown.page).to.include("the other approvers are asked again");
      const done = await send(url, shown.page, { code });
      expect(done.page).to.include("1 of 2");
      expect(await open(url)).to.include("Your edit is saved, and counts as your approval");
      expect(await open(pageOf(other).url)).to.include("This draft changed");
      let anew: Mail | undefined;
      await until(async () => {
        anew = await draft.approvalMail("cfo@example.com");
        return anew.link() !== other.link();
      });
      const again = pageOf(anew!);
      const page = await open(again.url);
      const nonce = fieldsIn(page, "approve").nonce ?? "";
      const body = new URLSearchParams({ decision: "approve", nonce, code: again.code });
      await fetch(again.url, { method: "POST", body });
      const mailed = await sent(draft);
      expect([mailed.version, mailed.body_text]).to.deep.equal([2, edit.text]);
    } finally {
      await set({ approvals_required: 1, secondary_approval_channel: null });
    }
  });

  it("an edit answers an open request for changes, and its preview quotes the request", async () => {
    const { draft, url, code } = await asked();
    const form = fieldsIn(await open(url), "preview");
    await draft.ask("POST request-changes", { json: { text: "Mind the spelling." } });
    const shown = await post(url, { ...edit, nonce: form.nonce ?? "", act: "preview" });
    expect(shown.page).to.include("Mind the spelling.");
    await send(url, shown.page, { code });
    const mailed = await sent(draft);
    expect([mailed.version, mailed.changes_requested]).to.deep.equal([2, null]);
  });

  for (const [what, settings] of [
    ["the setting is off", { edit_by_channel: false, confirm_code: true }],
    ["the mail has no code", { edit_by_channel: true, confirm_code: false }],
  ] as const) {
    it(`no page offers or accepts an edit while ${what}`, async () => {
      const before = await asked();
      const ready = await preview(before.url);
      await set(settings);
      try {
        const { draft, mail, url, code } = await asked();
        expect(mail.text).not.to.include("#edit-form");
        const page = await open(url);
        expect(page).not.to.include("Check the edit");
        const nonce = fieldsIn(page, "approve").nonce ?? "";
        for (const act of ["preview", "send", "back"]) {
          const fields = { ...edit, nonce, act, previewed: "0".repeat(64), code };
          expect((await post(url, fields)).status, act).to.equal(409);
        }
        await untouched(draft);
        // A page that was opened before the setting was turned off edits nothing any more.
        const late = await send(before.url, ready.page, { code: before.code });
        if (!settings.edit_by_channel) {
          expect(late.status).to.equal(409);
          await untouched(before.draft);
        }
      } finally {
        await set(allowed);
      }
    });
  }

  it("a workspace with named approvers edits by no link", async () => {
    const { draft, url, code } = await asked();
    const shown = await preview(url);
    await tenant.ask("PATCH /v1/workspaces/me", { json: { require_named_approvers: true } });
    try {
      const late = await send(url, shown.page, { code });
      expect([late.status, late.page.includes("Sign in to decide")]).to.deep.equal([409, true]);
      await untouched(draft);
    } finally {
      await tenant.ask("PATCH /v1/workspaces/me", { json: { require_named_approvers: false } });
    }
  });
});
