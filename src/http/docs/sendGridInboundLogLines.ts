import type { LogLine } from "./logLines.ts";

/** Of mail that SendGrid brings, and of domains there. */
export const sendGridInboundLogLines: readonly LogLine[] = [
  {
    level: "error",
    says: "a post of SendGrid's inbound mail was kept, but nothing could be made of it",
    todo: "`reason` says why, most often that raw mode is off. `npm run inbound -- list` shows it, and `npm run inbound -- raw` gives its bytes: see 'Mail that SendGrid brings'. Told once a minute at most.",
  },
  {
    level: "error",
    says: "a post of SendGrid's inbound mail has the secret but no valid signature",
    todo: "`why` says what is wrong. SendGrid posts the mail again for 72 hours: attach the security policy to the domain's Inbound Parse setting, or correct `SENDGRID_INBOUND_PUBLIC_KEY` or the clock. If SendGrid is not the sender, replace `SENDGRID_INBOUND_SECRET`: somebody knows it.",
  },
  {
    level: "error",
    says: "a post of SendGrid's inbound mail cannot be taken; it will post it again",
    todo: "`err` says why: usually PostgreSQL or the event log is away. SendGrid posts the mail again for 72 hours and then throws it away.",
  },
  {
    level: "error",
    says: "a post of SendGrid's inbound mail is too large to be taken; it will post it again",
    todo: "It has more than 40 MB, and SendGrid's own limit is 30 MB. It is thrown away after 72 hours. If SendGrid is the sender, report it.",
  },
  {
    level: "error",
    says: "SendGrid posts mail, but SENDGRID_INBOUND_SECRET is not set; it will post it again",
    todo: "Set it to the last part of the path in SendGrid's Inbound Parse settings within 72 hours: then the mail is thrown away.",
  },
  {
    level: "error",
    says: "a deleted domain stays at the mail provider",
    todo: "The provider refused to remove it, as `why` says. Remove `domain` there by hand: under Sender Authentication and Inbound Parse.",
  },
];
