/** One delivery as it goes out. */
export type WebhookPost = {
  url: string;
  /** The same with every try. */
  id: string;
  /** The JSON as it is signed and sent. */
  body: string;
  /** `whsec_…`: each of them signs. */
  secrets: readonly string[];
  at: Date;
};

/** What came of it. `status` null: no answer; `error` says why. Anything but 2xx is a failure, a redirect too. */
export type WebhookAnswer = { status: number | null; error: string | null };

export type WebhookSender = {
  /** Posts once, within 15 s. Never throws; `signal` cuts it off. */
  post(post: WebhookPost, signal: AbortSignal): Promise<WebhookAnswer>;
  close(): Promise<void>;
};

export const isDelivered = ({ status }: WebhookAnswer): boolean => status !== null && status >= 200 && status < 300;
