import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type CountedMail, mailboxOf } from "#src/mail/out/quota/notificationQuota.ts";
import { postgresNotificationQuota } from "#src/mail/out/quota/postgresNotificationQuota.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

describe("the hourly limits of the service's own mail", () => {
  const limits = { notices: { mailbox: 20, workspace: 30 }, approvals: { mailbox: 2, workspace: 3 } };
  let server: TestDatabase;
  let instances: Database[];
  before(async () => {
    server = await createTestDatabase();
    instances = [connectDatabase(server), connectDatabase(server)];
  });
  after(async () => {
    await Promise.all(instances.map((each) => each.close()));
    await server.drop();
  });

  const measureOf = (n: number) => postgresNotificationQuota(instances[n % 2]!, limits);
  const notice = (more: Partial<CountedMail> = {}): CountedMail => ({
    attemptId: randomUUID(),
    measure: "notices",
    mailbox: `${randomUUID()}@victim.example`,
    workspaceId: randomUUID(),
    ...more,
  });
  const anHourPasses = () => instances[0]!.query("update work.service_mail set at = at - interval '1 hour'");

  it("one mailbox gets exactly 20 notices, of 60 that two instances ask for concurrently for any workspace", async () => {
    const { mailbox } = notice();
    const places = await Promise.all(Array.from({ length: 60 }, (_, n) => measureOf(n).take(notice({ mailbox }))));
    expect(places.filter(({ taken }) => taken)).to.have.length(20);
    const refused = places.find(({ taken }) => !taken);
    expect(refused).to.include({ taken: false, fullFor: "mailbox" });
    expect((refused as { inMs: number }).inMs).to.be.within(1, 3_600_000);
  });

  it("one workspace sends exactly 30 notices to any mailboxes, and another workspace still sends", async () => {
    const { workspaceId } = notice();
    const places = await Promise.all(Array.from({ length: 45 }, (_, n) => measureOf(n).take(notice({ workspaceId }))));
    expect(places.filter(({ taken }) => taken)).to.have.length(30);
    expect(places.find(({ taken }) => !taken)).to.include({ fullFor: "workspace" });
    expect(await measureOf(0).take(notice())).to.include({ taken: true });
  });

  it("approval mails and notices are counted separately", async () => {
    const mail = notice({ measure: "approvals" });
    const again = () => measureOf(0).take({ ...mail, attemptId: randomUUID() });
    expect([await again(), await again()].map(({ taken }) => taken)).to.deep.equal([true, true]);
    expect(await again()).to.include({ taken: false, fullFor: "mailbox" });
    expect(await measureOf(0).take({ ...mail, attemptId: randomUUID(), measure: "notices" })).to.include({
      taken: true,
    });
  });

  it("a repeated attempt counts once, also when the limit is reached", async () => {
    const mail = notice({ measure: "approvals" });
    expect(await measureOf(0).take(mail)).to.deep.equal({ taken: true, isNew: true });
    expect(await measureOf(1).take(mail)).to.deep.equal({ taken: true, isNew: false });
    expect(await measureOf(1).take({ ...mail, attemptId: randomUUID() })).to.include({ taken: true });
    expect(await measureOf(0).take(mail)).to.deep.equal({ taken: true, isNew: false });
  });

  it("a mailbox has room again for a mail that was given back, and after an hour", async () => {
    const mail = notice({ measure: "approvals" });
    const others = [0, 1].map(() => ({ ...mail, attemptId: randomUUID() }));
    await measureOf(0).take(mail);
    await measureOf(1).take(others[0]!);
    expect(await measureOf(0).take(others[1]!)).to.include({ taken: false });
    await measureOf(1).giveBack(mail.attemptId);
    expect(await measureOf(0).take(others[1]!)).to.include({ taken: true });
    expect(await measureOf(0).take(mail)).to.include({ taken: false });
    await anHourPasses();
    expect(await measureOf(0).take(mail)).to.deep.equal({ taken: true, isNew: true });
  });

  it("rows older than an hour are deleted, and no row contains an address", async () => {
    await anHourPasses();
    const { mailbox } = notice();
    for (let n = 0; n < 10; n++) await measureOf(n).take(notice({ mailbox }));
    const { rows } = await instances[0]!.query<{ row: string; old: boolean }>(
      "select row_to_json(mail)::text as row, at < now() - interval '1 hour' as old from work.service_mail as mail",
    );
    expect(rows.filter(({ old }) => old)).to.have.length(0);
    expect(rows.map(({ row }) => row).join()).not.to.contain("victim.example");
  });
});

describe("mailboxOf", () => {
  for (const [address, mailbox] of [
    ["Ann@Firm.Example", "ann@firm.example"],
    ["ann+orders+1@firm.example", "ann@firm.example"],
    ['"ann"@firm.example', "ann@firm.example"],
    ["ann@firm.example.", "ann@firm.example"],
    ["a.n.n+x@googlemail.com", "ann@gmail.com"],
    ["a.n.n@firm.example", "a.n.n@firm.example"],
    ["+ann@firm.example", "+ann@firm.example"],
  ] as const) {
    it(`mailboxOf makes ${mailbox} of ${address}`, () => expect(mailboxOf(address)).to.equal(mailbox));
  }
});
