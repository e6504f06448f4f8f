import { Webhook } from "standardwebhooks";

/** The headers of Standard Webhooks: one signature for each secret, so that a receiver may change over in its own time. */
export const signedHeaders = ({
  id,
  at,
  body,
  secrets,
}: {
  id: string;
  at: Date;
  body: string;
  secrets: readonly string[];
}): Record<string, string> => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
});
