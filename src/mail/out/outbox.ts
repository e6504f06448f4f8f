import PostalMime, { type Email } from "postal-mime";
import type { Envelope } from "#src/mail/mailProvider.ts";
import type { Sql } from "#src/platform/postgres/database.ts";

/** A caught mail as its recipient would read it. */
export type CaughtMail = {
  id: number;
  at: Date;
  messageId: string;
  attemptId: string;
  /** The real recipients, Bcc included. */
  envelope: Envelope;
  from: { name: string; address: string };
  subject: string;
  text: string;
  html: string | null;
  /** By lower-case name; values of a repeated header are joined by ", ". */
  headers: Record<string, string>;
  attachments: { filename: string; contentType: string; bytes: number }[];
};

/** Reads the mail that the outbox provider caught. */
export type Outbox = {
  /** Returns the newest mails first. */
  newest(limit: number): Promise<CaughtMail[]>;
  /** Yields all mails after that id, oldest first, with a few in memory at a time. */
  after(id: number): AsyncIterable<CaughtMail>;
  find(id: number): Promise<CaughtMail | undefined>;
  /** Returns the MIME, byte for byte as it was handed over. */
  raw(id: number): Promise<Buffer | undefined>;
};

type OutboxRow = { id: number; at: Date; message_id: string; attempt_id: string; envelope: Envelope; mime: Buffer };

const columns = "id, at, message_id, attempt_id, envelope, mime";
const pageSize = 50;

export function createOutbox(database: Sql): Outbox {
  const rowOf = async (id: number) =>
    (await database.query<OutboxRow>(`select ${columns} from work.outbox where id = $1`, [id])).rows[0];
  return {
    async newest(limit) {
      const { rows } = await database.query<OutboxRow>(`select ${columns} from work.outbox order by id desc limit $1`, [
        limit,
      ]);
      return Promise.all(rows.map(read));
    },
    async *after(id) {
      for (let last = id; ; ) {
        const { rows } = await database.query<OutboxRow>(
          `select ${columns} from work.outbox where id > $1 order by id limit $2`,
          [last, pageSize],
        );
        for (const row of rows) yield read(row);
        const newest = rows.at(-1);
        if (!newest || rows.length < pageSize) return;
        last = newest.id;
      }
    },
    async find(id) {
      const row = await rowOf(id);
      return row && read(row);
    },
    raw: async (id) => (await rowOf(id))?.mime,
  };
}

/** Removes up to a batch of the oldest mails, if they were caught before this time. Returns false if there were none. */
export async function pruneOutbox(database: Sql, before: Date): Promise<boolean> {
  const { rowCount } = await database.query(removeOldest, [before]);
  return (rowCount ?? 0) > 0;
}

/** Reads only the oldest ids, which have the oldest times. */
const removeOldest = `
  delete from work.outbox where id in (select id from work.outbox order by id limit 100) and at < $1`;

async function read(row: OutboxRow): Promise<CaughtMail> {
  const mail = await PostalMime.parse(row.mime);
  return {
    id: row.id,
    at: row.at,
    messageId: row.message_id,
    attemptId: row.attempt_id,
    envelope: row.envelope,
    from: { name: mail.from?.name ?? "", address: mail.from?.address ?? row.envelope.from },
    subject: mail.subject ?? "",
    text: mail.text ?? "",
    html: mail.html ?? null,
    headers: headersOf(mail),
    attachments: mail.attachments.map(({ filename, mimeType, content }) => ({
      filename: filename ?? "",
      contentType: mimeType,
      bytes: typeof content === "string" ? Buffer.byteLength(content) : content.byteLength,
    })),
  };
}

function headersOf(mail: Email): Record<string, string> {
  const byName = new Map<string, string>();
  for (const { key, value } of mail.headers) byName.set(key, byName.has(key) ? `${byName.get(key)}, ${value}` : value);
  return Object.fromEntries(byName);
}
