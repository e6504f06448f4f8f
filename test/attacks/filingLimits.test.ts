import { expect } from "chai";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { readHeaders } from "#src/mail/in/headers.ts";
import type { Ask } from "#test/support/asking.ts";
import { operator } from "#test/support/cause.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

/** Mails whose record would be larger than an event or an append: none may delay the next ones. */
describe("the filing of mails too large to be recorded", () => {
  let service: InProcess;
  let to: string;
  let workspaceId: string;
  let identityId: string;
  let ask: Ask;
  let accept: (raw: string) => Promise<void>;

  before(async () => {
    service = await startInProcess();
    ({ id: workspaceId, ask } = await service.workspace());
    ({ id: identityId, address: to } = await service.identity(workspaceId));
    const { resolve, accept: take } = createReception(service.deps);
    const recipient = (await resolve(to))!;
    const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
    accept = (raw) =>
      take({ recipients: [{ recipient, address: to }], from: "ann@customer.example", raw: Buffer.from(raw), remote });
  });

  after(() => service.stop());

  const ledger = async () => {
    await service.caughtUp();
    const { rows } = await service.database.reads.ofAll.query(
      "select disposition, filed_position from inbound order by position",
    );
    return rows as { disposition: string; filed_position: number | null }[];
  };
  // A busy machine needs long for 40 MB.
  const allFiled = () =>
    until(async () => (await ledger()).every(({ filed_position }) => filed_position !== null), 200_000);

  const numbered = (count: number, item: (n: number) => string) => Array.from({ length: count }, (_, n) => item(n));

  it("sixty mails with fifty long Message-IDs each are all filed", async () => {
    const references = (n: number) => numbered(50, (k) => `<${"x".repeat(380)}${n}-${k}@x>`).join("\r\n ");
    const mails = numbered(60, (n) => `References: ${references(n)}\r\n${mail({ id: `long${n}@x`, to })}`);
    await Promise.all(mails.map(accept));
    await allFiled();
    const filed = await ledger();
    expect(filed.length).to.equal(60);
    expect(new Set(filed.map(({ disposition }) => disposition))).to.deep.equal(new Set(["threaded"]));
  });

  it("large mails are read a few at a time, however many wait", async () => {
    const { parser } = service.deps;
    const { parse } = parser;
    let [readAtOnce, most] = [0, 0];
    let goOn = (): void => {};
    const stalled = new Promise<void>((resolve) => (goOn = resolve));
    parser.parse = async (raw, about) => {
      readAtOnce += raw.length;
      most = Math.max(most, readAtOnce);
      await stalled;
      // The first 1,000 bytes are enough for filing; the cost of a large body is not tested here.
      return parse(raw.subarray(0, 1_000), about).finally(() => (readAtOnce -= raw.length));
    };
    const large = (n: number) => mail({ id: `large${n}@x`, to, text: `${n}${"x".repeat(78)}\r\n`.repeat(50_000) });
    for (const raw of numbered(6, large)) await accept(raw);
    goOn();
    await allFiled();
    parser.parse = parse;
    expect(most).to.be.above(4_000_000).and.below(20_000_000);
  });

  it("a thread of 2,500 people is merged with an older one", async () => {
    await accept(mail({ id: "old@x", to }));
    const host = `${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.example`;
    for (let n = 0; n < 25; n++) {
      const people = numbered(100, (k) => `${"a".repeat(50)}${n}-${k}@${host}`).join(",\r\n ");
      await accept(mail({ id: `many${n}@x`, to: people, ...(n > 0 && { inReplyTo: "many0@x" }) }));
    }
    await accept(`References: <old@x> <many0@x>\r\n${mail({ id: "both@x", to })}`);
    await allFiled();
    const { rows } = await service.database.reads.ofAll.query("select 1 from threads where merged_into is not null");
    expect(rows.length).to.equal(1);
  });

  it("a mail with 100 attachments of the longest names is filed, and one with 101 is quarantined", async () => {
    const wide = "漢".repeat(255);
    const people = numbered(100, (n) => `${"漢".repeat(90)}${n}@x.example`).join(", ");
    const part = `--b\r\nContent-Type: application/${"t".repeat(120)}\r\nContent-ID: <${wide}>\r\nContent-Disposition: attachment; filename="${wide}"\r\n\r\nx\r\n`;
    const made = (id: string, parts: number) =>
      `Message-ID: <${id}>\r\nFrom: a@b.example\r\nTo: ${people}\r\nCc: ${people}\r\nReply-To: ${people}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(parts)}--b--\r\n`;
    await accept(made("hundred@x", 100));
    await accept(made("more@x", 101));
    await allFiled();
    expect((await ledger()).slice(-2).map(({ disposition }) => disposition)).to.deep.equal(["threaded", "quarantined"]);
  });

  it("a mail whose headers and text do not fit into one event is quarantined, and the next one is filed", async () => {
    const alarms: { delivery: string }[] = [];
    service.deps.log = { error: (details) => void alarms.push(details as { delivery: string }) };
    await accept(mail({ id: "before@x", to }));
    await allFiled();
    const raw = Buffer.from(mail({ id: "wide@x", to, inReplyTo: "before@x", text: "x".repeat(22_000) }));
    const headers = readHeaders(raw, "ann@customer.example");
    // This many addresses fit into the inbox's event but not into the thread's. No present receiver accepts them.
    headers.to = numbered(
      1_560,
      (n) => `${"a".repeat(60)}${n}@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(120)}.example`,
    );
    const deliveryId = service.deps.ids.uuid();
    const received = {
      ...{ deliveryId, workspaceId, identityId, rawSha256: await service.deps.blobs.put(raw), sizeBytes: raw.length },
      ...{ envelope: { from: "ann@customer.example", to }, remote: { ip: "192.0.2.1", helo: "mx" }, headers },
    };
    await service.deps.inboxes.handle(identityId, { type: "ReceiveMail", mail: received }, operator(workspaceId));
    await accept(mail({ id: "behind@x", to, inReplyTo: "wide@x" }));
    await allFiled();
    const { json } = await ask("GET /v1/inbound?limit=3");
    const [behind, wide, before] = json.data;
    expect([behind.disposition, wide.disposition, before.disposition]).to.deep.equal([
      ...["threaded", "quarantined", "threaded"],
    ]);
    expect(wide)
      .to.include({ id: deliveryId })
      .and.to.have.property("reason")
      .that.includes("does not fit into an event");
    const { json: threads } = await ask("GET /v1/threads?limit=1");
    const { json: thread } = await ask(`GET /v1/threads/${threads.data[0].id}`);
    expect(thread.needs_review).to.equal(true);
    expect(thread.messages.map((message: any) => message.body_text === null)).to.deep.equal([false, true, false]);
    expect(alarms.map(({ delivery }) => delivery)).to.deep.equal([deliveryId]);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).to.match(/^countersign_mail_quarantined_total 1$/m);
  });
});
