import { expect } from "chai";
import type { BundleRequest, Channel, Channels } from "#src/channels/channel.ts";
import { recordBouncedRequest } from "#src/commands/approvals/bouncedRequests.ts";
import { type NewIdentity, updateIdentity } from "#src/commands/identities/identities.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import type { CaughtMail } from "#src/mail/out/outbox.ts";
import { askInBundles } from "#src/processes/askInBundles.ts";
import type { Process, Timer } from "#src/processes/process.ts";
import { draftStream } from "#streams/draft/events.ts";
import { inFull, itInFull, sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { fire } from "#test/support/processContext.ts";
import { cause } from "./sendWorld.ts";

const minute = 60_000;
const hour = 60 * minute;
const email = (to: string) => ({ type: "email" as const, config: { to } });

describe("approval mails about several drafts", () => {
  /** The number of approval requests that are mailed separately here; the default is 30. */
  const alone = 1;
  let service: InProcess;
  let workspace: Workspace;
  let made = 0;

  before(async () => {
    service = await startInProcess();
    service.deps.settings.mostMailedAlone = alone;
    workspace = await service.workspace();
  });
  after(() => service.stop());

  /** Makes an identity with a separate approver. */
  async function identityFor(to = `approver${++made}@x.example`, settings: Partial<NewIdentity> = {}) {
    const identity = await service.identity(workspace.id, { approvalChannel: email(to), ...settings });
    return { ...identity, to };
  }

  async function received(identity: Identity) {
    const before = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`)).json.total;
    await service.deliver(identity.address, mail({ id: `q${++made}@customer.example`, subject: `Question ${made}` }));
    const { data, total } = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`)).json;
    expect(total).to.equal(before + 1);
    const { messages } = (await workspace.ask(`GET /v1/threads/${data[0].id}`)).json;
    return { thread_id: data[0].id, identity_id: identity.id, based_on_message_id: messages[0].id };
  }
  type Based = Awaited<ReturnType<typeof received>>;

  async function submit(based: Based, body_text: string): Promise<string> {
    const { status, json } = await workspace.ask("POST /v1/drafts", { json: { ...based, body_text } });
    expect(status, JSON.stringify(json)).to.equal(201);
    return json.id;
  }
  async function submitMany(based: Based, count: number): Promise<string[]> {
    const ids = [];
    for (let n = 0; n < count; n++) ids.push(await submit(based, `Answer number ${++made}.`));
    return ids;
  }

  const sign = (identityId: string, signatureText: string) => change(identityId, { signatureText });
  const change = (identityId: string, changes: Partial<NewIdentity>) =>
    updateIdentity(
      service.deps,
      { workspaceId: workspace.id, identityId, changes, mayLoosen: true },
      { ...cause, workspaceId: workspace.id },
    );

  const caught: CaughtMail[] = [];
  const mailsTo = async (address: string): Promise<CaughtMail[]> => {
    for await (const mail of service.outbox.after(caught.at(-1)?.id ?? 0)) caught.push(mail);
    return caught.filter(({ envelope }) => envelope.to.includes(address));
  };
  const eventsOf = (draftId: string) => readEvents(service.store, draftStream(draftId));
  const typesOf = async (draftId: string): Promise<string[]> => (await eventsOf(draftId)).map(({ type }) => type);
  const draftOf = async (id: string) => (await service.deps.drafts.load(id)).state;

  /** True if the approver was asked about the newest version, or it waits for a mail with others. */
  const isAsked = async (draftId: string): Promise<boolean> => {
    const { notified, version } = await draftOf(draftId);
    const asked = Object.values(notified.open).filter((each) => each.version === version);
    return asked.some(
      (each) => notified.answered.some((answered) => answered.startsWith(each.causedBy)) || isWaiting(each),
    );
  };
  const isWaiting = (asked: { bundled?: true; listSha256?: string }) => asked.bundled === true && !asked.listSha256;
  const isReached = async (draftId: string): Promise<boolean> => {
    const { notified, version } = await draftOf(draftId);
    const asked = Object.values(notified.open).filter((each) => each.version === version);
    return asked.some((each) => notified.answered.some((answered) => answered.startsWith(each.causedBy)));
  };
  const untilAll = (ids: readonly string[], isSo: (id: string) => Promise<boolean>) =>
    until(async () => (await Promise.all(ids.map(isSo))).every(Boolean));

  /** Advances the clock from timer to timer until the condition holds. */
  const inTime = (isSo: () => Promise<boolean>) =>
    until(async () => {
      if (await isSo()) return true;
      // Requests made so far must be projected before the timer is due.
      await service.caughtUp();
      const { rows } = await service.database.query<{ due_at: Date }>(
        "select due_at from work.items where process = 'askInBundles' and timer is not null order by due_at limit 1",
      );
      const leftMs = rows[0] ? rows[0].due_at.getTime() - service.clock.now().getTime() : 0;
      if (leftMs > 0) service.clock.advance(leftMs);
      return false;
    });
  const untilReached = (ids: readonly string[]) =>
    inTime(async () => (await Promise.all(ids.map(isReached))).every(Boolean));

  const listLinks = (mails: readonly CaughtMail[]) => mails.flatMap(({ text }) => linksIn(text, /\/l\/[\w-]{43}/g));
  const reviewLinks = (mails: readonly CaughtMail[]) => mails.flatMap(({ text }) => linksIn(text, /\/a\/[\w-]{43}/g));
  const linksIn = (text: string, form: RegExp): string[] => [...new Set(text.match(form) ?? [])];
  const page = async (path: string, method = "GET") => workspace.ask(`${method} ${path}`, { key: null });
  const onList = (text: string): string[] => linksIn(text, /\/a\/[\w-]{43}/g);

  /** Returns the pages with a button that the links in these mails lead to. */
  async function decidable(mails: readonly CaughtMail[]): Promise<string[]> {
    const links = new Set(reviewLinks(mails));
    for (const list of listLinks(mails)) for (const link of onList((await page(list)).text)) links.add(link);
    const pages = await Promise.all([...links].map((link) => page(link)));
    return pages.filter(({ status, text }) => status === 200 && text.includes("<button")).map(({ text }) => text);
  }

  type Morning = { drafts: number; burst: number; everyMinutes: number };

  /** Submits drafts in bursts to one approver, whose mailbox forwards every mail to the identity. */
  async function morning({ drafts, burst, everyMinutes }: Morning) {
    const identity = await identityFor();
    const ids: string[] = [];
    const bodies: string[] = [];
    let forwarded = 0;
    const forwardAll = async () => {
      for (const { id } of (await mailsTo(identity.to)).slice(forwarded)) {
        forwarded += 1;
        const raw = (await service.outbox.raw(id)) as Buffer;
        const again = { from: identity.to, helo: "mx.x.example" };
        await service.deliver(
          identity.address,
          Buffer.concat([Buffer.from(`Received: from ${forwarded}\r\n`), raw]),
          again,
        );
      }
    };
    let based = await received(identity);
    for (let n = 0; n < drafts; n++) {
      const body = `Answer number ${++made} of a morning.`;
      if (n > 0 && inFull) based = await received(identity);
      ids.push(await submit(based, body));
      bodies.push(body);
      if (ids.length === drafts / 2) {
        await untilAll(ids, isAsked);
        await sign(identity.id, "Yours, Ann");
        await until(async () => (await Promise.all(ids.map(draftOf))).every(({ version }) => version === 2));
      }
      if (ids.length % burst > 0 && ids.length < drafts) continue;
      await untilAll(ids, isAsked);
      await forwardAll();
      service.clock.advance(everyMinutes * minute);
      if (burst > 1 || ids.length === drafts) await untilReached(ids);
      await forwardAll();
    }
    const mails = await mailsTo(identity.to);
    const before = mails.length;
    await forwardAll();
    service.clock.advance(6 * minute);
    await service.caughtUp();
    expect((await mailsTo(identity.to)).length).to.equal(before);
    return { identity, ids, bodies, mails };
  }

  const isBundle = ({ subject }: CaughtMail) => /^\d+ drafts wait for your decision$/.test(subject);

  it("a busy approver gets few mails about many drafts, can decide on all, and forwarding makes no loop", async () => {
    const [drafts, most] = [sized(4, 40), sized(1, 30)];
    service.deps.settings.mostMailedAlone = most;
    const { ids, bodies, mails } = await morning({ drafts, burst: sized(2, 5), everyMinutes: 30 });
    const bundles = mails.filter(isBundle);
    const single = mails.length - bundles.length;
    if (inFull)
      console.log(
        `      ${drafts} drafts in bursts: ${single} mails about one, ${bundles.map(({ subject }) => Number.parseInt(subject, 10))} in bundles`,
      );
    // At most `most` mails before the edit; after it each draft is open in its new version.
    expect(single).to.be.within(most, most + drafts / 2);
    expect(bundles.length).to.be.within(1, 1 + drafts / sized(2, 5));
    for (const id of ids) expect((await draftOf(id)).status).to.equal("pending");
    const pages = await decidable(mails);
    const unreachable = bodies.filter((body) => !pages.some((text) => text.includes(body)));
    expect(unreachable).to.deep.equal([]);
    const half = bodies.slice(0, drafts / 2);
    for (const body of half) {
      const live = pages.filter((text) => text.includes(body));
      expect(live.every((text) => text.includes("Yours, Ann"))).to.equal(true);
    }
  });

  itInFull(
    "a busy approver gets no more mails than drafts, apart from two, if a draft comes every six minutes",
    async () => {
      service.deps.settings.mostMailedAlone = 30;
      const { ids, mails } = await morning({ drafts: 40, burst: 1, everyMinutes: 6 });
      const bundles = mails.filter(isBundle);
      console.log(
        `      40 drafts one by one: ${mails.length - bundles.length} mails about one, ${bundles.length} bundles`,
      );
      expect(mails.length).to.be.below(ids.length + 3);
    },
  );

  /** An identity with as many open drafts as are mailed separately, and a few that wait for a mail together. */
  async function crowded(waiting: number) {
    service.deps.settings.mostMailedAlone = alone;
    const identity = await identityFor();
    const based = await received(identity);
    const mailed = await submitMany(based, alone);
    await untilAll(mailed, isReached);
    const ids = await submitMany(based, waiting);
    await untilAll(ids, isAsked);
    return { identity, based, mailed, ids };
  }

  /** Runs the process by hand on the test's channel; the service's own run follows when its timers are due. */
  function byHand(askTogether: Channel["askTogether"], ask: Channel["ask"] = async () => ({ reached: true })) {
    const channel = { ask, ...(askTogether && { askTogether }) };
    const process = askInBundles(service.deps, { email: channel, telegram: channel, slack: channel });
    return async (to: string, payload: object = { address: to }) => {
      const timers: Timer[] = [];
      const position = await service.store.head();
      await service.caughtUp();
      const due = { key: "by hand", name: "soon", dueAt: service.clock.now() };
      await fire(
        process,
        { ...due, payload: { ...payload, position, workspaceId: workspace.id } },
        { timers, clock: service.clock },
      );
      return timers;
    };
  }

  const failures = async (draftId: string) =>
    (await eventsOf(draftId)).filter(({ type }) => type === "NotificationFailed").map(({ data }: any) => data.final);

  it("a mail about several drafts links to a page with a link for each, which shows their outcomes", async () => {
    const { identity, ids } = await crowded(3);
    await untilReached(ids);
    const bundle = (await mailsTo(identity.to)).at(-1) as CaughtMail;
    expect(bundle.subject).to.equal("3 drafts wait for your decision");
    expect(bundle.text).to.include("Question").and.to.include("ann");
    const [list] = listLinks([bundle]) as [string];
    const head = await service.store.head();
    const shown = await page(list);
    expect([shown.status, (await page(list, "HEAD")).status, (await page(list, "POST")).status]).to.deep.equal([
      200, 200, 405,
    ]);
    expect(shown.text).to.include("3 drafts wait for your decision").and.not.to.include("<form");
    expect(await service.store.head()).to.equal(head);
    const links = onList(shown.text);
    expect(links).to.have.length(3);
    // Each token of the list opens only its own page.
    expect((await page(list.replace("/l/", "/a/"))).status).to.equal(404);
    expect((await page(links[0]!.replace("/a/", "/l/"))).status).to.equal(404);
    expect((await page(`${list}?page=2`)).status).to.equal(404);

    const review = await page(links[0]!);
    const nonce = /name="nonce" value="([^"]+)"/.exec(review.text)![1] as string;
    const form = new URLSearchParams({ decision: "approve", nonce });
    const listToken = list.split("/").at(-1);
    expect(shown.text).to.include(`${links[0]!.split("/").at(-1)}?d=approve&amp;list=${listToken}"`);
    const pressed = await workspace.ask(`POST ${links[0]}?list=${listToken}`, { key: null, body: form });
    expect([pressed.status, pressed.text.includes("Approved")]).to.deep.equal([200, true]);
    service.clock.advance(10_000);
    // The outcome leads to the next draft of this list, and back to it.
    const wayOn = [...pressed.text.matchAll(/class="press" href="([^"]+)"/g)].map(([, href]) => {
      return new URL(href!, `${service.url}${links[0]}`).pathname;
    });
    expect(wayOn).to.deep.equal([links[1], list]);
    await until(async () => (await page(list)).text.includes("<p>Sent, by"));
    const after = await page(list);
    expect(after.text).to.include("2 drafts wait for your decision");
    expect(onList(after.text)).to.deep.equal(links.slice(1));
    for (const link of onList(after.text)) expect((await page(link)).status).to.equal(200);
  });

  it("a long draft in a list is shown without a count of its warnings", async () => {
    const { identity, based } = await crowded(0);
    const ids = await Promise.all([submit(based, "word ".repeat(5_000)), submit(based, "Short.")]);
    await untilAll(ids, isAsked);
    await untilReached(ids);
    const [list] = listLinks(await mailsTo(identity.to)).slice(-1) as [string];
    expect((await page(list)).text).to.include("It is long: open its page to see whether there are warnings.");
  });

  it("the links of a list expire after 72 hours and are closed when another mailbox approves", async () => {
    const { identity, ids } = await crowded(2);
    await untilReached(ids);
    const [list] = listLinks(await mailsTo(identity.to)) as [string];
    const links = onList((await page(list)).text);
    await change(identity.id, { approvalChannel: email("successor@x.example") });
    for (const link of [list, ...links]) {
      const { status, text } = await page(link);
      expect([status, text.includes("Answer number")], link).to.deep.equal([410, false]);
    }
    await change(identity.id, { approvalChannel: email(identity.to) });
    expect((await page(list)).status).to.equal(200);
    service.clock.advance(72 * hour);
    for (const link of [list, ...links]) expect((await page(link)).status).to.equal(410);
  });

  it("a draft that waits alone is mailed as a single approval mail", async () => {
    const { identity, ids } = await crowded(1);
    expect(await typesOf(ids[0]!))
      .to.include("ApproversAsked")
      .and.not.to.include("ApproversNotified");
    await untilReached(ids);
    const mails = await mailsTo(identity.to);
    expect([mails.length, listLinks(mails)]).to.deep.equal([alone + 1, []]);
    expect((await page(reviewLinks(mails.slice(-1))[0]!)).status).to.equal(200);
  });

  it("a mail about several drafts omits those decided or edited while it waited", async () => {
    const { identity, ids } = await crowded(3);
    await workspace.ask(`POST /v1/drafts/${ids[0]}/reject`, { json: {} });
    await workspace.ask(`PATCH /v1/drafts/${ids[1]}`, { json: { body_text: "Better." } });
    await until(() => isAsked(ids[1]!));
    await untilReached(ids.slice(1));
    const mails = (await mailsTo(identity.to)).slice(alone);
    expect(mails.map(({ subject }) => subject)).to.deep.equal(["2 drafts wait for your decision"]);
    expect(onList((await page(listLinks(mails)[0]!)).text)).to.have.length(2);
  });

  it("a mail about several drafts that is refused is tried again on the usual schedule and then given up", async () => {
    const { identity, ids } = await crowded(2);
    const asked: BundleRequest[] = [];
    const fireHere = byHand(async (request) => {
      asked.push(request);
      return { reached: false, again: true, error: "busy" };
    });
    // A wait for room is no try, so all tries are left after it.
    const full = byHand(async () => ({ reached: false, again: true, error: "full", inMs: 90_000 }));
    expect(await full(identity.to)).to.have.length(1);
    const pauses: number[] = [];
    for (let tries = 0; tries < 5; tries++) {
      const timers = await fireHere(identity.to);
      pauses.push(...timers.map(({ dueAt }) => Math.round((dueAt.getTime() - service.clock.now().getTime()) / 1000)));
    }
    expect(pauses).to.deep.equal([5, 30, 120, 600]);
    expect(new Set(asked.map(({ link }) => link)).size).to.equal(5);
    for (const id of ids) expect(await failures(id)).to.deep.equal([...Array(5).fill(false), true]);
    await fireHere(identity.to);
    expect(asked).to.have.length(5);
  });

  itInFull(
    "a mail about several drafts waits for room in the hourly limit as long as needed and is then sent",
    async () => {
      const { identity, ids } = await crowded(2);
      const full = byHand(async () => ({ reached: false, again: true, error: "full", inMs: 90_000 }));
      for (let waits = 0; waits < 6; waits++) {
        const [timer] = await full(identity.to);
        expect(timer!.dueAt.getTime() - service.clock.now().getTime()).to.be.within(80_000, 90_000);
      }
      for (const id of ids) expect(await failures(id)).to.deep.equal(Array(6).fill(false));
      await untilReached(ids);
    },
  );

  it("drafts in a list that fails repeatedly are shown as not notified, and their threads need review", async () => {
    const { identity, based, ids } = await crowded(2);
    const { givingUp } = askInBundles(service.deps, {} as Channels);
    const due = { key: "by hand", name: "soon", dueAt: service.clock.now() };
    await service.caughtUp();
    await (givingUp as Extract<Process["givingUp"], (...all: any) => any>)(
      { ...due, payload: { address: identity.to, position: await service.store.head() } },
      { key: due.key, cause: { ...cause, workspaceId: workspace.id }, error: new Error("a fault of ours") },
    );
    await service.caughtUp();
    for (const id of ids) {
      const { state, error } = (await workspace.ask(`GET /v1/drafts/${id}`)).json.notification_status;
      expect([state, error.slice(0, 9)]).to.deep.equal(["failed", "internal:"]);
    }
    await until(async () => (await workspace.ask(`GET /v1/threads/${based.thread_id}`)).json.needs_review === true);
  });

  it("drafts in a list are mailed again if the service ended before it recorded the mail", async () => {
    const { identity, ids } = await crowded(2);
    const links: string[] = [];
    const ends = byHand(async ({ link }) => {
      links.push(link);
      throw new Error("killed");
    });
    const died = await ends(identity.to).then(
      () => false,
      () => true,
    );
    expect(died).to.equal(true);
    await untilReached(ids);
    // Both mails work.
    const again = listLinks(await mailsTo(identity.to));
    for (const list of [new URL(links[0]!).pathname, ...again])
      expect(onList((await page(list)).text)).to.have.length(2);
  });

  it("drafts changed by an identity's edit are mailed together, and alone if only one is open", async () => {
    service.deps.settings.mostMailedAlone = 30;
    const identity = await identityFor();
    const based = await received(identity);
    const [first] = await submitMany(based, 1);
    await untilAll([first!], isReached);
    await sign(identity.id, "Yours, Ann");
    await until(async () => (await mailsTo(identity.to)).length === 2);
    const [second] = await submitMany(based, 1);
    await untilAll([second!], isReached);
    await sign(identity.id, "Yours, Bob");
    const both = [first!, second!];
    await until(async () => (await Promise.all(both.map(draftOf))).map(({ version }) => version).join() === "3,2");
    await untilAll(both, isAsked);
    expect(await mailsTo(identity.to)).to.have.length(3);
    await untilReached(both);
    const mails = (await mailsTo(identity.to)).slice(3);
    expect(mails.map(({ subject }) => subject)).to.deep.equal(["2 drafts wait for your decision"]);
  });

  it("a list has no drafts of another workspace", async () => {
    const { identity, ids } = await crowded(2);
    const other = await service.workspace();
    const stranger = await service.identity(other.id, { approvalChannel: email(identity.to) });
    await service.deliver(stranger.address, mail({ id: `q${++made}@customer.example` }));
    const thread = (await other.ask(`GET /v1/threads?identity_id=${stranger.id}`)).json.data[0];
    const { messages } = (await other.ask(`GET /v1/threads/${thread.id}`)).json;
    const based = { thread_id: thread.id, identity_id: stranger.id, based_on_message_id: messages[0].id };
    const { json } = await other.ask("POST /v1/drafts", { json: { ...based, body_text: "A secret of another." } });
    await untilAll([json.id], isReached);
    await untilReached(ids);
    const lists = await Promise.all(listLinks(await mailsTo(identity.to)).map((list) => page(list)));
    expect(lists.map(({ text }) => onList(text).length)).to.deep.equal([2]);
  });

  it("a list whose link is mailed to the agent is closed with all its links, and the approver is asked again", async () => {
    const { identity, ids } = await crowded(2);
    await untilReached(ids);
    const [list] = listLinks(await mailsTo(identity.to)) as [string];
    const links = onList((await page(list)).text);
    const text = `Fwd: http://localhost:8080${list}`;
    await service.deliver(identity.address, mail({ id: `fwd${++made}@x.example`, from: identity.to, text }));
    expect(onList((await page(list)).text)).to.deep.equal([]);
    for (const link of links) expect((await page(link)).text).not.to.include("<button");
    await inTime(async () => listLinks(await mailsTo(identity.to)).length === 2);
    const anew = onList((await page(listLinks(await mailsTo(identity.to))[1]!)).text);
    expect(anew).to.have.length(2);
    for (const link of anew) expect((await page(link)).text).to.include("<button");
  });

  it("a bounced mail about several drafts marks all of them as not notified", async () => {
    const { identity, ids } = await crowded(2);
    await untilReached(ids);
    const { messageId } = (await mailsTo(identity.to)).at(-1) as CaughtMail;
    const origin = service.deps.messageIds.open(messageId)!;
    await service.caughtUp();
    await recordBouncedRequest(service.deps, { origin, evidence: "a bounce" }, cause);
    for (const id of ids) expect(await failures(id)).to.deep.equal([true]);
  });

  it("drafts of an identity with confirmation codes are each mailed alone", async () => {
    service.deps.settings.mostMailedAlone = 0;
    const identity = await identityFor(undefined, { confirmCode: true });
    const ids = await submitMany(await received(identity), 2);
    await untilAll(ids, isReached);
    expect(listLinks(await mailsTo(identity.to))).to.deep.equal([]);
  });

  it("waiting drafts are each mailed alone with a code if confirmation codes are switched on meanwhile", async () => {
    const { identity, mailed, ids } = await crowded(2);
    await change(identity.id, { confirmCode: true });
    await untilReached(ids);
    const mails = (await mailsTo(identity.to)).slice(mailed.length);
    expect([mails.length, listLinks(mails)]).to.deep.equal([2, []]);
    for (const id of ids) {
      const { notified } = await draftOf(id);
      const reached = Object.values(notified.open).filter(({ notificationId }) =>
        notified.reached.includes(notificationId),
      );
      expect(reached.map(({ confirmCode }) => confirmCode?.length)).to.deep.equal([64]);
    }
  });
});
