import type { MailProvider, OutgoingMail } from "#src/mail/mailProvider.ts";

/** Takes mail into `sent`, but for the first `failures`, which it is too busy for. */
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
