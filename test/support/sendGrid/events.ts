import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import type { MockMail } from "./mail.ts";

/** An event as SendGrid's Event Webhook posts it, about a recipient of a mail. */
export type MockEvent = Record<string, unknown> & { event: string; sg_event_id: string };

/** Makes an event about a mail in SendGrid's terms; its marks are returned at the top level. */
export function eventOf(
  { id, body }: MockMail,
  event: string,
  { email, ...different }: { email?: string; [field: string]: unknown } = {},
): MockEvent {
  const [{ to, custom_args }] = body.personalizations;
  return {
    email: email ?? to[0].email,
    timestamp: 1_700_000_000,
    event,
    sg_event_id: randomUUID(),
    sg_message_id: `${id}.recvd-1`,
    "smtp-id": body.headers["Message-ID"],
    ...custom_args,
    ...(event === "delivered" && { response: "250 OK" }),
    ...(event === "deferred" && { response: "451 later", attempt: "1" }),
    ...(event === "bounce" && { reason: "550 no such user", status: "5.1.1", type: "bounce" }),
    ...(event === "dropped" && { reason: "Bounced Address", status: "5.0.0" }),
    ...different,
  };
}

/** Makes a signed Event Webhook with its own key. */
export function mockEventWebhook() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  /** Returns the headers with which SendGrid would post these bytes at that time. */
  const signed = (body: string, at: Date): Record<string, string> => {
    const timestamp = String(Math.floor(at.getTime() / 1000));
    return {
      "content-type": "application/json",
      "x-twilio-email-event-webhook-timestamp": timestamp,
      "x-twilio-email-event-webhook-signature": sign("sha256", Buffer.from(timestamp + body), privateKey).toString(
        "base64",
      ),
    };
  };
  return {
    /** In the form of the setting. */
    publicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    signed,
    /** Posts a batch to the service, signed now unless a time is given. */
    post(url: string, events: readonly unknown[], at: Date): Promise<Response> {
      // With a final line end, as in real bodies.
      const body = `${JSON.stringify(events)}\r\n`;
      return fetch(`${url}/hooks/sendgrid/events`, { method: "POST", headers: signed(body, at), body });
    },
  };
}
