import pg from "pg";
import type { HandOverOutcome, MailProvider, MayStillSend, OutgoingMail } from "#src/mail/mailProvider.ts";
import type { Database } from "#src/platform/postgres/database.ts";

export type OutboxProvider = Required<Omit<MailProvider, "whenRoom" | "letNobodyIn" | "checkCredentials">> & {
  /** Number of accepted hand-overs of this attempt. More than one would be a mail sent twice. */
  accepts(attemptId: string): Promise<number>;
};

/** Milliseconds during which a database that answered is not checked again. */
const believedForMs = 1_000;

/**
 * Catches mail in the database instead of delivering it (src/http/outbox/outbox.ts shows it). Behaves like a provider: it can be away,
 * and its answer can get lost.
 */
export function createOutboxProvider(database: Database): OutboxProvider {
  const accepts = async (attemptId: string): Promise<number> => {
    const { rows } = await database.query<{ n: number }>(
      "select count(*) as n from work.outbox where attempt_id = $1",
      [attemptId],
    );
    return rows[0]?.n ?? 0;
  };
  /** Time when the last mail was caught. */
  let reachedAt = Number.NEGATIVE_INFINITY;
  return {
    name: "outbox",
    isMailbox: true,
    async connect() {
      if (performance.now() - reachedAt > believedForMs) await database.query("select 1");
      let used = false;
      return {
        async handOver(mail, mayWrite) {
          if (used) return { kind: "not_handed_over", message: "this connection has already been used" };
          used = true;
          const outcome = await handOver(database.pool, mail, mayWrite);
          reachedAt = outcome.kind === "accepted" ? performance.now() : Number.NEGATIVE_INFINITY;
          return outcome;
        },
        discard() {
          used = true;
        },
      };
    },
    lookUp: async ({ attemptId }) => ((await accepts(attemptId)) > 0 ? "accepted" : undefined),
    accepts,
    close: async () => {},
  };
}

const insert = "insert into work.outbox (attempt_id, message_id, envelope, mime) values ($1, $2, $3, $4) returning id";

async function handOver(pool: pg.Pool, mail: OutgoingMail, mayWrite: MayStillSend): Promise<HandOverOutcome> {
  const client = await pool.connect().catch((error: Error) => error);
  if (client instanceof Error) return { kind: "not_handed_over", message: client.message };
  let broken = false;
  try {
    if (!(await mayWrite()))
      return { kind: "not_handed_over", message: "the send was withdrawn before the content was written" };
    broken = true;
    const { rows } = await client.query(insert, [
      mail.attemptId,
      mail.messageId,
      JSON.stringify(mail.envelope),
      mail.mime,
    ]);
    broken = false;
    return { kind: "accepted", response: `caught as ${rows[0].id}`, providerId: String(rows[0].id) };
  } catch (error) {
    if (!broken) return { kind: "not_handed_over", message: messageOf(error) };
    // An ERROR is the server's answer to the statement, which it undid; after FATAL or a lost connection the result is unknown.
    const answered = error instanceof pg.DatabaseError && error.severity === "ERROR";
    if (!answered) return { kind: "unknown", message: messageOf(error) };
    broken = false;
    return { kind: "refused", retryable: true, code: error.code ?? "outbox", message: error.message };
  } finally {
    client.release(broken);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
