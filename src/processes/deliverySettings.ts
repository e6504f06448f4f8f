import type { MailProvider } from "#src/mail/mailProvider.ts";

export type DeliverySettings = {
  provider: MailProvider;
  instanceId: string;
  /** Connections to the provider that one instance may have open at once. */
  connections: number;
  /** Seconds before each further try after a temporary failure; after the last one the draft fails. */
  retrySeconds: readonly number[];
  /** Seconds that a delivery with unknown outcome waits for evidence. */
  confirmSeconds: number;
  /** Longest duration of a hand-over in seconds: after it the outcome counts as unknown. */
  handOverSeconds: number;
};
