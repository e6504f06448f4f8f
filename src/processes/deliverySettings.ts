import type { MailProvider } from "#src/mail/mailProvider.ts";

export type DeliverySettings = {
  provider: MailProvider;
  instanceId: string;
  /** Connections to the provider that one instance may have open at once. */
  connections: number;
  /** Seconds before each further try after "later"; then given up. */
  retrySeconds: readonly number[];
  /** How long an unknown hand-over may wait for evidence. */
  confirmSeconds: number;
  /** How long a whole hand-over may last: then its outcome counts as unknown. */
  handOverSeconds: number;
};
