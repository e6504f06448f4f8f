import type { LogLine } from "./logLines.ts";

/** Trouble with providers, and with what they call: SendGrid, Slack, Telegram, Stripe. */
export const providerLogLines: readonly LogLine[] = [
  {
    level: "error",
    says: "events of SendGrid cannot be recorded; it will post them again",
    todo: "`err` says why: it is a bug in the code. SendGrid posts the events again for 24 hours; deploy a version that can record them.",
  },
  {
    level: "warn",
    says: "a call to the SendGrid event webhook was refused",
    todo: "`why` says what was wrong with it. If SendGrid's own calls are refused, its verification key is not `SENDGRID_EVENT_PUBLIC_KEY`: copy it again from the settings of its Event Webhook. Otherwise it is a stranger's, and nothing has to be done.",
  },
  {
    level: "error",
    says: "a press in Slack could not be answered",
    todo: "Somebody pressed a button in Slack, and it was not decided or not answered: `err` says why. The card keeps its buttons, and the person who pressed is told to press again. If it goes on, see whether PostgreSQL and the event log are up.",
  },
  {
    level: "error",
    says: "an event of Stripe's was not recorded, it sends it again",
    todo: "`err` says why. Stripe sends it again for three days, and subscriptions are read again once a day: nothing is lost.",
  },
  {
    level: "error",
    says: "the payment processor cannot be asked, and a request was told so",
    todo: "Somebody got 502 from checkout or portal. `why` says what Stripe answered: a key or a price that it does not know is a setting of ours (`STRIPE_SECRET_KEY`, `STRIPE_PRICE_…`, `STRIPE_PORTAL_CONFIGURATION`); anything else passes.",
  },
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
