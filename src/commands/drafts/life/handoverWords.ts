import { unreachable } from "#streams/unreachable.ts";
import type { DraftLife, Handover, ProviderReport } from "./life.ts";
import { joinPhrases, listInWords, type Phrase } from "./phrases.ts";

/** Names of providers in sentences. Mail in the outbox has not left the service, so it has reached no recipient. */
const providers: Partial<Record<string, string>> = {
  smtp: "by SMTP",
  sendgrid: "through SendGrid",
  outbox: "into the outbox",
};

export const isCaught = (handover: Handover): boolean =>
  "started" in handover && handover.started?.provider === "outbox";

/** Describes the provider that a mail was handed to; empty if unknown. */
export function wayInWords(handover: Handover): Phrase[] {
  const provider = "started" in handover ? handover.started?.provider : undefined;
  if (provider === undefined) return [];
  return joinPhrases` ${providers[provider] ?? "through another provider"}`;
}

/** Describes how far a running hand-over has got. */
export function progressInWords(handover: Handover): Phrase[] {
  switch (handover.is) {
    case "none":
      return joinPhrases`its hand-over has not begun`;
    case "untold":
      return joinPhrases`the progress of its hand-over is in its history`;
    case "started":
      return joinPhrases`its hand-over${wayInWords(handover)} began on ${{ at: handover.started.at }}; its result is not recorded yet`;
    case "abandoned":
      return joinPhrases`its last attempt was abandoned on ${{ at: handover.at }} before anything was handed over: ${{ said: handover.because }}`;
    case "not handed over":
      return joinPhrases`nothing was handed over at its last attempt on ${{ at: handover.at }}: ${{ said: handover.message }}`;
    case "accepted":
      return joinPhrases`the provider accepted it on ${{ at: handover.at }}`;
    case "refused":
      return joinPhrases`the provider refused it${!handover.isFinal && " for now"} on ${{ at: handover.at }}: ${{ said: handover.message }}`;
    case "unknown":
      return joinPhrases`it is not known whether the provider accepted it on ${{ at: handover.started?.at ?? handover.at }}`;
    default:
      return unreachable(handover);
  }
}

/** Returns true if a hand-over began and no event says that the mail was not sent. */
export const mayHaveLeft = ({ is }: Handover): boolean =>
  is === "started" || is === "unknown" || is === "accepted" || is === "untold";

/** Describes the delivery reports that followed the provider's acceptance, in order, with the recipients that they name. */
export const reportsInWords = (reports: readonly ProviderReport[]): Phrase[] =>
  reports
    .filter(({ type }) => type !== "processed")
    .flatMap(({ type, at, recipients }) => {
      const [first, ...others] = recipients;
      const of = first ? joinPhrases` for ${addresses(recipients.map(({ address }) => address))}` : [];
      const said = first?.text && others.length === 0 ? joinPhrases`: ${{ said: first.text }}` : [];
      return joinPhrases`; ${reported[type]}${of} on ${{ at }}${said}`;
    });

const reported: Record<ProviderReport["type"], string> = {
  processed: "the provider reported that it has the mail",
  delivered: "a delivery was reported",
  delayed: "a delay was reported",
  dropped: "the provider reported that it will not deliver it",
  bounced: "it was reported as bounced",
  complained: "a recipient's complaint was reported",
};

const mostNamed = 3;

/** Names the recipients, except those the provider refused. Only the first few are named by address. */
export function recipientsInWords({ recipients, handover }: Pick<DraftLife, "recipients" | "handover">): Phrase[] {
  if (recipients === null) return [];
  const refused = refusedAtHandover(handover);
  const taken = recipients.filter((address) => !refused.includes(address.toLowerCase()));
  if (taken.length === 0) return [];
  return joinPhrases` to ${addresses(taken)}`;
}

/** Names the recipients that the provider refused while it accepted the mail for others. */
export const refusedInWords = ({ handover }: Pick<DraftLife, "handover">): Phrase[] => {
  const refused = handover.is === "accepted" ? handover.refused : [];
  return refused.length > 0 ? joinPhrases`; the provider refused ${addresses(refused)}` : [];
};

const refusedAtHandover = (handover: Handover): string[] =>
  handover.is === "accepted" ? handover.refused.map((address) => address.toLowerCase()) : [];

function addresses(all: readonly string[]): Phrase[] {
  const named = all.slice(0, all.length > mostNamed + 1 ? mostNamed : all.length);
  const rest = all.length - named.length;
  return listInWords([...named.map((exact) => [{ exact }]), ...(rest > 0 ? [[`${rest} others`]] : [])]);
}
