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
    todo: "Somebody pressed a button in Slack, and it was not decided or not answered: `err` says why. The card keeps its buttons, and who pressed is told to press again. If it goes on, see whether PostgreSQL and the event log are up.",
  },
  {
    level: "error",
    says: "an event of Stripe's was not recorded, it sends it again",
    todo: "`err` says why. Stripe sends it again for three days, and subscriptions are read anew once a day: nothing is lost.",
  },
  {
    level: "error",
    says: "the payment processor cannot be asked, and a request was told so",
    todo: "Somebody got 502 from checkout or portal. `why` says what Stripe answered: a key or a price that it does not know is a setting of ours (`STRIPE_SECRET_KEY`, `STRIPE_PRICE_…`, `STRIPE_PORTAL_CONFIGURATION`); anything else passes.",
  },
];
