/** Ports at which Telegram calls webhooks. */
const webhookPorts = ["", "443", "80", "88", "8443"];

/** Chooses how bots get updates: Telegram calls the webhook below this URL; null: they are polled. */
export function webhookBase(mode: "auto" | "webhook" | "polling", publicUrl: string): string | null {
  if (mode === "polling") return null;
  return mode === "webhook" || canBeCalled(publicUrl) ? `${publicUrl}/hooks/telegram/` : null;
}

/** True if Telegram can call this URL: https only, and only some ports. */
export function canBeCalled(publicUrl: string): boolean {
  const { protocol, port } = new URL(publicUrl);
  return protocol === "https:" && webhookPorts.includes(port);
}
