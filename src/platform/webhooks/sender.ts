/** One delivery as sent. */
export type WebhookPost = {
  url: string;
  /** Id of the delivery, the same in every attempt. */
  id: string;
  /** JSON text as signed and sent. */
  body: string;
  /** `whsec_…`: one signature is made with each. */
  secrets: readonly string[];
  at: Date;
};

/**
 * Result of a post. `status` null: no answer; `error` says why. Any status but 2xx is a failure, a redirect too. `body`: the answer's first
 * `shownAnswerBytes`; null if there was no answer.
 */
export type WebhookAnswer = { status: number | null; error: string | null; body: string | null };

/** Bytes of a receiver's answer that are kept and shown. */
export const shownAnswerBytes = 2_048;

export type WebhookSender = {
  /** Posts once, within 15 s. Never rejects; `signal` aborts it. */
  post(post: WebhookPost, signal: AbortSignal): Promise<WebhookAnswer>;
  close(): Promise<void>;
};

export const isDelivered = ({ status }: WebhookAnswer): boolean => status !== null && status >= 200 && status < 300;
