import type { MailProvider } from "#src/mail/mailProvider.ts";

export type DeliverySettings = {
  provider: MailProvider;
  instanceId: string;
  /** Maximum number of open connections from one instance to the provider. */
  connections: number;
  /** Seconds before each further try after a temporary failure; after the last one the draft fails. */
  retrySeconds: readonly number[];
  /** Seconds that a delivery with unknown outcome waits for evidence. */
  confirmSeconds: number;
  /** Maximum duration of a hand-over in seconds. After it the outcome counts as unknown. */
  handOverSeconds: number;
};
