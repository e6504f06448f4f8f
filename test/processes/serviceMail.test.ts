import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { postNotice } from "#src/commands/serviceMail/postNotice.ts";
import { sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import { createOutboxProvider } from "#src/mail/out/outboxProvider.ts";
import { channelDoubles, chatDouble } from "#test/support/chatDouble.ts";
import { sourceFiles, textOf } from "#test/support/imports.ts";
import { mail, until } from "#test/support/inProcess.ts";
import { useRules } from "./rulesWorld.ts";

/** Hourly limits to one mailbox: 3 notices, 2 approval mails. Each test has separate workspaces. */
const settings = { SERVICE_MAIL_PER_HOUR: "3,4,2,100" };

describe("the service's own mail", () => {
  const rules = useRules(settings);

  const someone = () => `${randomUUID()}@approvers.example`;
  const notify = (to: string) => ({ type: "notify_channel", channel: "email", config: { to } });
  const channel = (to: string) => ({ type: "email" as const, config: { to } });
  const mailsTo = async (to: string) =>
    (await rules.service.outbox.newest(200)).filter(
      ({ envelope }) => envelope.to[0]?.toLowerCase() === to.toLowerCase(),
    );
  const withheld = async (kind: string, reason: string): Promise<number> => {
    const text = await (await fetch(`${rules.service.url}/metrics`)).text();
    const line = new RegExp(
      `^countersign_service_mail_withheld_total\\{kind="${kind}",reason="${reason}"\\} (\\d+)$`,
      "m",
    );
    return Number(line.exec(text)?.[1] ?? 0);
  };
  /** Returns the path of the link that stops the service's mail. */
  const stopPath = async (to: string) => /\/stop\/[\w.-]+/.exec((await mailsTo(to))[0]!.text)![0];
  const open = (path: string, options: RequestInit = {}) => fetch(rules.service.url + path, options);
  const nonceIn = (page: string) => /name="nonce" value="([^"]+)"/.exec(page)![1]!;
  const press = async (path: string, nonce?: string) => {
    const body = new URLSearchParams({ nonce: nonce ?? nonceIn(await (await open(path)).text()) });
    return open(path, { method: "POST", body });
  };
  const send = (to: string, more: object) =>
    sendNotice(rules.service.deps, createOutboxProvider(rules.service.database), {
      kind: "rule",
      workspaceId: randomUUID(),
      origin: { identityId: randomUUID(), threadId: randomUUID(), attemptId: randomUUID() },
      to,
      subject: "News",
      text: "News.",
      html: "<p>News.</p>",
      ...more,
    } as never);

  it("mail of rules above a mailbox's hourly limit is dropped, counted, and shown in the rule's history", async () => {
    const { rule, mail: receive, evaluations } = await rules.world();
    const to = someone();
    const tagged = to.replace("@", "+more@").toUpperCase();
    const told = await rule("email.received", [notify(to), notify(tagged)]);
    const before = await withheld("rule", "mailbox_full");
    await receive();
    await receive();
    const outcomes = async () => (await evaluations(told)).flatMap(({ actions }: any) => actions);
    await until(async () => (await outcomes()).filter(({ outcome }) => outcome !== "pending").length === 4);
    const refused = (await outcomes()).filter(({ outcome }) => outcome === "refused");
    expect(refused).to.have.length(1);
    expect(refused[0].reason).to.match(
      /^the hourly quota of mails of rules, tests and notices for this address is used up/,
    );
    expect([...(await mailsTo(to)), ...(await mailsTo(tagged))]).to.have.length(3);
    expect(await withheld("rule", "mailbox_full")).to.equal(before + 1);
  });

  it("mail of rules and tests above a workspace's hourly limit is dropped", async () => {
    const { rule, mail: receive, settled, ask, identity } = await rules.world();
    const told = await rule(
      "email.received",
      [1, 2, 3].map(() => notify(someone())),
    );
    await receive();
    await settled(told);
    const test = () => ask(`POST /v1/identities/${identity.id}/test-email`, { json: { recipient_email: someone() } });
    expect((await test()).status).to.equal(202);
    const over = await test();
    expect([over.status, over.json.error]).to.deep.equal([429, "rate_limited"]);
    expect(Number(over.headers.get("retry-after"))).to.be.within(1, 3600);
  });

  it("mail of rules has no tenant's or stranger's words in its subject and no links from them", async () => {
    const { rule, mail: receive, settled } = await rules.world();
    const to = someone();
    const name = 'Pay at https://evil.example/x or call <a href="https://evil.example">us</a> \u202e now';
    const told = await rule("email.received", [notify(to)], { name });
    await receive({ subject: "Verify at www.evil.example \r\n <b>now</b>" });
    await settled(told);
    const [caught] = await mailsTo(to);
    expect(caught!.subject).to.equal("A rule of your workspace matched");
    for (const body of [caught!.text, caught!.html!]) {
      expect(body)
        .not.to.match(/(https?:\/\/|www\.)evil/)
        .and.not.to.contain("evil.example");
      expect(body).to.contain("[U+202E]").and.to.contain("“Pay at ");
    }
    expect(caught!.html).not.to.match(/<(a|b)\b[^>]*>(us|now)/);
    expect(caught!.headers).to.include({ "auto-submitted": "auto-generated", "x-auto-response-suppress": "All" });
  });

  it("a rule's chat messages have an hourly limit for each chat, and refused ones do not count", async () => {
    const chat = chatDouble("slack");
    const channels = { ...channelDoubles(), slack: chat.channel };
    const post = (room: string, more: object = {}) =>
      postNotice(rules.service.deps, channels, {
        kind: "rule",
        ...{ workspaceId: randomUUID(), attemptId: randomUUID(), lines: ["News."] },
        channel: { type: "slack", config: { webhook_url: "https://hooks.slack.com/services/T/B/X", channel: room } },
        ...more,
      });
    const room = randomUUID();
    const { tell } = chat.channel;
    chat.channel.tell = async () => ({ reached: false, error: "it is gone", again: false });
    for (let time = 0; time < 5; time++) expect(await post(room)).to.include({ sent: false, error: "it is gone" });
    chat.channel.tell = tell!;
    const attemptId = randomUUID();
    for (const more of [{ attemptId }, { attemptId }, {}, {}])
      expect(await post(room, more)).to.deep.equal({ sent: true });
    const above = await post(room);
    expect(above).to.include({ sent: false, again: false });
    expect((above as { error: string }).error).to.match(
      /for this chat is used up \(SERVICE_MAIL_PER_HOUR\): it was not sent$/,
    );
    expect(await post(randomUUID())).to.deep.equal({ sent: true });
    expect(chat.told).to.have.length(5);
  });

  it("while a workspace has paused sending only approval requests and outcomes are sent", async () => {
    const { rule, mail: receive, settled, ask, draft, identity } = await rules.world();
    const [lead, approver] = [someone(), someone()];
    const config = { webhook_url: "https://hooks.slack.com/services/T/B/X" };
    const told = await rule("email.received", [notify(lead), { type: "notify_channel", channel: "slack", config }]);
    await ask(`PATCH /v1/identities/${identity.id}`, { json: { approval_channel: channel(approver) } });
    await ask("PATCH /v1/workspaces/me", { json: { sending_paused: true } });
    const based = await receive();
    const { actions } = await settled(told);
    for (const action of actions) {
      expect(action).to.include({
        outcome: "refused",
        reason: "sending is paused in this workspace: only requests to approvers, outcomes and invitations are sent",
      });
    }
    await draft(based);
    await until(async () => (await mailsTo(approver)).length === 1);
    expect(await mailsTo(lead)).to.have.length(0);
  });

  it("the service's mail counts in the hourly limit only if it was sent, and a repeated attempt once", async () => {
    const to = someone();
    const workspaceId = (await rules.service.workspace()).id;
    const attempts = Array.from({ length: 5 }, () => ({
      identityId: randomUUID(),
      threadId: randomUUID(),
      attemptId: randomUUID(),
    }));
    const failing = { connect: () => Promise.reject(new Error("the relay is away")) };
    for (const origin of attempts) {
      const notice = {
        kind: "rule",
        workspaceId,
        origin,
        to,
        subject: "News",
        text: "News.",
        html: "<p>News.</p>",
      } as const;
      const outcome = await sendNotice(rules.service.deps, failing as never, notice);
      expect(outcome).to.deep.equal({ sent: false, error: "the relay is away", again: true });
    }
    const [first, second, third, fourth] = attempts;
    for (const origin of [first, first, second, third])
      expect(await send(to, { workspaceId, origin })).to.deep.equal({ sent: true });
    expect(await send(to, { workspaceId, origin: fourth })).to.include({ sent: false, again: false });
    // The limit of the mailbox holds for another workspace too.
    const other = (await rules.service.workspace()).id;
    expect(await send(to, { workspaceId: other })).to.include({ sent: false, again: false });
    expect(await send(to, { workspaceId: other, kind: "outcome" })).to.deep.equal({ sent: true });
  });

  it("the service's mail is rendered for sending in two files only", () => {
    const sending = sourceFiles("src").filter((file) => /\brenderNotice\(/.test(textOf(file)));
    expect(sending).to.have.members([
      "src/commands/serviceMail/sendNotice.ts",
      "src/commands/users/accountMail.ts",
      "src/mail/out/render.ts",
    ]);
  });

  it("an approval request without room in the hourly limit waits and says how long", async () => {
    const to = someone();
    const workspaceId = (await rules.service.workspace()).id;
    for (let n = 0; n < 2; n++) await send(to, { workspaceId, kind: "approval" });
    const outcome = await send(to, { workspaceId, kind: "approval" });
    expect(outcome).to.include({ sent: false, again: true });
    expect((outcome as { inMs: number }).inMs).to.be.within(60_000, 3_600_000);
    expect((outcome as { error: string }).error).to.match(
      /^the hourly quota of requests to approvers and outcomes for this/,
    );
  });

  describe("the link that stops the service's mail", () => {
    /** Submits a draft and waits until its first approver was asked. */
    async function asked() {
      const world = await rules.world();
      const [first, second] = [someone(), someone()];
      const json = { approval_channel: channel(first), secondary_approval_channel: channel(second) };
      await world.ask(`PATCH /v1/identities/${world.identity.id}`, { json });
      const basis = await world.mail();
      const { id: draftId } = await world.draft(basis);
      await until(async () => (await mailsTo(first)).length === 1);
      const types = async (id = draftId) =>
        (await world.get(`/v1/drafts/${id}/history?limit=100`)).data as { type: string; data: any }[];
      return { ...world, first, second, basis, draftId, types, path: await stopPath(first) };
    }

    it("the link that stops mail stops nothing when opened, without its page or with another page's nonce", async () => {
      const { first, path, id: workspaceId } = await asked();
      const other = await asked();
      for (const method of ["GET", "HEAD"])
        for (let n = 0; n < 5; n++) expect((await open(path, { method })).status).to.equal(200);
      const page = await (await open(path)).text();
      expect(page).to.contain(first).and.to.contain(workspaceId).and.to.contain("Stop mail from this workspace?");
      const theirs = nonceIn(await (await open(other.path)).text());
      for (const nonce of ["", "x", theirs, `${nonceIn(page)}x`]) {
        const answer = await press(path, nonce);
        expect(answer.status, nonce).to.equal(403);
        expect(await answer.text()).to.contain("Stop mail from this workspace?");
      }
      const late = nonceIn(page);
      rules.service.clock.advance(61 * 60_000);
      expect((await press(path, late)).status, "open for more than an hour").to.equal(403);
      expect((await open(path, { method: "PUT" })).status).to.equal(405);
      expect(await send(first, { workspaceId, kind: "outcome" })).to.deep.equal({ sent: true });
    });

    it("stopping mail affects one workspace, notifies the second approver, and resuming asks again", async () => {
      const { first, second, path, basis, draft, types, id: workspaceId, get } = await asked();
      const stopped = await press(path);
      expect([stopped.status, (await stopped.text()).includes("Mail from this workspace is stopped")]).to.deep.equal([
        200,
        true,
      ]);
      expect((await press(path, "x")).status).to.equal(403);

      await until(async () =>
        (await mailsTo(second)).some(({ subject }) => subject === "An approver stopped mail from your workspace"),
      );
      const { id: unasked } = await draft(basis, { body_text: "Tomorrow." });
      await until(async () => (await types(unasked)).some(({ type }) => type === "NotificationFailed"));
      const failed = (await types(unasked)).find(({ type }) => type === "NotificationFailed")!.data;
      expect(failed.final).to.equal(true);
      expect(failed.error).to.match(/the recipient has stopped mail from this workspace to [^:]+: use another address/);
      expect(await mailsTo(first)).to.have.length(1);
      const tagged = first.replace("@", "+other@");
      expect(await send(tagged, { workspaceId }), "another spelling").to.include({ sent: false, again: false });
      const other = (await rules.service.workspace()).id;
      expect(await send(first, { workspaceId: other, kind: "outcome" }), "another workspace").to.deep.equal({
        sent: true,
      });

      const before = (await mailsTo(first)).length;
      const again = await press(path);
      expect([again.status, (await again.text()).includes("Mail is resumed")]).to.deep.equal([200, true]);
      // The mailbox's hourly limit is reached; an hour later there is room.
      await rules.service.database.query("update work.service_mail set at = at - interval '1 hour'");
      rules.service.clock.advance(3_600_000);
      await until(async () => (await mailsTo(first)).length > before);
      expect((await get(`/v1/drafts/${unasked}`)).status).to.equal("pending");
    });

    it("a link that stops mail expires after 90 days and then mails a new one, at most once an hour", async () => {
      const { first, path } = await asked();
      await press(path);
      rules.service.clock.advance(90 * 86_400_000);
      const opened = await (await open(path)).text();
      expect(opened).to.contain("This link has expired").and.not.contain("Resume this mail");
      const newLinks = async () =>
        (await mailsTo(first)).filter(({ subject }) => subject === "A new link to stop or resume mail").length;
      for (let n = 0; n < 3; n++)
        expect(await (await press(path)).text())
          .to.contain("A new link is on its way")
          .and.not.contain("<button");
      await until(async () => (await newLinks()) === 1);
      const renewed = await stopPath(first);
      expect(renewed).not.to.equal(path);
      expect(await (await press(renewed)).text()).to.contain("Mail is resumed");
      rules.service.clock.advance(3_600_000);
      await press(path);
      await until(async () => (await newLinks()) === 2);
    });

    it("an altered link that stops mail is answered with 404", async () => {
      const { path } = await asked();
      const unknown = await open("/stop/x");
      for (const each of [`${path}x`, path.slice(0, -1), path.replace("/stop/", "/stop/A"), "/stop/a.b"]) {
        const answer = await open(each);
        expect([answer.status, (await answer.text()).length > 0], each).to.deep.equal([404, true]);
        expect((await press(each, "x")).status).to.equal(404);
      }
      expect(unknown.headers.get("content-security-policy")).to.contain("default-src 'none'");
    });
  });

  it("a mailbox that sends the service's mail back does not cause a loop", async () => {
    const { rule, mail: receive, settled, evaluations, identity } = await rules.world();
    const to = someone();
    const told = await rule("email.received", [notify(to)]);
    await receive();
    await settled(told);
    const raw = (await rules.service.outbox.raw((await mailsTo(to))[0]!.id))!;
    // The mail itself, and an automatic answer to it.
    await rules.service.deliver(identity.address, raw);
    const wrapped = mail({
      id: `${randomUUID()}@back.example`,
      from: to,
      to: identity.address,
      subject: "Re: your mail",
    });
    await rules.service.deliver(
      identity.address,
      wrapped.replace("MIME-Version", "Auto-Submitted: auto-replied\r\nMIME-Version"),
    );
    await rules.service.deliver(rules.service.deps.settings.approvalsFrom, wrapped);
    await rules.service.caughtUp();
    expect(await evaluations(told)).to.have.length(1);
    expect(await mailsTo(to)).to.have.length(1);
  });
});
