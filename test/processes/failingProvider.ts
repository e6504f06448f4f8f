import type { MailProvider, OutgoingMail } from "#src/mail/mailProvider.ts";

/** A provider that adds mail to `sent`, except for the first `failures` hand-overs, which it refuses as busy. */
export function failingProvider(sent: OutgoingMail[], failures: number): MailProvider {
  let left = failures;
  return {
    name: "outbox",
    connect: async () => ({
      async handOver(mail) {
        if (left-- > 0) return { kind: "not_handed_over", message: "busy" };
        sent.push(mail);
        return { kind: "accepted", response: "250 ok" };
      },
      discard() {},
    }),
    close: async () => {},
  };
}
