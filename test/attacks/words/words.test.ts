import { expect } from "chai";
import { runHere } from "#test/support/commandHere.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { freeStrings } from "./freeStrings.ts";
import { faultsOf, type Shown } from "./hostile.ts";
import {
  approvalMails,
  approver,
  linksTo,
  press,
  requestsTo,
  second,
  strangersMail,
  submitDraft,
  type Writing,
  writing,
} from "./story.ts";

/** Strings that only programs are shown: agents, webhooks, exports. */
const shownToNobody = [
  "api-keys name",
  "assistants name",
  "assistants description",
  "webhooks description",
  "workspaces sending_paused_reason",
  "contacts name",
  "contacts tags[0]",
  "drafts metadata",
  "a mail To name",
  "a mail Cc name",
  "a newer mail To name",
  "a newer mail Cc name",
];

/**
 * Every string that a stranger, a tenant, an agent or an approver can write, times every place where people read it: no markup
 * takes effect, no header is added, and no invisible character or direction mark is shown.
 */
describe("hostile words in every place where people read them", () => {
  let service: InProcess;
  let workspace: Workspace;
  let told: Writing;
  const places = new Map<string, Shown>();
  const logged: string[] = [];

  before(async () => {
    service = await startInProcess({ LOG_LEVEL: "trace" }, { log: (line) => logged.push(line) });
    workspace = await service.workspace();
    told = writing(workspace);
  });
  after(() => service?.stop());

  const show = (place: string, kind: Shown["kind"], content: string) => void places.set(place, { kind, content });
  const page = async (path: string) => (await fetch(service.url + path)).text();

  /** Has approvers asked about two drafts in one mail, opens the page that lists them, and rejects one with a reason. */
  async function inOneMail(answering: Parameters<typeof submitDraft>[2]) {
    service.deps.settings.mostMailedAlone = 0;
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) ids.push((await submitDraft(service, workspace, answering)).id);
    const isBundled = async (id: string) => {
      const { notified } = (await service.deps.drafts.load(id)).state;
      return Object.values(notified.open).some(({ bundled }) => bundled);
    };
    // If only one of them waited when the quarter of an hour ends, each would get a separate mail.
    await until(async () => (await Promise.all(ids.map(isBundled))).every(Boolean));
    await service.caughtUp();
    let list = "";
    let minutes = 0;
    await until(async () => {
      // Less than an hour, so that the second channel is not asked.
      if (minutes++ < 30) service.clock.advance(60_000);
      const [link = ""] = (await approvalMails(service)).flatMap(({ text }) => text.match(/\/l\/[\w-]{43}/g) ?? []);
      list = link;
      return list !== "";
    });
    service.deps.settings.mostMailedAlone = undefined;
    const shown = await page(list);
    show("the page that lists drafts", "html", shown);
    const links = shown.match(/\/a\/[\w-]{43}/g) ?? [];
    expect(new Set(links).size).to.equal(2);
    await press(service, `${links[0]}?d=reject`, { decision: "reject", reason: told.write("drafts reason") });
    show("the page that lists drafts, one of them decided", "html", await page(list));
  }

  it("hostile words are written into every field that takes them", async () => {
    const { ask, write } = told;
    await ask("PATCH /v1/workspaces/me", (field) => ({ name: field("name") }));
    const paused = (field: (name: string) => string) => ({ sending_paused_reason: field("sending_paused_reason") });
    await ask("PATCH /v1/workspaces/me", (field) => ({ sending_paused: true, ...paused(field) }));
    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
    await ask("POST /v1/api-keys", (field) => ({ name: field("name"), scopes: ["read:threads"] }));
    await ask("POST /v1/assistants", (field) => ({ name: field("name"), description: field("description") }));
    const webhook = { url: "https://hooks.example/in", events: ["draft.rejected"] };
    await ask("POST /v1/webhooks", (field) => ({ ...webhook, description: field("description") }));
    const [domain] = (await workspace.ask("GET /v1/domains")).json.data;
    const identity = await ask("POST /v1/identities", (field) => ({
      domain_id: domain.id,
      local_part: "desk",
      display_name: field("display_name"),
      signature_text: field("signature_text"),
      signature_html: `<p>${field("signature_html")}</p>`,
      approval_channel: { type: "email", config: { to: approver } },
      secondary_approval_channel: { type: "email", config: { to: second } },
      escalation_delay_minutes: 60,
    }));
    const notify = { type: "notify_channel", channel: "email", config: { to: "lead@example.com" } };
    const always = { conditions: {}, actions: [notify], trigger_event: "email.received" };
    await ask("POST /v1/rules", (field) => ({ ...always, name: field("name") }));

    const answering = { ask, identityId: identity.id as string };
    // The first draft is edited, then rejected with a reason; the second goes stale; the third is approved.
    await service.deliver(identity.email_address, strangersMail(write, "a mail", { to: identity.email_address }));
    const first = await submitDraft(service, workspace, answering);
    const [old = ""] = await linksTo(service, approver, 1);
    await ask(`POST /v1/drafts/${first.id}/request-changes`, (field) => ({ text: field("text") }));
    show("the page of a draft that waits for changes", "html", await page(old));
    await ask(`PATCH /v1/drafts/${first.id}`, (field) => ({
      body_text: `Edited: ${field("body_text")}`,
      rationale: field("rationale"),
    }));
    const [approve = "", reject = ""] = await linksTo(service, approver, 2);
    show("the page of a link that was overtaken", "html", await page(old));
    show("the review page", "html", await page(approve));
    show("the review page, to reject", "html", await page(reject));
    show(
      "the page after a rejection",
      "html",
      await press(service, reject, { decision: "reject", reason: write("drafts reason") }),
    );
    show("the page of a decided draft", "html", await page(approve));
    const [contact] = (await workspace.ask("GET /v1/contacts")).json.data;
    await ask(`PATCH /v1/contacts/${contact.id}`, (field) => ({ name: field("name"), tags: [field("tags[0]")] }));

    await inOneMail(answering);
    const asked = (await requestsTo(service, approver)).length;
    await submitDraft(service, workspace, answering);
    const [stale = ""] = await linksTo(service, approver, asked + 1);
    const { rfc_message_id } = (await workspace.ask(`GET /v1/threads/${first.thread_id}/messages`)).json.data.at(-1);
    const newer = strangersMail(write, "a newer mail", { to: identity.email_address, inReplyTo: rfc_message_id });
    await service.deliver(identity.email_address, newer);
    await until(async () => /newer message/.test(await page(stale)));
    show("the page of a stopped draft", "html", await page(stale));
    const before = (await requestsTo(service, approver)).length;
    const third = await submitDraft(service, workspace, answering);
    const [last = ""] = await linksTo(service, approver, before + 1);
    show("the page after an approval", "html", await press(service, last, { decision: "approve" }));
    await until(async () => (await workspace.ask(`GET /v1/drafts/${third.id}`)).json.status === "sent");
    const environment = {
      DATABASE_URL: service.urls.serviceUrl,
      DATABASE_OWNER_URL: service.urls.ownerUrl,
      NODE_ENV: "test",
    };
    for (const command of [`audit draft ${first.id}`, "workspace list"]) {
      const [script = "", ...args] = command.split(" ");
      const { out } = await runHere(script, args, environment);
      show(`npm run ${script} -- ${args[0]}`, "terminal", out);
      if (script === "audit")
        expect(out, "who was asked").to.match(new RegExp(`approvers asked.*primary email ${approver}`));
    }
  });

  it("hostile words work as markup, header or control character in no mail, page or log line of the service", async () => {
    for (const { id, to, subject, text, html } of await approvalMails(service)) {
      const mail = `mail ${id} to ${to.join()}`;
      show(`${mail}: subject`, "text", subject);
      expect(subject, mail).not.to.match(/[\r\n]/);
      show(`${mail}: text`, "text", text);
      show(`${mail}: html`, "html", html ?? "");
      const [stop = ""] = text.match(/https?:\/\/\S+\/stop\/\S+/) ?? [];
      show(`${mail}: the page that stops it`, "html", await page(new URL(stop).pathname));
    }
    const stop = /\/stop\/[\w.-]+/.exec((await approvalMails(service))[0]?.text ?? "")?.[0] as string;
    show("the page that stops mail", "html", await page(stop));
    show("the outbox", "html", await page("/outbox"));
    for (const { id } of (await (await fetch(`${service.url}/outbox.json`)).json()) as { id: number }[]) {
      show(`/outbox/${id}`, "html", await page(`/outbox/${id}`));
    }
    for (const path of ["/", "/docs/"]) show(path, "html", await page(path));
    show("the log", "terminal", logged.join(""));

    const faults = [...places].flatMap(([place, shown]) => faultsOf(shown).map((fault) => `${place}: ${fault}`));
    expect(faults).to.deep.equal([]);
    const cells = [...told.words].map(([name, { mark }]) => ({
      name,
      in: [...places].filter(([, { content }]) => content.includes(mark)).length,
    }));
    const shown = cells.reduce((sum, cell) => sum + cell.in, 0);
    console.log(
      `    ${cells.length} strings × ${places.size} places: ${cells.length * places.size} cells, ${shown} show the string`,
    );
    const nowhere = cells.filter((cell) => cell.in === 0).map(({ name }) => name);
    expect(nowhere).to.have.members(shownToNobody);
  });

  it("every field of the API that takes free words is among those tried", async () => {
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as object;
    const known = new Set([...told.words.keys()]);
    expect(freeStrings(document).filter((name) => !known.has(name))).to.deep.equal([]);
  });
});
