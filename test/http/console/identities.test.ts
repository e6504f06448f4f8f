import { expect } from "chai";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { pageFaults } from "#test/attacks/console/pageFaults.ts";
import { chatDouble } from "#test/support/chatDouble.ts";
import { type Desk, type DeskPage, deskOf as plainDesk } from "#test/support/desk.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { formIn } from "#test/support/pageForms.ts";

const email = (to: string) => ({ type: "email", config: { to } }) as const;
const botToken = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";

/** Every page that it is shown has to be in order. */
async function deskOf(...given: Parameters<typeof plainDesk>): Promise<Desk> {
  const desk = await plainDesk(...given);
  const inOrder =
    <Given extends unknown[]>(ask: (...of: Given) => Promise<DeskPage>) =>
    async (...of: Given) => {
      const seen = await ask(...of);
      if (seen.text !== "") expect(pageFaults(seen.text), String(of[0])).to.deep.equal([]);
      return seen;
    };
  return { ...desk, get: inOrder(desk.get), post: inOrder(desk.post) };
}

describe("the console's identity pages", () => {
  let service: InProcess;
  let workspace: Workspace;
  let owner: Desk;
  let count = 0;
  const chat = chatDouble("slack");

  before(async () => {
    service = await startInProcess({}, { channels: { slack: chat.channel } });
    workspace = await service.workspace();
    owner = await deskOf(service, workspace.id);
  });
  after(() => service.stop());

  const stored = async (id: string) => (await workspace.ask(`GET /v1/identities/${id}`)).json;
  /** Opens a page, changes fields of its form, and sends it. */
  async function send(
    desk: Desk,
    page: string,
    { action = page, ...fields }: Record<string, string | string[]> & { action?: string } = {},
  ) {
    const { text, status } = await desk.get(page);
    expect(status, page).to.equal(200);
    return desk.post(action, { ...formIn(text, action), ...fields });
  }
  const create = async (fields: Record<string, string> = {}, desk = owner) =>
    send(desk, "/identities/new", {
      domain_id: sandboxDomainId(workspace.id),
      local_part: `made-${++count}`,
      display_name: "Support",
      ...fields,
    });
  const made = async (fields: Record<string, string> = {}) => {
    const { status, location, page } = await create(fields);
    expect(status, page).to.equal(303);
    return /^\/identities\/([0-9a-f-]{36})/.exec(location!)![1]!;
  };

  it("the identity pages lead an empty workspace from a domain to an API key", async () => {
    const empty = await service.workspace();
    const desk = await deskOf(service, empty.id);
    const { page, text } = await desk.get("/identities");
    expect(page).to.include("No identities yet").and.to.include("Set-up");
    expect(text).to.include('href="/identities/new"').and.to.include('href="/domains"');
    await service.identity(empty.id, { approvalChannel: email("ann@office.example") });
    const after = await desk.get("/identities");
    expect(after.page).to.match(
      /A domain done .*An identity done .*An approval channel done .*A test to do .*A key for the agent done/,
    );
  });

  it("the form for a new identity stores every field, and a second press creates no second identity", async () => {
    const { text } = await owner.get("/identities/new");
    const fields = {
      ...formIn(text, "/identities/new"),
      domain_id: sandboxDomainId(workspace.id),
      local_part: "whole",
      display_name: "Whole & co",
      reply_to_email: "answers@customer.example",
      signature_text: "Kind regards",
      signature_html: "<p>Kind regards</p><script>x</script>",
      thread_history_depth: "7",
      can_send_cold: ["false", "true"],
      require_human_approval: ["false", "true"],
      auto_approve_replies: ["false", "true"],
      send_on_channel_approval: ["false"],
      approvals_required: "2",
      confirm_code: ["false", "true"],
      edit_by_channel: ["false", "true"],
      "approval_channel.type": "email",
      "approval_channel.email.to": "ann@office.example",
      "secondary_approval_channel.type": "telegram",
      "secondary_approval_channel.telegram.bot_token": botToken,
      "secondary_approval_channel.telegram.chat_id": "-100",
      "secondary_approval_channel.telegram.allowed_users": "5,6",
      escalation_delay_minutes: "90",
      covered_recipients: "a@customer.example\r\nb@customer.example\r\n",
    };
    const first = await owner.post("/identities/new", fields);
    expect(first.status, first.page).to.equal(303);
    const again = await owner.post("/identities/new", fields);
    expect(again.location).to.equal(first.location);
    const id = first.location!.match(/[0-9a-f-]{36}/)![0];
    expect(await stored(id)).to.deep.include({
      ...{ local_part: "whole", display_name: "Whole & co", reply_to_email: "answers@customer.example" },
      ...{ signature_text: "Kind regards", signature_html: "<p>Kind regards</p>", thread_history_depth: 7 },
      ...{ can_send_cold: true, require_human_approval: true, auto_approve_replies: true, confirm_code: true },
      edit_by_channel: true,
      ...{ send_on_channel_approval: false, approvals_required: 2, escalation_delay_minutes: 90 },
      approval_channel: email("ann@office.example"),
      secondary_approval_channel: {
        type: "telegram",
        config: { bot_token: `****${botToken.slice(-4)}`, chat_id: "-100", allowed_users: "5,6" },
      },
      covered_recipients: ["a@customer.example", "b@customer.example"],
    });
    const { page, text: shown } = await owner.get(`/identities/${id}`);
    expect(page).to.include("Mail to whole@").and.to.include("Removed when it was saved: 1 element “script”");
    expect(page).to.include("no effect: a person has to approve");
    expect(shown).not.to.include(botToken);
  });

  it("the form for a new identity asks for the address and the approver, and folds what has a default until it is wrong", async () => {
    const { text } = await owner.get("/identities/new");
    const folds = (page: string) =>
      [...page.matchAll(/<details class="fold"( open)?><summary>([^<]*)<span class="set">([^<]*)/g)].map(
        ([, open, title, set]) => `${title}: ${set}${open ? " (open)" : ""}`,
      );
    expect(folds(text)).to.deep.equal([
      "Signature and Reply-To: no signature, and answers arrive here",
      "The agent: gets 10 messages of history, and answers only people who wrote first",
      "How a draft is approved: one approval, which sends the reply",
      "If the approver does not answer: nobody else is asked",
    ]);
    const form = formIn(text, "/identities/new");
    expect(form["approval_channel.type"]).to.deep.equal(["email"]);
    expect(form["approval_channel.email.to"]![0]).to.match(/@/);
    const refused = await create({
      local_part: "folded",
      display_name: "F",
      approvals_required: "9",
      confirm_code: "true",
    });
    expect(refused.status).to.equal(422);
    expect(folds(refused.text)[2]).to.equal(
      "How a draft is approved: Approvals required: 9, Ask for a code: on (open)",
    );
    expect(folds(refused.text)[3]).to.equal("If the approver does not answer: nobody else is asked");
    expect(refused.text).to.include('id="approvals_required-error"');
  });

  it("a refused form for a new identity keeps what was typed and shows the error at its field", async () => {
    const refused = await create({
      local_part: "Not Possible",
      display_name: "Typed <b>name</b>",
      "approval_channel.type": "telegram",
      "approval_channel.telegram.bot_token": botToken,
      "approval_channel.telegram.chat_id": "5",
    });
    expect(refused.status).to.equal(422);
    expect(refused.text).to.include('<a href="#local_part">Name before the @</a> has to be corrected');
    expect(refused.text).to.match(/id="local_part-error">Expected lowercase letters/);
    const form = formIn(refused.text, "/identities/new");
    expect(form.local_part).to.deep.equal(["Not Possible"]);
    expect(form.display_name).to.deep.equal(["Typed <b>name</b>"]);
    expect(form["approval_channel.telegram.bot_token"]).to.deep.equal([botToken]);
    expect(refused.text).not.to.include("<b>name</b>");
    expect(refused.text).to.include('id="local_part-error"').and.to.include('aria-invalid="true"');
    const corrected = await owner.post("/identities/new", { ...form, local_part: "possible" });
    expect(corrected.status, corrected.page).to.equal(303);
    expect((await stored(corrected.location!.match(/[0-9a-f-]{36}/)![0])).approval_channel.config.chat_id).to.equal(
      "5",
    );
  });

  it("an identity's form changes only the edited field, and keeps a secret that is sent back masked", async () => {
    const secret = "https://hooks.slack.com/services/T0/B0/secretsecret";
    const id = await made({
      "approval_channel.type": "slack",
      "approval_channel.slack.webhook_url": secret,
      "approval_channel.slack.channel": "#one",
    });
    const page = `/identities/${id}/approval`;
    const { text } = await owner.get(page);
    expect(text).not.to.include("secretsecret");
    expect(formIn(text, page)["approval_channel.slack.webhook_url"]).to.deep.equal(["****cret"]);
    const { status } = await send(owner, page, { "approval_channel.slack.channel": "#two" });
    expect(status).to.equal(303);
    const test = await send(owner, `/identities/${id}`, { action: `/identities/${id}/test` });
    await until(async () => /delivered/.test((await owner.get(test.location!)).page));
    const { webhook_url, channel } = chat.told.at(-1)!.channel.config;
    expect([webhook_url, channel]).to.deep.equal([secret, "#two"]);
  });

  it("an identity's forms change every field, and clear those that may be empty", async () => {
    const id = await made();
    const [page, approval] = [`/identities/${id}`, `/identities/${id}/approval`];
    const mail = { thread_history_depth: "3", signature_text: "Text", signature_html: "<p>Text</p>" };
    expect((await send(owner, page, mail)).status).to.equal(303);
    expect(await stored(id)).to.include({ ...mail, thread_history_depth: 3, assistant_id: null });
    const on = ["false", "true"];
    const who = {
      ...{ display_name: "Sales", reply_to_email: "sales@customer.example" },
      ...{ require_human_approval: on, auto_approve_replies: on, confirm_code: on, send_on_channel_approval: "false" },
      ...{ approvals_required: "2", escalation_delay_minutes: "5", covered_recipients: "a@customer.example" },
      ...{ "approval_channel.type": "email", "approval_channel.email.to": "ann@office.example" },
      ...{ "secondary_approval_channel.type": "email", "secondary_approval_channel.email.to": "bob@office.example" },
    };
    expect((await send(owner, approval, who)).status).to.equal(303);
    expect(await stored(id)).to.deep.include({
      ...{ display_name: "Sales", reply_to_email: "sales@customer.example" },
      ...{ require_human_approval: true, auto_approve_replies: true, confirm_code: true },
      ...{ send_on_channel_approval: false, approvals_required: 2, escalation_delay_minutes: 5 },
      ...{ covered_recipients: ["a@customer.example"], approval_channel: email("ann@office.example") },
      secondary_approval_channel: email("bob@office.example"),
    });
    const empty = { signature_text: "", signature_html: "" };
    expect((await send(owner, page, empty)).status).to.equal(303);
    expect(await stored(id)).to.include({ signature_text: null, signature_html: null });
    const none = { "approval_channel.type": "none", "secondary_approval_channel.type": "none" };
    const off = {
      ...{ require_human_approval: "false", covered_recipients: "", escalation_delay_minutes: "", reply_to_email: "" },
    };
    expect((await send(owner, approval, { ...none, ...off })).status).to.equal(303);
    expect(await stored(id)).to.deep.include({
      ...{ approval_channel: null, secondary_approval_channel: null, escalation_delay_minutes: null },
      reply_to_email: null,
      ...{ require_human_approval: false, covered_recipients: [] },
    });
  });

  it("an identity's form refuses a masked secret that matches nothing stored, at its field", async () => {
    const id = await made({ "approval_channel.type": "email", "approval_channel.email.to": "ann@office.example" });
    const answer = await send(owner, `/identities/${id}/approval`, {
      "approval_channel.type": "slack",
      "approval_channel.slack.webhook_url": "****cret",
    });
    expect(answer.status).to.equal(422);
    expect(answer.text).to.include('id="approval_channel.slack.webhook_url-error"');
    expect((await stored(id)).approval_channel).to.deep.equal(email("ann@office.example"));
  });

  it("concurrent changes of different fields are merged; a change of the same field is shown as a conflict", async () => {
    const id = await made();
    const page = `/identities/${id}`;
    const mine = formIn((await owner.get(page)).text, page);
    await workspace.ask(`PATCH ${"/v1/identities/"}${id}`, { json: { signature_html: "<p>Theirs</p>" } });
    const first = await owner.post(page, { ...mine, signature_text: "Mine" });
    expect(first.status, first.page).to.equal(303);
    expect(await stored(id)).to.include({ signature_text: "Mine", signature_html: "<p>Theirs</p>" });

    const late = { ...mine, signature_text: "Late", thread_history_depth: "4" };
    const conflict = await owner.post(page, late);
    expect(conflict.status).to.equal(409);
    expect(conflict.page).to.include("Nothing was saved. Another member changed this identity");
    expect(await stored(id)).to.include({ signature_text: "Mine", thread_history_depth: 10 });
    const again = formIn(conflict.text, page);
    expect([again.signature_text, again.signature_html]).to.deep.equal([["Late"], ["<p>Theirs</p>"]]);
    expect((await owner.post(page, again)).status).to.equal(303);
    expect(await stored(id)).to.include({
      ...{ signature_text: "Late", thread_history_depth: 4, signature_html: "<p>Theirs</p>" },
    });
  });

  it("the preview of a signature saves nothing", async () => {
    const id = await made();
    const typed =
      '<p onclick="x">Kind <b>regards</b></p><img src="https://pictures.example/a.png" alt="logo"><script>alert(1)</script>';
    const seen = await send(owner, `/identities/${id}`, {
      do: "preview",
      signature_html: typed,
      signature_text: "Typed",
    });
    expect(seen.status).to.equal(200);
    expect(seen.page)
      .to.include("It is not saved yet")
      .and.to.match(/Would be removed: .*element “script”/);
    expect(seen.page).to.include("Pictures are fetched when you save");
    expect(seen.text).not.to.match(/<script>alert|onclick="x"/);
    const form = formIn(seen.text, `/identities/${id}`);
    expect([form.signature_html, form.signature_text]).to.deep.equal([[typed], ["Typed"]]);
    expect(await stored(id)).to.include({ signature_html: null, signature_text: null });
    expect((await owner.post(`/identities/${id}`, form)).status).to.equal(303);
    expect((await stored(id)).signature_text).to.equal("Typed");
  });

  it("an identity can be disabled, enabled and deleted, and the pages say what that means", async () => {
    const id = await made();
    const page = `/identities/${id}`;
    await send(owner, page, { action: `${page}/status` });
    expect((await stored(id)).status).to.equal("disabled");
    expect((await owner.get(page)).page).to.include("Stops here: It is disabled");
    expect((await owner.get("/identities")).page).to.include("It is disabled: received mail is held");
    await send(owner, page, { action: `${page}/status` });
    expect((await stored(id)).status).to.equal("active");
    const { page: words } = await owner.get(`${page}/delete`);
    expect(words).to.include("Its conversations, messages and drafts are kept");
    expect((await send(owner, `${page}/delete`)).location).to.match(/^\/identities\?/);
    expect((await owner.get(page)).status).to.equal(404);
  });

  it("a test notification that is retried is shown with the provider's words and without their markup", async () => {
    const id = await made({
      "approval_channel.type": "slack",
      "approval_channel.slack.webhook_url": "https://hooks.slack.com/services/T/B/X",
    });
    const { tell } = chat.channel;
    chat.channel.tell = async () => ({ reached: false, error: "Slack: <img src=x>\u202e busy", again: true });
    const { location } = await send(owner, `/identities/${id}`, { action: `/identities/${id}/test` });
    await until(async () => (await owner.get(location!)).page.includes("not been delivered yet"));
    const { text } = await owner.get(location!);
    // Under the name of another identity there is no such test.
    const elsewhere = location!.replace(id, await made());
    expect((await owner.get(elsewhere)).status).to.equal(404);
    expect(text).to.include("Slack: &lt;img src=x&gt;[U+202E] busy.").and.not.to.include("<img src=x>");
    expect(text).to.include('hx-trigger="every 2s"');
    chat.channel.tell = tell!;
    service.clock.advance(130_000);
    await until(async () => (await owner.get(location!)).page.includes("The test was delivered"));
    expect((await owner.get(location!)).text).not.to.include("hx-trigger");
  });

  it("identity pages show hostile words as text in values, forms and sentences", async () => {
    const words = `"><img src=x onerror=alert(1)><script>alert(1)</script>\u202e`;
    const { id } = await service.identity(workspace.id, {
      displayName: words,
      signatureText: `${words}\n</textarea>${words}`,
      signatureHtml: "<p>Kind regards</p>",
      approvalChannel: {
        type: "slack",
        config: { webhook_url: "https://hooks.slack.com/services/T/B/X", channel: words },
      },
    });
    await service.caughtUp();
    const auditor = await deskOf(service, workspace.id, { role: "auditor" });
    const paths = ["/identities", `/identities/${id}`, `/identities/${id}/approval`, `/identities/${id}/delete`];
    for (const path of paths) expect((await owner.get(path)).text, path).not.to.match(/<img src=x|<script>|\u202e/);
    expect((await auditor.get(`/identities/${id}`)).text).not.to.match(/<img src=x|<script>|\u202e/);
    // An unchanged field keeps its value, though the page shows its invisible characters written out.
    const approval = `/identities/${id}/approval`;
    expect((await send(owner, approval, { reply_to_email: "x@customer.example" })).status).to.equal(303);
    expect(await stored(id)).to.include({ display_name: words, reply_to_email: "x@customer.example" });
  });

  it("an identity's form asks for the password before it changes approvers, display name or Reply-To", async () => {
    const id = await made({ require_human_approval: "false" });
    const desk = await deskOf(service, workspace.id);
    const page = `/identities/${id}/approval`;
    const form = formIn((await desk.get(page)).text, page);
    service.clock.advance(11 * 60_000);
    for (const path of [page, "/identities/new", `/identities/${id}/delete`]) {
      const { status, location } = await desk.get(path);
      expect([status, location], path).to.deep.equal([303, `/settings/confirm?next=${encodeURIComponent(path)}`]);
    }
    const posted = await desk.post(page, { ...form, require_human_approval: ["false", "true"] });
    expect(posted.location).to.match(/^\/settings\/confirm/);
    expect((await stored(id)).require_human_approval).to.equal(false);
    const named = { display_name: "Renamed", reply_to_email: "x@customer.example" };
    expect((await desk.post(page, { ...form, ...named })).location).to.match(/^\/settings\/confirm/);
    // The form without a password has no such field, whatever is sent to it.
    const sent = await send(desk, `/identities/${id}`, { ...named, signature_text: "Kind" });
    expect(sent.status).to.equal(303);
    const { display_name, reply_to_email, signature_text } = await stored(id);
    expect([display_name, reply_to_email, signature_text]).to.deep.equal(["Support", null, "Kind"]);
    owner = await deskOf(service, workspace.id);
  });

  for (const role of ["approver", "auditor"] as const) {
    it(`an ${role} sees an identity's page and can change nothing`, async () => {
      const id = await made({ display_name: "Unchanged" });
      const desk = await deskOf(service, workspace.id, { role });
      const list = await desk.get("/identities");
      expect(list.status).to.equal(200);
      expect(list.text).not.to.include("/identities/new");
      const { status, text } = await desk.get(`/identities/${id}`);
      expect(status).to.equal(200);
      expect([...text.matchAll(/<form [^>]*action="([^"]*)"/g)].map((match) => match[1])).to.deep.equal([
        "/auth/sign-out",
      ]);
      expect(text).to.include("Unchanged").and.not.to.include("/delete").and.not.to.include('/approval"');
      for (const path of [`/identities/${id}/approval`, `/identities/${id}/delete`, "/identities/new"])
        expect((await desk.get(path)).status, path).to.equal(403);
      await desk.get("/identities");
      const forms: [string, Record<string, string>][] = [
        ["", { display_name: "Changed" }],
        ["", { do: "preview", signature_html: "x" }],
        ["/approval", { approvals_required: "2" }],
        ["/status", { status: "disabled" }],
        ["/test", { channel: "primary" }],
        ["/delete", {}],
      ];
      for (const [path, fields] of forms)
        expect((await desk.post(`/identities/${id}${path}`, fields)).status, path).to.equal(403);
      const identity = { domain_id: sandboxDomainId(workspace.id), local_part: `by-${role}`, display_name: "x" };
      expect((await desk.post("/identities/new", identity)).status).to.equal(403);
      expect(await stored(id)).to.include({ display_name: "Unchanged", status: "active", approvals_required: 1 });
    });
  }

  it("an identity of another workspace is not found and not changed", async () => {
    const id = await made();
    const stranger = await deskOf(service, (await service.workspace()).id);
    for (const path of ["", "/approval", "/delete"])
      expect((await stranger.get(`/identities/${id}${path}`)).status, path).to.equal(404);
    await stranger.get("/identities");
    for (const path of ["", "/approval", "/delete", "/status", "/test"])
      expect((await stranger.post(`/identities/${id}${path}`, { status: "disabled" })).status, path).to.equal(404);
    expect((await stored(id)).status).to.equal("active");
  });
});
