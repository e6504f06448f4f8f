import { expect } from "chai";
import type { BundleRequest, Channel } from "#src/channels/channel.ts";
import { type NewIdentity, updateIdentity } from "#src/commands/identities/identities.ts";
import { derivedId } from "#src/commands/ids.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import type { CaughtMail } from "#src/mail/out/outbox.ts";
import { askInBundles } from "#src/processes/askInBundles.ts";
import type { Timer } from "#src/processes/process.ts";
import { draftStream } from "#streams/draft/events.ts";
import { inFull, itInFull, sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { fire } from "#test/support/processContext.ts";
import { cause } from "./sendWorld.ts";

const minute = 60_000;
const hour = 60 * minute;
const email = (to: string) => ({ type: "email" as const, config: { to } });

describe("requests to an approver who has many", function () {
  this.timeout(sized(60_000, 300_000));
  /** So many come each in a mail of its own; usually 30. */
  const alone = sized(4, 30);
  let service: InProcess;
  let workspace: Workspace;
  let made = 0;

  before(async () => {
    service = await startInProcess();
    service.deps.settings.mostMailedAlone = alone;
    workspace = await service.workspace();
  });
  after(() => service.stop());

  /** Each with its own approver. */
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

  const mailsTo = async (address: string): Promise<CaughtMail[]> =>
    (await service.outbox.newest(500)).filter(({ envelope }) => envelope.to.includes(address)).reverse();
  const eventsOf = (draftId: string) => readEvents(service.store, draftStream(draftId));
  const typesOf = async (draftId: string): Promise<string[]> => (await eventsOf(draftId)).map(({ type }) => type);
  const draftOf = async (id: string) => (await service.deps.drafts.load(id)).state;

  /** The newest version of each was asked about: by itself, or it waits for the others. */
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

  /** Time passes until it is so: what waits for others may have been told of before or after the clock was put forward. */
  const untilReached = (ids: readonly string[]) =>
    until(async () => {
      if ((await Promise.all(ids.map(isReached))).every(Boolean)) return true;
      service.clock.advance(minute);
      return false;
    });

  const listLinks = (mails: readonly CaughtMail[]) => mails.flatMap(({ text }) => linksIn(text, /\/l\/[\w-]{43}/g));
  const reviewLinks = (mails: readonly CaughtMail[]) => mails.flatMap(({ text }) => linksIn(text, /\/a\/[\w-]{43}/g));
  const linksIn = (text: string, form: RegExp): string[] => [...new Set(text.match(form) ?? [])];
  const page = async (path: string, method = "GET") => workspace.ask(`${method} ${path}`, { key: null });
  const onList = (text: string): string[] => linksIn(text, /\/a\/[\w-]{43}/g);

  /** What an approver can decide about: the bodies of all pages that some link in these mails leads to and that have a button. */
  async function decidable(mails: readonly CaughtMail[]): Promise<string[]> {
    const links = new Set(reviewLinks(mails));
    for (const list of listLinks(mails)) for (const link of onList((await page(list)).text)) links.add(link);
    const pages = await Promise.all([...links].map((link) => page(link)));
    return pages.filter(({ status, text }) => status === 200 && text.includes("<button")).map(({ text }) => text);
  }

  type Morning = { drafts: number; burst: number; everyMinutes: number };

  /** Drafts come in bursts to one approver, whose mailbox forwards all it gets to the identity. */
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
      await untilReached(ids);
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

  it("ask in few mails, lose nothing and make no loop, in a morning of many drafts with an edit of the identity and a mailbox that forwards all", async () => {
    const drafts = sized(10, 40);
    const { ids, bodies, mails } = await morning({ drafts, burst: sized(3, 5), everyMinutes: 30 });
    const bundles = mails.filter(isBundle);
    const single = mails.length - bundles.length;
    if (inFull)
      console.log(
        `      ${drafts} drafts in bursts: ${single} mails about one, ${bundles.map(({ subject }) => Number.parseInt(subject, 10))} in bundles`,
      );
    // Before the edit as many as that; after it each draft is open in its new version.
    expect(single).to.be.within(alone, alone + drafts / 2);
    expect(bundles.length).to.be.within(1, 1 + drafts / sized(3, 5));
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

  itInFull("ask the same where each draft comes by itself, every six minutes", async () => {
    const { ids, mails } = await morning({ drafts: 40, burst: 1, everyMinutes: 6 });
    const bundles = mails.filter(isBundle);
    console.log(
      `      40 drafts one by one: ${mails.length - bundles.length} mails about one, ${bundles.length} bundles`,
    );
    expect(mails.length).to.be.below(ids.length + 3);
  });
});
