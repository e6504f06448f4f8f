import { createHash } from "node:crypto";
import { expect } from "chai";
import { hasCorpus, listMail } from "#test/mail/in/mails.ts";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { freePort } from "../../scripts/support/freePort.ts";

const connections = 8;
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const onTheWire = (file: Buffer): Buffer => Buffer.from(file.toString("latin1").replace(/\r?\n/g, "\r\n"), "latin1");

/** Returns the conversations of the first `count` mails of a mailing list, whole, with CRLF line ends. */
function conversations(count: number): { raw: Buffer; conversation: string }[] {
  const all = listMail();
  const chosen = new Set(all.slice(0, count).map(({ conversation }) => conversation));
  return all
    .filter(({ conversation }) => chosen.has(conversation))
    .map((mail) => ({ ...mail, raw: onTheWire(mail.raw) }));
}

/** Returns the members of each group as sorted lists, in a fixed order. */
function partition(pairs: readonly (readonly [group: string, member: string])[]): string[][] {
  const groups = new Map<string, Set<string>>();
  for (const [group, member] of pairs) groups.set(group, (groups.get(group) ?? new Set()).add(member));
  return [...groups.values()].map((members) => [...members].sort()).sort();
}

if (hasCorpus("list-mail"))
  describe("real mail over eight connections, answers before their questions, every tenth twice", function () {
    this.timeout(600_000);
    let service: InProcess;
    before(async () => {
      service = await startInProcess({ SMTP_IN_PORT: String(await freePort()) });
    });
    after(() => service.stop());

    it("real mail is stored once, byte for byte, each conversation on one thread", async () => {
      const workspace = await service.workspace();
      const { address } = await service.identity(workspace.id);
      const mails = conversations(sized(10, 60)).reverse();
      const arrivals = mails.flatMap((mail, n) => (n % 10 === 9 ? [mail, mail] : [mail]));
      const waiting = [...arrivals];
      await Promise.all(
        Array.from({ length: connections }, async () => {
          const mailer = await openMailer(service.smtpPort!);
          for (let mail = waiting.shift(); mail; mail = waiting.shift())
            expect(await mailer.send(mail.raw, address)).to.match(/^250 /);
          mailer.close();
        }),
      );
      await service.filed();

      const { rows } = await service.database.reads.ofAll.query<{
        sha: string;
        id: string;
        thread: string;
        is_copy: boolean;
      }>(
        `select i.raw_sha256 as sha, m.id, m.thread_id as thread, i.disposition = 'duplicate' as is_copy
         from inbound i join messages m on m.id = i.message_id`,
      );
      expect(rows).to.have.length(arrivals.length);
      const messages = rows.filter(({ is_copy }) => !is_copy);
      expect(messages.map(({ sha }) => sha).sort()).to.deep.equal(mails.map(({ raw }) => sha256(raw)).sort());
      expect(partition(rows.map(({ thread, sha }) => [thread, sha]))).to.deep.equal(
        partition(mails.map(({ conversation, raw }) => [conversation, sha256(raw)])),
      );
      for (const { id, sha } of messages) {
        const { bytes } = await workspace.ask(`GET /v1/messages/${id}/raw`);
        expect(sha256(bytes)).to.equal(sha);
      }
    });
  });
