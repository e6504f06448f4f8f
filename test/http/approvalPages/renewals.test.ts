import { expect } from "chai";
import { approvalRenewals } from "#src/commands/approvals/renewals.ts";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import { newUnsubscribeToken, unsubscribeLinks } from "#src/commands/serviceMail/unsubscribes.ts";
import type { CaughtMail } from "#src/mail/out/outbox.ts";
import { chatDouble } from "#test/support/chatDouble.ts";
import { deskOf } from "#test/support/desk.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

const minute = 60_000;
const hour = 60 * minute;
const T = 72 * hour;
const email = (to: string) => ({ type: "email" as const, config: { to } });

describe("requests to approvers that run out, in the running service", () => {
  const slack = chatDouble("slack");
  let service: InProcess;
  let tenant: StoryTenant;
  let made = 0;
  before(async () => {
    ({ service, tenant } = await startStory({}, { channels: { slack: slack.channel } }));
    service.deps.settings.mostMailedAlone = 1_000;
  });
  after(() => service.stop());

  const mailsTo = async (address: string): Promise<CaughtMail[]> =>
    (await service.outbox.newest(100))
      .filter(({ envelope, subject }) => envelope.to.includes(address) && !/new member/.test(subject))
      .reverse();
  const untilMailed = async (address: string, count: number): Promise<CaughtMail[]> => {
    await until(async () => (await mailsTo(address)).length >= count);
    const mails = await mailsTo(address);
    expect(mails).to.have.length(count);
    return mails;
  };
  const pathsIn = ({ text }: CaughtMail) => [...new Set(text.match(/\/[al]\/[\w-]{43}/g))];
  const typesOf = async (draft: StoryDraft) => (await draft.history()).map(({ type }) => type);
  const happens = (draft: StoryDraft, type: string, times = 1) =>
    until(async () => (await typesOf(draft)).filter((each) => each === type).length >= times);

  /** A draft of a new identity whose approver, and every other channel, has been asked. */
  async function asked(settings: Partial<NewIdentity> = {}, of = tenant) {
    const to = `approver${++made}@x.example`;
    const identity = await of.newIdentity({ approvalChannel: email(to), ...settings });
    const draft = await of.draft(await of.mail({ to: identity }));
    await draft.asked();
    return { ...draft, to, identity };
  }
  /** The time passes in which the newest requests work. */
  async function pass(ms = T): Promise<void> {
    await service.caughtUp();
    service.clock.advance(ms);
  }
  /** A draft whose request was repeated and then expired. */
  async function expired(settings: Partial<NewIdentity> = {}, of = tenant) {
    const draft = await asked(settings, of);
    for (const type of ["RequestsRepeated", "RequestsExpired"]) {
      await draft.becomes(({ notification_status: told }) => told.state === "sent");
      await pass();
      await happens(draft, type);
      if (type === "RequestsRepeated") await happens(draft, "ApproversNotified", 2);
    }
    await until(async () => (await of.thread(draft)).needs_review === true);
    return draft;
  }

  const open = (path: string, method = "GET") => tenant.ask(`${method} ${path}`, { key: null });
  const press = (path: string, nonce: string) =>
    tenant.ask(`POST ${path}`, { key: null, body: new URLSearchParams({ decision: "renew", nonce }) });
  const nonceIn = (page: string): string => {
    const form = page.split("<form").find((part) => part.includes('value="renew"')) ?? "";
    return /name="nonce" value="([^"]*)"/.exec(form)?.[1] ?? "";
  };
  const hasButton = (page: string): boolean => nonceIn(page) !== "";

  it("a request is mailed once more with other links, then the draft is marked, and every owner is told once", async () => {
    const own = await openTenant(service);
    const [owner, other, approver] = [
      await deskOf(service, own.id),
      await deskOf(service, own.id),
      await deskOf(service, own.id, { role: "approver" }),
    ];
    const draft = await asked({}, own);
    await pass();
    const [first, second] = (await untilMailed(draft.to, 2)) as [CaughtMail, CaughtMail];
    expect(second.subject).to.equal(first.subject);
    for (const path of pathsIn(first)) expect((await open(path)).status).to.equal(410);
    for (const path of pathsIn(second)) expect((await open(path)).status).to.equal(200);
    expect(await draft.read()).to.deep.include({ status: "pending" });
    expect((await draft.asked()).notification_status.state).to.equal("sent");
    expect((await own.thread(draft)).needs_review).to.equal(false);

    await pass();
    const { notification_status: told } = await draft.becomes((now) => now.notification_status.state === "expired");
    expect(told.channel).to.equal("email");
    expect(told.error).to.match(/ran out without a decision.*POST \/v1\/drafts\/\{id\}\/notify/);
    await until(async () => (await own.thread(draft)).needs_review === true);
    for (const desk of [owner, other]) {
      const [mail] = (await untilMailed(desk.user.email, 1)) as [CaughtMail];
      expect(mail.subject).to.equal("Nobody decided about a draft");
      expect(mail.text).to.include(`/review?draft=${draft.id}`).and.not.match(/\/a\//);
      const words = mail.text.replaceAll("\u200c", "");
      expect(words).to.include(`“${(await own.thread(draft)).subject}” from “${draft.identity.address}”`);
      expect(words).to.include("press “Remind approvers” there").and.not.include("On its way.");
    }
    const types = (await typesOf(draft)).filter((type) => type.startsWith("Requests"));
    expect(types).to.deep.equal(["RequestsRepeated", "RequestsExpired"]);
    // Days later nothing has been added.
    await pass(10 * T);
    await service.caughtUp();
    expect([(await mailsTo(draft.to)).length, (await mailsTo(approver.user.email)).length]).to.deep.equal([2, 0]);
    for (const desk of [owner, other]) expect(await mailsTo(desk.user.email)).to.have.length(1);
    // The thread's page and the draft's life say so.
    const reader = await deskOf(service, own.id);
    expect((await reader.get(`/threads/${draft.threadId}`)).page).to.include("have expired, and nobody is asked again");
    const life = (await reader.get(`/drafts/${draft.id}`)).page;
    expect(life).to.match(/the requests had expired by \d{1,2} \w{3} \d{4}/);
    expect((await reader.get("/review")).page).to.include("requests expired");
    expect(life).to.include("its approvers are asked once more").and.include("nobody is asked again by itself");
    // The agent may ask again.
    expect((await draft.ask("POST notify")).status).to.equal(200);
    expect((await draft.asked()).notification_status.error).to.equal(null);
  });

  it("drafts that expire in the same hour are told the owners in two mails, without those decided meanwhile", async () => {
    const own = await openTenant(service);
    const owner = await deskOf(service, own.id);
    const identity = await own.newIdentity({ approvalChannel: email(`approver${++made}@x.example`) });
    // At the beginning of an hour.
    await pass(hour - (service.clock.now().getTime() % hour));
    const drafts: StoryDraft[] = [];
    for (let n = 0; n < 6; n++) drafts.push(await own.draft(await own.mail({ to: identity })));
    for (const draft of drafts) await draft.asked();
    for (const state of ["sent", "expired"]) {
      await pass();
      for (const draft of drafts) {
        if (state === "sent") await happens(draft, "ApproversNotified", 2);
        else await draft.becomes(({ notification_status: told }) => told.state === state);
      }
    }
    const [first] = (await untilMailed(owner.user.email, 1)) as [CaughtMail];
    expect(first.subject).to.equal("Nobody decided about a draft");
    const told = drafts.find(({ id }) => first.text.includes(id))!;
    const others = drafts.filter((draft) => draft !== told);
    await others[0]!.reject();
    await service.caughtUp();
    const set = `select 1 from work.items where process = 'tellOfExpiry' and timer is not null`;
    await until(async () => (await service.database.query(set)).rows.length === 1);
    await pass(hour + minute);
    const [, second] = (await untilMailed(owner.user.email, 2)) as [CaughtMail, CaughtMail];
    expect(second.subject).to.equal("Nobody decided about 4 drafts");
    expect(second.text).to.match(/(“.*” from “.*”\n){3}and 1 more\n/);
    expect(others.slice(1).some(({ id }) => second.text.includes(id))).to.equal(true);
  });

  it("the page of an expired link mails a new request at a press, once, and opening it changes nothing", async () => {
    const draft = await expired();
    const [old] = pathsIn((await mailsTo(draft.to))[0]!) as [string];
    const head = await service.store.head();
    const page = await open(old);
    expect([page.status, hasButton(page.text)]).to.deep.equal([410, true]);
    expect(page.text).to.include(draft.to).and.include("/review").and.not.include("On its way.");
    expect((await open(old, "HEAD")).status).to.equal(410);
    await open(`${old}?d=approve`);
    for (const nonce of ["", "1.x", nonceIn(page.text).replace(/.$/, "_")]) {
      const refused = await press(old, nonce);
      expect([refused.status, hasButton(refused.text)]).to.deep.equal([403, true]);
    }
    await service.caughtUp();
    expect(await service.store.head()).to.equal(head);
    // Another link's page does not press for this one.
    const [, otherOld] = pathsIn((await mailsTo(draft.to))[1]!) as [string, string];
    expect((await press(otherOld, nonceIn(page.text))).status).to.equal(403);

    const pressed = await press(old, nonceIn(page.text));
    expect([pressed.status, pressed.text.includes("A new request is on its way")]).to.deep.equal([200, true]);
    const mails = await untilMailed(draft.to, 3);
    const [fresh] = pathsIn(mails.at(-1)!) as [string];
    expect((await open(fresh)).status).to.equal(200);
    await draft.asked();
    const renewed = (await draft.history()).find(({ type }) => type === "NotifyRequested");
    expect(renewed.data).to.include({ slot: "primary" });
    expect(renewed.actor).to.include({ kind: "email_link", id: draft.to, channel: "email" });
    const owner = await deskOf(service, tenant.id);
    expect((await owner.get(`/drafts/${draft.id}`)).page).to.include("its link was used to ask for a new one");
    // It counts as a request to notify.
    expect((await draft.ask("POST notify")).outcome).to.equal("429 rate_limited");
    // A second press, and the button of every other expired link, do nothing while that link works.
    for (const path of [old, otherOld]) {
      const again = await press(path, nonceIn(page.text));
      expect([403, 410]).to.include(again.status);
      const shown = await open(path);
      expect([shown.status, hasButton(shown.text)]).to.deep.equal([410, false]);
      expect(shown.text).to.include("A newer request is valid");
    }
    expect(await mailsTo(draft.to)).to.have.length(3);
    const approval = await draft.approvalMail(draft.to);
    expect(pathsIn(approval)).to.include(fresh);
    await approval.press();
    await draft.becomes("sent");
    expect((await open(old)).text).to.include("Already approved and sent");
  });

  it("two presses at the same moment, also by two links, cause one mail", async () => {
    const draft = await expired();
    const [one, two] = (await mailsTo(draft.to)).map((mail) => pathsIn(mail)[0]) as [string, string];
    const nonces = await Promise.all([one, two].map(async (path) => nonceIn((await open(path)).text)));
    await Promise.all([press(one, nonces[0]!), press(one, nonces[0]!), press(two, nonces[1]!)]);
    await happens(draft, "ApproversNotified", 3);
    await service.caughtUp();
    expect((await typesOf(draft)).filter((type) => type === "NotifyRequested")).to.have.length(1);
    expect(await mailsTo(draft.to)).to.have.length(3);
  });

  it("the page of an expired link says who can be asked if its address is no channel any more", async () => {
    const draft = await expired();
    const [old] = pathsIn((await mailsTo(draft.to))[0]!) as [string];
    const json = { approval_channel: email(`approver${++made}@x.example`) };
    expect((await tenant.ask(`PATCH /v1/identities/${draft.identity.id}`, { json })).status).to.equal(200);
    const page = await open(old);
    expect([page.status, hasButton(page.text)]).to.deep.equal([410, false]);
    expect(page.text).to.include("Other approvers are asked about this draft now").and.include("Its owners");
    expect(page.text).not.to.include(json.approval_channel.config.to);
    expect((await mailsTo(draft.to)).length).to.equal(2);
  });

  it("a press at whose moment the identity gets another approver asks nobody for the old link", async () => {
    const draft = await expired();
    const [old] = pathsIn((await mailsTo(draft.to))[0]!) as [string];
    const { drafts } = service.deps;
    let met = false;
    const handle: typeof drafts.handle = async (...given) => {
      const json = { approval_channel: email(`approver${++made}@x.example`) };
      if (!met) expect((await tenant.ask(`PATCH /v1/identities/${draft.identity.id}`, { json })).status).to.equal(200);
      met = true;
      return drafts.handle(...given);
    };
    const by = { ip: undefined, userAgent: undefined, requestId: undefined };
    const { renew } = approvalRenewals({ ...service.deps, drafts: { ...drafts, handle } });
    const renewal = await renew({ token: old.slice("/a/".length), ...by });
    expect([met, renewal?.kind]).to.deep.equal([true, "elsewhere"]);
    expect(await typesOf(draft)).not.to.include("NotifyRequested");
  });

  it("the page of an expired link offers no mail to a mailbox that has stopped the workspace's mail", async () => {
    const draft = await expired();
    const [old] = pathsIn((await mailsTo(draft.to))[0]!) as [string];
    const nonce = nonceIn((await open(old)).text);
    const token = await newUnsubscribeToken(service.deps, { workspaceId: tenant.id, address: draft.to });
    const by = { ip: undefined, userAgent: undefined, requestId: undefined };
    await unsubscribeLinks(service.deps).change(token, "stop", by);
    for (const page of [await open(old), await press(old, nonce)]) {
      expect([page.status, hasButton(page.text)]).to.deep.equal([410, false]);
      expect(page.text).to.include("is stopped, so no new request can be mailed");
    }
    expect(await typesOf(draft)).not.to.include("NotifyRequested");
  });

  it("the page of an expired link offers nothing once the draft is decided or waits for changes", async () => {
    const [waiting, rejected] = [await expired(), await expired()];
    await rejected.reject();
    expect((await waiting.ask("POST request-changes", { json: { text: "Say when." } })).status).to.equal(200);
    await service.caughtUp();
    for (const [draft, words] of [
      [waiting, "You will be asked about its next version"],
      [rejected, "Already rejected"],
    ] as const) {
      const page = await open(pathsIn((await mailsTo(draft.to))[0]!)[0]!);
      expect([hasButton(page.text), page.text.includes(words)], words).to.deep.equal([false, true]);
    }
  });

  it("a press by the secondary approver asks that address alone, and both if two have to approve", async () => {
    const second = () => email(`second${++made}@x.example`);
    for (const [approvalsRequired, mailed] of [
      [1, [2, 3]],
      [2, [3, 3]],
    ] as const) {
      const secondaryApprovalChannel = second();
      const { to } = secondaryApprovalChannel.config;
      const draft = await asked({ secondaryApprovalChannel, escalationDelayMinutes: 30, approvalsRequired });
      if (approvalsRequired === 1) await pass(31 * minute);
      await untilMailed(to, 1);
      await happens(draft, "ApproversNotified", 2);
      await pass();
      await happens(draft, "ApproversNotified", 4);
      await pass();
      await happens(draft, "RequestsExpired");
      await service.caughtUp();
      const [old] = pathsIn((await mailsTo(to))[0]!) as [string];
      expect((await press(old, nonceIn((await open(old)).text))).status).to.equal(200);
      await untilMailed(to, 3);
      await happens(draft, "ApproversNotified", 4 + approvalsRequired);
      await service.caughtUp();
      expect([(await mailsTo(draft.to)).length, (await mailsTo(to)).length]).to.deep.equal(mailed);
    }
  });

  it("the page of a chat's expired link asks again in that chat", async () => {
    const config = { webhook_url: "https://hooks.slack.com/services/T/B/x" };
    const draft = await asked({ approvalChannel: { type: "slack", config } });
    await pass();
    await until(async () => slack.askedAbout(draft.id).length === 2);
    await happens(draft, "ApproversNotified", 2);
    // The card lost its buttons when its links ended.
    await until(async () => slack.saidOn(draft.id) !== undefined);
    expect(slack.saidOn(draft.id)).to.match(
      /^These buttons have expired, .* UTC\. Nothing was decided\. If the draft still waits/,
    );
    expect(slack.saidOn(draft.id, 1)).to.equal(undefined);
    // The provider fails at the moment at which the second card is to lose its buttons.
    slack.failNext(draft.id, { reached: false, again: true, error: "a time-out" });
    await pass();
    await happens(draft, "RequestsExpired");
    await until(async () => slack.failuresLeft(draft.id) === 0);
    await pass(minute);
    await until(async () => slack.saidOn(draft.id, 1) !== undefined);
    const old = new URL(slack.askedAbout(draft.id)[0]!.links.reject).pathname;
    const page = await open(old);
    expect(page.text).to.include("Ask again in Slack");
    expect((await press(old, nonceIn(page.text))).status).to.equal(200);
    await until(async () => slack.askedAbout(draft.id).length === 3);
  });

  it("drafts of one mail are asked about once more in one mail, and the page of the expired list asks about all that wait", async () => {
    const to = `approver${++made}@x.example`;
    const identity = await tenant.newIdentity({ approvalChannel: email(to) });
    service.deps.settings.mostMailedAlone = 0;
    try {
      const drafts: StoryDraft[] = [];
      for (let n = 0; n < 3; n++) drafts.push(await tenant.draft(await tenant.mail({ to: identity })));
      const inOneMail = async (times: number) => {
        for (const draft of drafts) await happens(draft, "ApproversAsked", 2 * times - 1);
        await until(async () => {
          await service.caughtUp();
          if ((await mailsTo(to)).length === times) return true;
          service.clock.advance(5 * minute);
          return false;
        });
        for (const draft of drafts) await happens(draft, "ApproversNotified", times);
        const mail = (await untilMailed(to, times)).at(-1)!;
        expect(mail.subject).to.equal("3 drafts wait for your decision");
        return pathsIn(mail)[0]!;
      };
      const list = await inOneMail(1);
      expect((await open(list)).status).to.equal(200);
      await pass();
      await inOneMail(2);
      await pass();
      for (const draft of drafts) await until(async () => (await tenant.thread(draft)).needs_review === true);
      const head = await service.store.head();
      const page = await open(list);
      expect([page.status, hasButton(page.text)]).to.deep.equal([410, true]);
      expect((await open(list, "HEAD")).status).to.equal(410);
      expect((await press(list, "1.x")).status).to.equal(403);
      expect(await service.store.head()).to.equal(head);
      expect((await press(list, nonceIn(page.text))).status).to.equal(200);
      const fresh = await inOneMail(3);
      expect((await open(fresh)).status).to.equal(200);
      const after = await open(list);
      expect([after.status, hasButton(after.text)]).to.deep.equal([410, false]);
      // A list that works has no action, as before.
      expect((await press(fresh, nonceIn(page.text))).status).to.equal(405);
    } finally {
      service.deps.settings.mostMailedAlone = 1_000;
    }
  });
});
