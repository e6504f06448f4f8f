import type { MailProvider } from "#src/mail/mailProvider.ts";

export type DeliverySettings = {
  provider: MailProvider;
  instanceId: string;
  /** Seconds before each further try after "later"; then given up. */
  retrySeconds: readonly number[];
  /** How long an unknown hand-over may wait for evidence. */
  confirmSeconds: number;
  /** Longer than any hand-over lasts: one without a recorded end by then was cut off. */
  handOverSeconds: number;
};

/** A claim may be used for starting a delivery while it is this young, in milliseconds; everything older is claimed again. */
export const claimGoodForMs = 5_000;
