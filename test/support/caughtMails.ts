import { type CaughtMail, createOutbox, type Outbox } from "#src/mail/out/outbox.ts";
import type { Sql } from "#src/platform/postgres/database.ts";

/** The outbox with a cache, so that each mail is read once: tests that wait for a mail list the newest again and again. */
export function caughtMails(database: Sql): Outbox {
  const outbox = createOutbox(database);
  const known = new Map<number, Promise<CaughtMail>>();

  function knownMail(id: number): Promise<CaughtMail> {
    const mail = known.get(id) ?? (outbox.find(id) as Promise<CaughtMail>);
    known.set(id, mail);
    return mail;
  }

  return {
    ...outbox,
    async newest(limit) {
      const { rows } = await database.query<{ id: number }>("select id from work.outbox order by id desc limit $1", [
        limit,
      ]);
      return Promise.all(rows.map(({ id }) => knownMail(id)));
    },
  };
}
