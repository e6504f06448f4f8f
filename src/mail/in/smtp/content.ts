import type { Logger } from "pino";
import type { SMTPServerDataStream, SMTPServerSession } from "smtp-server";
import type { MailRefusal } from "#src/platform/metrics/metrics.ts";
import type { MessageReader } from "../messageBody.ts";
import type { Reception } from "../reception.ts";
import type { Clients } from "./clients.ts";
import type { Envelopes } from "./envelope.ts";
import { type ContentPace, watchContentPace } from "./pace.ts";
import type { SessionPeers } from "./sessionPeers.ts";
import { SmtpReply } from "./smtpReply.ts";

/**
 * Receives the content after DATA and passes it on with its recipients. Resolves when the mail is durable; rejects with the reply for the
 * sender.
 */
export function createReceive(options: {
  reader: MessageReader;
  envelopes: Envelopes;
  clients: Clients;
  guests: SessionPeers;
  pace: ContentPace;
  accept: Reception["accept"];
  requireDisk(): void;
  onFlood(id: string): void;
  onRefused(reason: MailRefusal): void;
  logger: Logger;
}): (stream: SMTPServerDataStream, session: SMTPServerSession) => Promise<void> {
  const { reader, envelopes, clients, guests, pace, logger } = options;

  async function store(raw: Buffer, session: SMTPServerSession): Promise<void> {
    const { mailFrom, rcptTo } = session.envelope;
    const from = mailFrom ? mailFrom.address : "";
    const remote = clients.remoteOf(session);
    const sender = clients.senderOf(session);
    const recipients = await envelopes.lookAgain(rcptTo);
    const giveBack = envelopes.charge(sender, recipients, raw.length);
    try {
      await options.accept({ recipients, from, raw, remote });
    } catch (error) {
      giveBack();
      throw error;
    }
    logger.info({ remote: remote.ip, bytes: raw.length, recipients: recipients.length }, "mail received");
  }

  function noRoom(why: "too_large" | "no_room" | "no_room_for_holder"): SmtpReply {
    if (why !== "too_large") options.onRefused(why === "no_room" ? "bytes" : "bytes_of_address");
    // smtp-server itself answers 552 if the mail is too large (rejectOversized), whatever is returned here.
    return new SmtpReply(451, "Too much mail at once, please try again later");
  }

  return async (stream, session) => {
    const { id } = session;
    const holder = guests.get(id)?.key;
    const stop = holder === undefined ? () => {} : watchContentPace(stream, pace, () => guests.tooSlow(id));
    const body = await reader
      .read(stream, { holder, onFlood: () => options.onFlood(id) })
      .catch(() => {
        throw new SmtpReply(451, "The mail did not come in whole, please try again");
      })
      .finally(stop);
    try {
      if ("refused" in body) throw noRoom(body.refused);
      options.requireDisk();
      await store(body.raw, session);
    } finally {
      reader.release(body);
    }
  };
}
