import { consoleLogLines } from "./consoleLogLines.ts";
import { providerLogLines } from "./providerLogLines.ts";
import { workLogLines } from "./workLogLines.ts";

/** A line of the log that tells of trouble, word for word, and what an operator does about it. test/documents.test.ts holds the list against the source. */
export type LogLine = { level: "error" | "warn"; says: string; todo: string };

const passes = "Nothing, unless it goes on for minutes: then see what is wrong with PostgreSQL.";

export const logLines: readonly LogLine[] = [
  {
    level: "error",
    says: "a press in Slack could not be answered",
    todo: "Somebody pressed a button in Slack, and it was not decided or not answered: `err` says why. The card keeps its buttons, and the person who pressed is told to press again. If it goes on, see whether PostgreSQL and the event log are up.",
  },
  {
    level: "error",
    says: "a Telegram bot cannot be used",
    todo: "`reason` says why and `bot` is its id: most often its token was revoked. Presses of its buttons do not come in; its webhook, or fetching, is tried again every five minutes. Set the token that @BotFather shows now on the identities that use it.",
  },
  {
    level: "error",
    says: "an update of a Telegram bot was passed over",
    todo: "It failed three times for a reason of our own, which `err` names, and would have held up the bot's other updates. If it was a press, the draft still waits: press again, or decide on its page.",
  },
  {
    level: "error",
    says: "a draft on an approver's list cannot be shown",
    todo: "`err` says why: usually its stored content is gone. The other drafts on the list are shown and can be decided.",
  },
  {
    level: "error",
    says: "a projection fails on these events, retrying",
    todo: "A read model is behind, and answers that need it get 503 or lag. `err` names the error: it is a bug in the code, or its tables are locked by somebody for seconds. Nothing is lost; deploy a version that can read the event.",
  },
  {
    level: "error",
    says: "a read model has left the others, which go on: only what is answered from it answers 503",
    todo: "It failed three times on the same events; the line before says why. It goes on trying by itself and joins the others once it has caught up. After a repair of the code restart the service; if its tables are wrong, `npm run projections -- rebuild NAME`.",
  },
  {
    level: "error",
    says: "cannot prepare a read model, retrying",
    todo: "Its tables could not be made or rebuilt. `err` says why: most often rights, a full disk, or PostgreSQL being away.",
  },
  {
    level: "error",
    says: "the event log is not the one that was read before, stopping",
    todo: "The log was wiped, replaced or restored from before. Stop the instance and see 'Restore'.",
  },
  {
    level: "error",
    says: "the event log cannot be planned, retrying",
    todo: "The event log is away, or is not the one that was read before (`err` says so): then see 'Restore'.",
  },
  {
    level: "error",
    says: "cannot accept a mail; its sender will retry",
    todo: "The sender was told 451 and keeps the mail. See whether PostgreSQL is up and its disk has room.",
  },
  {
    level: "error",
    says: "a mail cannot be recorded, quarantining it",
    todo: "It is filed without its content and its thread asks for review; mail behind it goes on. Its bytes are kept: `GET /v1/inbound/{id}/raw` of the `delivery`. `err` says why: report it.",
  },
  {
    level: "error",
    says: "a mail cannot be read, quarantining it",
    todo: "Reading its stored bytes failed several times, for a reason that nothing else has. It is filed by its headers, without its content, and its thread asks for review; mail behind it goes on. `err` says why: damage in the database (SQLSTATE `XX…`: see 'Restore'), or a bug to report.",
  },
  {
    level: "error",
    says: "the stored bytes of a mail are missing or damaged, quarantining it",
    todo: "An acknowledged mail is filed by its headers alone and its thread asks for review. Look for `sha256` in a backup, and see whether the disk or PostgreSQL loses data.",
  },
  {
    level: "error",
    says: "the embedded PostgreSQL has stopped, restarting it",
    todo: "It crashed or was killed. If it happens again, look for a lack of memory or of disk.",
  },
  {
    level: "error",
    says: "cannot restart the embedded PostgreSQL yet, retrying",
    todo: "Look into the log of PostgreSQL in `DATA_DIR`: disk, rights, or another server on the same directory.",
  },
  {
    level: "error",
    says: "request handler failed",
    todo: "A fault of ours, or a dependency that was away; the answer was 5xx. `req` and `err` say which request and why.",
  },
  {
    level: "error",
    says: "billing page failed",
    todo: "Somebody saw an error page at `/billing`; nothing was changed. `err` says why.",
  },
  {
    level: "error",
    says: "approval page failed",
    todo: "As above: the approver saw an error page and can try again.",
  },
  {
    level: "error",
    says: "stop page failed",
    todo: "As above: somebody who wanted to stop or resume mail saw an error page and can try again.",
  },
  {
    level: "error",
    says: "work under a lease failed",
    todo: "A part of this instance stopped working and will be taken over. If the line comes again, restart the instance and report `err`.",
  },
  {
    level: "error",
    says: "shutdown failed",
    todo: "The stop was cut short. Nothing is lost: what was under way is taken up at the next start.",
  },
  {
    level: "warn",
    says: "the service's role owns its tables, so only a trigger keeps the event log append-only: set DATABASE_OWNER_URL to use a separate owner",
    todo: "Set `DATABASE_URL` to a role that owns nothing, and `DATABASE_OWNER_URL` to the owner.",
  },
  {
    level: "warn",
    says: "START_PAUSED is true: nothing leaves until `npm run processes -- resume`; take the setting out before you resume",
    todo: "What you meant, after a restore. See 'Pausing everything'.",
  },
  { level: "warn", says: "cannot record progress, retrying", todo: passes },
  { level: "warn", says: "cannot start yet, retrying", todo: passes },
  { level: "warn", says: "cannot write read models, retrying", todo: passes },
  { level: "warn", says: "cannot find out how far the read models are, retrying", todo: passes },
  { level: "warn", says: "cannot read checkpoints, retrying", todo: passes },
  { level: "warn", says: "cannot renew or acquire leases, retrying", todo: passes },
  {
    level: "warn",
    says: "cannot release leases; they will expire on their own",
    todo: "Nothing: another instance takes over within 5 s.",
  },
  {
    level: "warn",
    says: "lease lost",
    todo: "Another instance took over because this one was silent for 5 s. If it comes often, this instance has too little CPU.",
  },
  { level: "warn", says: "cannot plan the event log, retrying", todo: passes },
  { level: "warn", says: "cannot look for what is due, retrying", todo: passes },
  {
    level: "warn",
    says: "this machine's clock is not PostgreSQL's, whose time counts",
    todo: "Set the clock that is wrong (`offsetMs`: by how much PostgreSQL's is ahead). Instances stay in step whatever their machines' clocks say, but a wrong one at PostgreSQL's is in every timestamp.",
  },
  { level: "warn", says: "cannot compare this machine's clock with PostgreSQL's, retrying", todo: passes },
  { level: "warn", says: "cannot look for work, retrying", todo: passes },
  { level: "warn", says: "cannot extend claims, retrying", todo: passes },
  {
    level: "warn",
    says: "claim lost",
    todo: "Another instance works on this because this one was silent for 10 s. If it comes often, this instance has too little CPU.",
  },
  {
    level: "warn",
    says: "cannot free what a killed instance had claimed; it runs out on its own",
    todo: "Nothing: work that was under way when the service was killed goes on within 12 s.",
  },
  {
    level: "warn",
    says: "cannot give lanes back; their claims run out on their own",
    todo: "Nothing: another instance takes over within 12 s.",
  },
  { level: "warn", says: "cannot look up webhook deliveries, retrying", todo: passes },
  {
    level: "warn",
    says: "webhook delivery failed on our side",
    todo: "Nothing: it is tried again. `err` says what failed.",
  },
  {
    level: "warn",
    says: "cannot decrypt a webhook's secret",
    todo: "No key of `SECRETS_KEYS` opens it: put the missing key back, or have the webhook's secret rotated.",
  },
  {
    level: "warn",
    says: "the read model belongs to another version of the service, leaving it alone",
    todo: "Two versions of the service run. Finish the upgrade; the newer one writes this read model.",
  },
  { level: "warn", says: "cannot read the event log, retrying", todo: passes },
  { level: "warn", says: "cannot watch the event log, retrying", todo: passes },
  {
    level: "warn",
    says: "the outcome of an append is unknown, checking",
    todo: "Nothing: the same event ids are asked about until the answer is known.",
  },
  { level: "warn", says: "subscribing again", todo: "Nothing, unless it goes on: then EventStoreDB is not well." },
  {
    level: "warn",
    says: "cannot write snapshots of long streams",
    todo: "Nothing, unless it comes again and again: then see what is wrong with PostgreSQL. Meanwhile the first request to a long thread after a start takes some seconds.",
  },
  {
    level: "warn",
    says: "cannot make snapshots again: long streams are folded when they are needed",
    todo: "Nothing: the first request to a long thread takes some seconds. `err` says what failed.",
  },
  { level: "warn", says: "lost a connection to PostgreSQL", todo: "Nothing: another one is opened." },
  {
    level: "warn",
    says: "cannot look up revoked API keys, retrying",
    todo: "This instance refuses requests while it cannot know which keys are revoked. See what is wrong with PostgreSQL.",
  },
  { level: "warn", says: "cannot delete expired rate-limit counts", todo: "Nothing: the next sweep does it." },
  {
    level: "warn",
    says: "cannot store the response for its Idempotency-Key",
    todo: "Nothing: a repetition of that request finds its own effect in the log.",
  },
  {
    level: "warn",
    says: "SMTP connection failed",
    todo: "Nothing: a sender broke off, or could not agree with the receiver on TLS.",
  },
  {
    level: "warn",
    says: "mail comes in unencrypted: set SMTP_IN_TLS_CERT and SMTP_IN_TLS_KEY, so that senders can start TLS",
    todo: "Give the receiver a certificate for the name of `INBOUND_MX_HOST`, unless there is a mail server with TLS in front of it.",
  },
  {
    level: "warn",
    says: "the new certificate for mail cannot be used, keeping the one before",
    todo: "`fault` says which file is wrong. Put it right: the files are read again within 10 s.",
  },
  {
    level: "warn",
    says: "mail is caught in the outbox, which nobody can open: set OUTBOX_TOKEN to look at it",
    todo: "Set `OUTBOX_TOKEN`, or `MAIL_PROVIDER=smtp` or `sendgrid` if mail should leave.",
  },
  {
    level: "warn",
    says: "an address sends an identity more mail than SMTP_IN_BUDGET allows",
    todo: "It is told to try later, and no mail is lost. `remote` is a relay of your own? Name it in `SMTP_IN_RELAYS`. A customer who sends that much? Raise `SMTP_IN_BUDGET`. Otherwise nothing.",
  },
  {
    level: "warn",
    says: "a connection for mail came past the proxy, from an address not in SMTP_IN_RELAYS",
    todo: "If `remote` is your proxy, add it to `SMTP_IN_RELAYS`: until then mail that it brings is refused. If it is a stranger, keep strangers away from that port.",
  },
  {
    level: "warn",
    says: "no mail is taken until there is room on the disk",
    todo: "Senders are told 452 and try again for days. `detail` says what is short: see 'The disk is full'.",
  },
  {
    level: "warn",
    says: "the response was interrupted",
    todo: "The client did not get the whole answer. Nothing, unless it is frequent.",
  },
  {
    level: "warn",
    says: "the payment processor cannot be asked, trying again",
    todo: "Nothing, unless it goes on: `because` says why. New workspaces have no customer until then (checkout answers 422 `stripe_customer_missing`), and plans follow their subscriptions later. If it does not take the key, set STRIPE_SECRET_KEY.",
  },
  {
    level: "error",
    says: "the payment processor refused, trying again",
    todo: "It refuses the same again until somebody mends it: `because` and `process` say what. Look at the workspace's customer in the processor's dashboard; if it does not know the customer, see whether STRIPE_SECRET_KEY is of the same account and mode as before.",
  },
  {
    level: "error",
    says: "a workspace has a second subscription, which is ended and refunded",
    todo: "Two checkouts were completed. The first subscription (`kept`) goes on; see in the processor's dashboard that the other one is canceled and its payment given back.",
  },
  {
    level: "error",
    says: "a subscription has a price that no setting names: its plan stays",
    todo: "Name the price in the settings STRIPE_PRICE_…, or give the subscription one that they name. Until then the workspace keeps the plan it had.",
  },
  {
    level: "error",
    says: "a subscription has a status that is not known: its plan stays",
    todo: "The payment processor has a status that this version does not know. Look at the subscription in its dashboard; set the plan by `npm run workspace -- set-plan` if it is wrong, and report it.",
  },
  ...consoleLogLines,
  ...providerLogLines,
  ...workLogLines,
];
